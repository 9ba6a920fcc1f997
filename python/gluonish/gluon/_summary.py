"""The table that ``block.summary`` prints: what each layer makes of an input, and what that costs."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.gluon._functions import Functions
from gluonish.gluon._walk import own_parameters, walk
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.parameter import Parameter

__all__ = ["Row", "rows", "summarize"]


@dataclass
class Row:
    """One call of a block."""

    path: str
    kind: str
    output: str = ""
    parameters: int = 0  # of its own, and not counted before
    flops: int | None = None  # of its own; None: its forward is plain Python, in which nothing is counted
    bytes: int = 0  # of its output, where that is new


def rows(block: Block, inputs: tuple[Any, ...]) -> list[Row]:
    """Runs a block once, and tells of each call below it, in the order in which these begin."""
    made: list[Row] = []
    running: list[Row] = []
    counted: set[int] = set()
    arrays = {id(array) for array in _arrays(inputs)}
    handles = []

    def watch(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = function(*args, **kwargs)
        running[-1].flops = (running[-1].flops or 0) + flops(name, function, args, kwargs, output)
        return output

    def begin(path: str) -> Callable[..., None]:
        def hook(called: Block, _: Any) -> None:
            row = Row(path, type(called).__name__)
            if isinstance(called, HybridBlock) and type(called).forward is HybridBlock.forward:
                row.flops = 0
            made.append(row)
            running.append(row)

        return hook

    def end(called: Block, _: Any, output: Any) -> None:
        row = running.pop()
        row.output = _shapes(output)
        own = {id(p): p for p in own_parameters(called).values() if id(p) not in counted}
        counted.update(own)
        row.parameters = sum(map(_count, own.values()))
        fresh = [array for array in _arrays(output) if id(array) not in arrays]
        arrays.update(map(id, fresh))
        kept.extend(fresh)
        row.bytes = sum(array.nbytes for array in fresh)

    kept: list[NDArray] = []  # so that no two arrays have the same id
    blocks = list(walk(block))
    before = [one._gluonish.functions for _, one in blocks]
    try:
        for path, one in blocks:
            handles += [one.register_forward_pre_hook(begin(path)), one.register_forward_hook(end)]
            one._gluonish.functions = Functions(watch, one._gluonish.functions or nd)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
        for (_, one), functions in zip(blocks, before, strict=True):
            one._gluonish.functions = functions
    return made


def summarize(block: Block, inputs: tuple[Any, ...]) -> str:
    """The table as text."""
    found = rows(block, inputs)
    title = ("Layer", "Type", "Output", "Parameters", "FLOPs", "Memory")
    lines = [
        (
            row.path or "(net)",
            row.kind,
            row.output,
            f"{row.parameters:,}",
            "-" if row.flops is None else f"{row.flops:,}",
            _size(row.bytes),
        )
        for row in found
    ]
    widths = [max(map(len, column)) for column in zip(title, *lines, strict=True)]
    parameters = block.collect_params().values()
    trained = sum(map(_count, (p for p in parameters if p.grad_req != "null")))
    total = sum(map(_count, parameters))
    weight = sum(array.nbytes for p in parameters for array in p.list_data()[:1])
    text = [_line(title, widths), "-" * (sum(widths) + 2 * len(widths) - 2), *(_line(line, widths) for line in lines)]
    text += [
        text[1],
        f"Parameters: {total:,}, of which {trained:,} are trained and {total - trained:,} are not; {_size(weight)}",
        f"Forward: {sum(row.flops or 0 for row in found):,} FLOPs, {_size(sum(row.bytes for row in found))} of outputs",
    ]
    return "\n".join(text)


def flops(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> int:
    """Additions and multiplications of one call, where these matter; else one for each element of the output."""
    results = _arrays(output)
    size = sum(array.size for array in results)
    if name in _FREE or not results:
        return 0
    rule = _RULES.get(name)
    if rule is None:
        return size
    given = inspect.signature(function).bind(*args, **kwargs)
    given.apply_defaults()
    return int(rule(given.arguments, size))


def _dense(given: dict[str, Any], size: int) -> int:
    inputs = int(math.prod(given["weight"].shape[1:]))
    return size * (2 * inputs + (given["bias"] is not None))


def _transposed(given: dict[str, Any], size: int) -> int:
    outputs = int(math.prod(given["weight"].shape[1:]))
    return 2 * int(given["data"].size) * outputs + size * (given["bias"] is not None)


def _product(given: dict[str, Any], size: int) -> int:
    left, *_ = given.values()
    axis = -2 if given.get("transpose_a") and left.ndim > 1 else -1
    return 2 * size * int(left.shape[axis])


def _attention(given: dict[str, Any], _: int) -> int:
    query, value = given["query"].shape, given["value"].shape
    return int(2 * math.prod(query[:-1]) * value[-2] * (query[-1] + value[-1]))


def _recurrent(given: dict[str, Any], _: int) -> int:
    steps, batch = given["data"].shape[:2]
    return 2 * int(steps) * int(batch) * int(given["parameters"].size)


def _pooling(given: dict[str, Any], size: int) -> int:
    if given["global_pool"]:
        return int(given["data"].size)
    return size * math.prod(given["kernel"] or (1,))


_RULES: dict[str, Callable[[dict[str, Any], int], int]] = {
    "FullyConnected": _dense,
    "Convolution": _dense,
    "Deconvolution": _transposed,
    "dot": _product,
    "batch_dot": _product,
    "linalg_gemm2": _product,
    "gemm2": _product,
    "scaled_dot_product_attention": _attention,
    "RNN": _recurrent,
    "Pooling": _pooling,
}

# What only moves values.
_FREE = frozenset(
    {
        *("Embedding", "Flatten", "Reshape", "SwapAxis", "BlockGrad", "Concat", "SliceChannel", "broadcast_axis"),
        *("broadcast_like", "broadcast_to", "concat", "expand_dims", "flatten", "flip", "identity", "moveaxis", "pad"),
        *("repeat", "reshape", "reshape_like", "slice", "slice_axis", "slice_like", "split", "split_v2", "squeeze"),
        *(
            "stack",
            "stop_gradient",
            "swapaxes",
            "take",
            "tile",
            "transpose",
            "zeros",
            "ones",
            "zeros_like",
            "ones_like",
        ),
    }
)


def _count(parameter: Parameter) -> int:
    return math.prod(parameter.shape or (0,))


def _arrays(value: Any) -> list[NDArray]:
    if isinstance(value, NDArray):
        return [value]
    return [array for one in value for array in _arrays(one)] if isinstance(value, list | tuple) else []


def _shapes(value: Any) -> str:
    if isinstance(value, NDArray):
        return str(value.shape)
    return f"[{', '.join(map(_shapes, value))}]" if isinstance(value, list | tuple) else type(value).__name__


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    left = [cell.ljust(width) for cell, width in zip(cells[:3], widths[:3], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(cells[3:], widths[3:], strict=True)]
    return "  ".join([*left, *right])


def _size(count: int) -> str:
    """``1536`` as ``1.5 KiB``."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value >= 1024:
            value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if unit != "B" else f"{count} B"
