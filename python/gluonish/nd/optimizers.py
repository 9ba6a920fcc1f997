"""Steps of optimizers over many weights, as MXNet calls them: lists of numbers become arrays, one for each list."""

from collections.abc import Collection, Sequence
from operator import index
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
    *data: Any,
    lrs: Numbers,
    wds: Numbers,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> list[NDArray]:
    """`sgd_update` of many weights: ``data`` is weight, gradient, weight, gradient, ...

    >>> from gluonish import nd
    >>> w, g = [nd.ones(2), nd.ones(3)], [nd.ones(2), nd.ones(3)]
    >>> made = multi_sgd_update(w[0], g[0], w[1], g[1], lrs=(0.5, 0.25), wds=(0, 0), num_weights=2, out=w)
    >>> [x.tolist() for x in w]
    [[0.5, 0.5], [0.75, 0.75, 0.75]]
    """
    how = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return _preloaded("multi_sgd_update", data, lrs, wds, num_weights, out, how)


def multi_sgd_mom_update(
    *data: Any,
    lrs: Numbers,
    wds: Numbers,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> list[NDArray]:
    """`sgd_mom_update` of many weights: ``data`` is weight, gradient, momentum, weight, ..."""
    how = {"momentum": momentum, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return _preloaded("multi_sgd_mom_update", data, lrs, wds, num_weights, out, how)


def multi_mp_sgd_update(
    *data: Any,
    lrs: Numbers,
    wds: Numbers,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> list[NDArray]:
    """`mp_sgd_update` of many weights: ``data`` is weight, gradient, weight in float32, weight, ..."""
    how = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return _preloaded("multi_mp_sgd_update", data, lrs, wds, num_weights, out, how)


def multi_mp_sgd_mom_update(
    *data: Any,
    lrs: Numbers,
    wds: Numbers,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> list[NDArray]:
    """`mp_sgd_mom_update` of many weights: ``data`` is weight, gradient, momentum, weight in float32, weight, ..."""
    how = {"momentum": momentum, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
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
    tensors = _zipped("multi_adamw_update", "size", size, weights=weights, grads=grads, mean=mean, var=var)
    return _adamw("multi_adamw_update", tensors, rescale_grad, {"lrs": lrs, "wds": wds, "etas": etas}, out, how)


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
    tensors = _zipped(
        "multi_mp_adamw_update", "size", size, weights=weights, grads=grads, mean=mean, var=var, weights32=weights32
    )
    return _adamw("multi_mp_adamw_update", tensors, rescale_grad, {"lrs": lrs, "wds": wds, "etas": etas}, out, how)


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
    tensors = _zipped("multi_lamb_update", "num_tensors", num_tensors, weights=weights, grads=grads, mean=mean, var=var)
    return _lamb("multi_lamb_update", tensors, step_count, {"lrs": lrs, "wds": wds}, out, how)


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
    tensors = _zipped(
        "multi_mp_lamb_update",
        "num_tensors",
        num_tensors,
        weights=weights,
        grads=grads,
        mean=mean,
        var=var,
        weights32=weights32,
    )
    return _lamb("multi_mp_lamb_update", tensors, step_count, {"lrs": lrs, "wds": wds}, out, how)


# What each weight has among the arrays.
_EACH = {
    "multi_sgd_update": ("weight", "grad"),
    "multi_sgd_mom_update": ("weight", "grad", "mom"),
    "multi_mp_sgd_update": ("weight", "grad", "weight32"),
    "multi_mp_sgd_mom_update": ("weight", "grad", "mom", "weight32"),
}


def _preloaded(
    name: str, data: tuple[Any, ...], lrs: Numbers, wds: Numbers, count: int, out: Any, how: dict[str, float]
) -> list[NDArray]:
    arrays = list(data[0]) if len(data) == 1 and isinstance(data[0], (list, tuple)) else list(data)
    each, count = _EACH[name], _counted(name, "num_weights", count, 1)
    if len(arrays) != count * len(each):
        wanted = f"{count * len(each)} arrays ({', '.join(each)} of each)"
        raise ArgumentError(f"{name}: num_weights={count} needs {wanted}, got {len(arrays)}")
    lists = [_list(name, what, values, count, arrays) for what, values in (("lrs", lrs), ("wds", wds))]
    made = _core.invoke(f"preloaded_{name}", arrays + lists, {"num_weights": count, **how}, out)
    return made if isinstance(made, list) else [made]


def _counted(name: str, what: str, count: Any, least: int) -> int:
    try:
        number = least - 1 if isinstance(count, bool) else index(count)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(f"{name}: {what}={count!r} is not valid: expected an integer of at least {least}")
    return number


def _is_list(values: Any) -> bool:
    return isinstance(values, Collection) and not isinstance(values, (str, NDArray))


def _zipped(name: str, what: str, count: int, **lists: Arrays) -> list[Arrays]:
    """The arrays of each weight: of so many, or with a count of 0 of all."""
    for argument, arrays in lists.items():
        if not _is_list(arrays):
            raise ArgumentError(f"{name}: {argument}={arrays!r} is not valid: expected a list of arrays")
    lengths = [len(arrays) for arrays in lists.values()]
    count = _counted(name, what, count, 0)
    wanted = count or lengths[0]
    if min(lengths) < wanted or (not count and max(lengths) > wanted):
        raise ArgumentError(f"{name}: {wanted} weights need as many arrays in each list, got {lengths}")
    return [[arrays[i] for arrays in lists.values()] for i in range(wanted)]


@beside
def _adamw(
    name: str,
    tensors: list[Arrays],
    rescale: float | NDArray,
    lists: dict[str, Numbers],
    out: Any,
    how: dict[str, float],
) -> list[NDArray]:
    factor = array_of(rescale, name).reshape(-1) if isinstance(rescale, NDArray) else array([rescale], dtype="float64")
    return _many(name, tensors, {**lists, "rescale_grad": factor.broadcast_to((len(tensors),))}, out, how)


def _lamb(
    name: str, tensors: list[Arrays], steps: Numbers, lists: dict[str, Numbers], out: Any, how: dict[str, float]
) -> list[NDArray]:
    if _is_list(steps):
        steps = [_counted(name, f"step_count[{i}]", step, 1) for i, step in enumerate(steps)]
    return _many(name, tensors, {**lists, "step_count": steps}, out, how)


def _many(
    name: str, tensors: list[Arrays], lists: dict[str, Numbers], out: Any, how: dict[str, float]
) -> list[NDArray]:
    arrays = [x for tensor in tensors for x in tensor]
    numbers = [_list(name, what, values, len(tensors), arrays) for what, values in lists.items()]
    made = _core.invoke(f"_{name}", arrays + numbers, {"num_weights": len(tensors), **how}, out)
    return made if isinstance(made, list) else [made]


def _list(name: str, what: str, values: Numbers, count: int, arrays: Sequence[NDArray]) -> NDArray:
    """A number for each weight, in double precision as Python's are, where the weights are."""
    if isinstance(values, NDArray):
        return values
    try:
        numbers = [float(value) for value in values] if _is_list(values) else []
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count:
        raise ArgumentError(f"{name}: {what}={values!r} is not valid: expected a number for each of {count} weights")
    return array(numbers, dtype="float64", ctx=arrays[0].context if arrays else None)
