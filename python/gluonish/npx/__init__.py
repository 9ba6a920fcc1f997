"""What neural networks need and NumPy has not: MXNet's extension of `np`.

>>> from gluonish import np, npx
>>> npx.relu(np.array([-1.0, 2.0])).tolist()
[0.0, 2.0]
>>> npx.softmax(np.array([0.0, 0.0])).tolist()
[0.5, 0.5]
"""

from gluonish._core import wait_all as waitall
from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.context import cpu, cpu_pinned, current_context, current_device, gpu, num_gpus
from gluonish.nd import broadcast_like, reshape_like, stop_gradient
from gluonish.npx import random
from gluonish.random import seed
from gluonish.util import is_np_array, is_np_default_dtype, is_np_shape, reset_np, set_np, use_np

__all__ = [
    "broadcast_like",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "gpu",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "num_gpus",
    "random",
    "reset_np",
    "reshape_like",
    "seed",
    "set_np",
    "stop_gradient",
    "use_np",
    "waitall",
]

# Rows that MXNet has under these names in npx, not in np.
_ROWS = (
    "batch_dot",
    "hard_sigmoid",
    "log_sigmoid",
    "digamma",
    "erf",
    "erfinv",
    "gamma",
    "gammaln",
    "gelu",
    "log_softmax",
    "masked_log_softmax",
    "masked_softmax",
    "mish",
    "one_hot",
    "pick",
    "relu",
    "rsqrt",
    "sigmoid",
    "silu",
    "smooth_l1",
    "softmax",
    "softsign",
    "topk",
)
# Rows that MXNet does not have, which are in `nd.contrib` too.
_OWN = ("rotary_embedding", "scaled_dot_product_attention")
globals().update({name: function for name, function in functions("nd").items() if name in _ROWS})
globals().update({name: function for name, function in functions("nd", "contrib").items() if name in _OWN})
__all__ += list(_ROWS)
__all__ += list(_OWN)

# Layers, which have other names in nd.
_LAYERS = {
    "activation": "Activation",
    "batch_norm": "BatchNorm",
    "convolution": "Convolution",
    "ctc_loss": "CTCLoss",
    "deconvolution": "Deconvolution",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "fully_connected": "FullyConnected",
    "group_norm": "GroupNorm",
    "instance_norm": "InstanceNorm",
    "l2_normalization": "L2Normalization",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "pooling": "Pooling",
    "rms_norm": "RMSNorm",
    "rnn": "RNN",
    "sequence_mask": "SequenceMask",
}
globals().update({name: functions("nd")[row] for name, row in _LAYERS.items()})
__all__ += list(_LAYERS)

__getattr__ = explained("gluonish.npx", __all__)
