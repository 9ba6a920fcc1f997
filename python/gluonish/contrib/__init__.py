"""What MXNet has under ``mx.contrib``: `amp`, which is `gluonish.amp`."""

from gluonish import amp
from gluonish._missing import explained

__all__ = ["amp"]

__getattr__ = explained(
    "gluonish.contrib",
    __all__,
    {
        "symbols": "symbol sym onnx tensorrt",
        "quantization": "quantization",
        "the data pipelines": "io text",
        "nothing: nd.contrib and autograd have what is in it": "ndarray nd autograd",
        "logs": "tensorboard",
        "subgraphs": "svrg_optimization",
    },
)
