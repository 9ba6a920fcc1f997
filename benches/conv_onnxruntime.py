"""A convolution as onnxruntime computes it: of plain images, or of images that stay in its own blocks of channels."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conv_shapes import Layer


def names() -> dict[str, Any]:
    import onnx
    import onnxruntime

    return {"onnx": onnx, "ort": onnxruntime}


def model(onnx: Any, layer: Layer, images: Any, filters: Any) -> Any:
    """One node; filters are known before it runs, so that they are packed once."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    how = {"kernel_shape": layer.kernel, "strides": [layer.stride] * 2, "pads": layer.pad * 2, "group": layer.groups}
    shape = [len(images), layer.outputs, *layer.out]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], **how)],
        "convolution",
        [helper.make_tensor_value_info("x", float32, images.shape)],
        [helper.make_tensor_value_info("y", float32, shape)],
        [onnx.numpy_helper.from_array(filters, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def without_reorders(optimized: Any) -> Any:
    """What onnxruntime makes of the model, less the nodes that lay images out: blocks go in and come out."""
    graph = optimized.graph
    conv = next(node for node in graph.node if node.op_type == "Conv")
    outputs, inputs = next(list(w.dims)[:2] for w in graph.initializer if w.name == conv.input[1])
    inputs = outputs if inputs == 1 else inputs  # a filter for each channel
    for node in [n for n in graph.node if n.op_type in {"ReorderInput", "ReorderOutput"}]:
        goes_in = node.op_type == "ReorderInput"
        images = graph.input[0] if goes_in else graph.output[0]
        images.name = node.output[0] if goes_in else node.input[0]
        images.type.tensor_type.shape.dim[1].dim_value = inputs if goes_in else outputs
        graph.node.remove(node)
    return optimized


def calls(of: dict[str, Any], layer: Layer, images: Any, filters: Any, *, blocked: bool) -> Callable[[], Any]:
    """A function that runs the convolution once. Where it knows no blocks for a layer, it gets plain images."""
    onnx, ort = of["onnx"], of["ort"]
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    options.log_severity_level = 3
    made = model(onnx, layer, images, filters)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        if blocked:
            made = without_reorders(onnx.load(str(path)))
            options.optimized_model_filepath = ""
            session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = session.get_inputs()[0]
    if x.shape[1] > images.shape[1]:  # whole blocks
        images = images.take(range(x.shape[1]), axis=1, mode="wrap")
    bound = session.io_binding()
    bound.bind_ortvalue_input(x.name, ort.OrtValue.ortvalue_from_numpy(images))
    bound.bind_output(session.get_outputs()[0].name)
    return lambda: session.run_with_iobinding(bound)
