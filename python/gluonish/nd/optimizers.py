"""Steps of optimizers over many weights, as MXNet calls them: lists of numbers become arrays, one for each list."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._create import array_of
from gluonish.errors import ArgumentError
from gluonish.nd.creation import array

__all__ = [
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "multi_mp_sgd_mom_update",
    "multi_mp_sgd_update",
    "multi_sgd_mom_update",
    "multi_sgd_update",
]

Numbers = Sequence[float] | NDArray
Arrays = Sequence[NDArray]


def multi_sgd_update(
    *data: Any, lrs: Numbers, wds: Numbers, num_weights: int = 1, out: Any = None, name: str | None = None, **how: float
) -> list[NDArray]:
    """`sgd_update` of many weights: ``data`` is weight, gradient, weight, gradient, ...

    >>> from gluonish import nd
    >>> w, g = [nd.ones(2), nd.ones(3)], [nd.ones(2), nd.ones(3)]
    >>> made = multi_sgd_update(w[0], g[0], w[1], g[1], lrs=(0.5, 0.25), wds=(0, 0), num_weights=2, out=w)
    >>> [x.tolist() for x in w]
    [[0.5, 0.5], [0.75, 0.75, 0.75]]
    """
    return _preloaded("multi_sgd_update", data, lrs, wds, num_weights, out, how)


def multi_sgd_mom_update(
    *data: Any, lrs: Numbers, wds: Numbers, num_weights: int = 1, out: Any = None, name: str | None = None, **how: float
) -> list[NDArray]:
    """`sgd_mom_update` of many weights: ``data`` is weight, gradient, momentum, weight, ..."""
    return _preloaded("multi_sgd_mom_update", data, lrs, wds, num_weights, out, how)


def multi_mp_sgd_update(
    *data: Any, lrs: Numbers, wds: Numbers, num_weights: int = 1, out: Any = None, name: str | None = None, **how: float
) -> list[NDArray]:
    """`mp_sgd_update` of many weights: ``data`` is weight, gradient, weight in float32, weight, ..."""
    return _preloaded("multi_mp_sgd_update", data, lrs, wds, num_weights, out, how)


def multi_mp_sgd_mom_update(
    *data: Any, lrs: Numbers, wds: Numbers, num_weights: int = 1, out: Any = None, name: str | None = None, **how: float
) -> list[NDArray]:
    """`mp_sgd_mom_update` of many weights: ``data`` is weight, gradient, momentum, weight in float32, weight, ..."""
    return _preloaded("multi_mp_sgd_mom_update", data, lrs, wds, num_weights, out, how)


def multi_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    rescale_grad: float | NDArray,
    lrs: Numbers,
    wds: Numbers,
    etas: Numbers,
    out: Any = None,
    name: str | None = None,
    size: int = 0,
    **how: float,
) -> list[NDArray]:
    """`contrib.adamw_update` of many weights, the first ``size`` of them (0: all).

    >>> from gluonish import nd
    >>> w, g, m, v = ([nd.ones(2)] for _ in range(4))
    >>> multi_adamw_update(w, g, m, v, 0.0, [0.1], [0.0], [1.0])[0].tolist()  # by 0: nothing happens
    [1.0, 1.0]
    """
    tensors = _zipped("multi_adamw_update", size, weights, grads, mean, var)
    return _adamw("_multi_adamw_update", tensors, rescale_grad, (lrs, wds, etas), out, how)


def multi_mp_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    rescale_grad: float | NDArray,
    lrs: Numbers,
    wds: Numbers,
    etas: Numbers,
    out: Any = None,
    name: str | None = None,
    size: int = 0,
    **how: float,
) -> list[NDArray]:
    """`contrib.mp_adamw_update` of many weights, the first ``size`` of them (0: all)."""
    tensors = _zipped("multi_mp_adamw_update", size, weights, grads, mean, var, weights32)
    return _adamw("_multi_mp_adamw_update", tensors, rescale_grad, (lrs, wds, etas), out, how)


def multi_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    step_count: Sequence[int],
    lrs: Numbers,
    wds: Numbers,
    out: Any = None,
    num_tensors: int = 0,
    name: str | None = None,
    **how: float,
) -> list[NDArray]:
    """LAMB over many weights, the first ``num_tensors`` of them (0: all).

    ``step_count`` numbers the update of each, from 1.

    >>> from gluonish import nd
    >>> w, g, m, v = [nd.ones(4)], [nd.ones(4)], [nd.zeros(4)], [nd.zeros(4)]
    >>> round(multi_lamb_update(w, g, m, v, [1], [0.1], [0.0])[0][0].item(), 4)
    0.9
    """
    tensors = _zipped("multi_lamb_update", num_tensors, weights, grads, mean, var)
    return _many("_multi_lamb_update", tensors, (lrs, wds, step_count), out, how)


def multi_mp_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    step_count: Sequence[int],
    lrs: Numbers,
    wds: Numbers,
    out: Any = None,
    num_tensors: int = 0,
    name: str | None = None,
    **how: float,
) -> list[NDArray]:
    """LAMB over many narrow weights that have copies in float32."""
    tensors = _zipped("multi_mp_lamb_update", num_tensors, weights, grads, mean, var, weights32)
    return _many("_multi_mp_lamb_update", tensors, (lrs, wds, step_count), out, how)


def _preloaded(
    name: str, data: tuple[Any, ...], lrs: Numbers, wds: Numbers, count: int, out: Any, how: dict[str, float]
) -> list[NDArray]:
    arrays = list(data[0]) if len(data) == 1 and isinstance(data[0], (list, tuple)) else list(data)
    lists = [_list(values, count, arrays, name) for values in (lrs, wds)]
    made = _core.invoke(f"preloaded_{name}", arrays + lists, {"num_weights": count, **how}, out)
    return made if isinstance(made, list) else [made]


def _zipped(name: str, count: int, *lists: Arrays) -> list[Arrays]:
    """The arrays of each weight."""
    wanted = count or len(lists[0])
    if any(len(arrays) < wanted for arrays in lists):
        raise ArgumentError(f"{name}: {wanted} weights need as many arrays in each list, got {[len(x) for x in lists]}")
    return [[arrays[i] for arrays in lists] for i in range(wanted)]


@beside
def _adamw(
    name: str,
    tensors: list[Arrays],
    rescale: float | NDArray,
    lists: tuple[Numbers, ...],
    out: Any,
    how: dict[str, float],
) -> list[NDArray]:
    factor = array_of(rescale, name).reshape(-1) if isinstance(rescale, NDArray) else array([rescale], dtype="float64")
    return _many(name, tensors, (*lists, factor.broadcast_to((len(tensors),))), out, how)


def _many(name: str, tensors: list[Arrays], lists: Sequence[Numbers], out: Any, how: dict[str, float]) -> list[NDArray]:
    arrays = [x for tensor in tensors for x in tensor]
    numbers = [_list(values, len(tensors), arrays, name) for values in lists]
    made = _core.invoke(name, arrays + numbers, {"num_weights": len(tensors), **how}, out)
    return made if isinstance(made, list) else [made]


def _list(values: Numbers, count: int, arrays: Sequence[NDArray], name: str) -> NDArray:
    """A number for each weight, in double precision as Python's are, where the weights are."""
    if isinstance(values, NDArray):
        return values
    if len(values) != count:
        raise ArgumentError(f"{name.lstrip('_')}: {count} weights need as many numbers, got {len(values)}")
    return array(list(values), dtype="float64", ctx=arrays[0].context if arrays else None)
