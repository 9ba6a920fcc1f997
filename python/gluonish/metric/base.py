"""What every metric is: a name, sums on a device, and the registry."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gluonish._core import NDArray
from gluonish._registry import Registry
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, ShapeError, UnsupportedError
from gluonish.metric._arrays import double, number, paired

__all__ = ["REGISTRY", "EvalMetric", "PairMetric", "alias", "check_label_shapes", "register"]

Class = TypeVar("Class", bound=type)


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Refuses labels and predictions that differ in number (or, with ``shape``, in shape), and returns both.

    ``wrap`` makes a list of what is a single array.

    >>> check_label_shapes([1, 2], [1])
    Traceback (most recent call last):
        ...
    gluonish.errors.ShapeError: 2 labels do not fit 1 predictions
    """
    if shape and labels.shape != preds.shape:
        raise ShapeError(f"labels of shape {labels.shape} do not fit predictions of shape {preds.shape}")
    if not shape and len(labels) != len(preds):
        raise ShapeError(f"{len(labels)} labels do not fit {len(preds)} predictions")
    if wrap:
        labels, preds = ([x] if not isinstance(x, list | tuple) else x for x in (labels, preds))
    return labels, preds


class EvalMetric:
    """The base of all. One of your own overrides ``update(self, labels, preds)`` and adds to ``sum_metric`` and
    ``num_inst``, which ``get`` divides; or derives from :class:`PairMetric`.

    Parameters
    ----------
    name
        What ``get`` returns beside the value.
    output_names, label_names
        Which entries of the dicts of ``update_dict`` count; None: all.

    >>> class Zeros(EvalMetric):
    ...     def update(self, labels, preds):
    ...         self.sum_metric += (preds == 0).sum()
    ...         self.num_inst += preds.size
    >>> from gluonish import nd
    >>> metric = Zeros("zeros")
    >>> metric.update(None, nd.array([0, 1, 0, 0]))
    >>> metric.get()
    ('zeros', 0.75)
    """

    _is_mean = True  # whether ``get`` divides a sum by ``num_inst``; else the value comes from what the class keeps
    # Sums and counts: numbers, or arrays that nobody waits for.
    _held_sum: Any
    _held_global_sum: Any
    _held_count: Any
    _held_global_count: Any

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names, self.label_names = output_names, label_names
        self._has_global_stats = bool(kwargs.pop("has_global_stats", False))
        self._kwargs = kwargs
        self._refused: dict[str, NDArray] = {}  # how many labels are wrong, by what is wrong with them
        self._refused_globally: dict[str, NDArray] = {}
        self.reset()

    # Numbers for those who read them, as MXNet's are. To add an array waits for those before; ``_add`` does not.

    @property
    def sum_metric(self) -> Any:
        """What ``get`` divides by ``num_inst``, as a number; reading it waits.

        >>> metric = PairMetric("mine")
        >>> metric.sum_metric, metric.num_inst
        (0.0, 0)
        """
        self._check(self._refused)
        return self._as_sum(self._held_sum, self._held_count, self.get)

    @sum_metric.setter
    def sum_metric(self, total: Any) -> None:
        self._held_sum = total

    @property
    def global_sum_metric(self) -> Any:
        """What ``get_global`` divides by ``global_num_inst``, as a number; reading it waits."""
        self._check(self._refused_globally)
        return self._as_sum(self._held_global_sum, self._held_global_count, self.get_global)

    @global_sum_metric.setter
    def global_sum_metric(self, total: Any) -> None:
        self._held_global_sum = total

    @property
    def num_inst(self) -> Any:
        """How many count since the last ``reset`` or ``reset_local``; reading it waits."""
        self._check(self._refused)
        return _whole(self._held_count)

    @num_inst.setter
    def num_inst(self, count: Any) -> None:
        self._held_count = count

    @property
    def global_num_inst(self) -> Any:
        """How many count since the last ``reset``; reading it waits."""
        self._check(self._refused_globally)
        return _whole(self._held_global_count)

    @global_num_inst.setter
    def global_num_inst(self, count: Any) -> None:
        self._held_global_count = count

    def _as_sum(self, total: Any, count: Any, get: Callable[[], tuple[Any, Any]]) -> Any:
        """The sum as a number. Where there is none, it is what makes the value a mean of so many."""
        if self._is_mean and not (isinstance(total, NDArray) and total.size != 1):
            return number(total)
        counted = _whole(count)
        return get()[1] * counted if counted else 0.0

    def update(self, labels: Any, preds: Any) -> None:
        """Takes a batch into account."""
        raise UnsupportedError(f"{type(self).__name__}: update(self, labels, preds) is not written")

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Takes a batch into account that is given by name."""
        self.update(self._chosen(label, self.label_names, "label"), self._chosen(pred, self.output_names, "prediction"))

    def _chosen(self, values: Mapping[str, Any], names: Sequence[str] | None, kind: str) -> list[Any]:
        if names is None:
            return list(values.values())
        missing = [name for name in names if name not in values]
        if missing:
            raise ArgumentError(f"{self.name}: there is no {kind} {missing[0]!r} among {', '.join(map(repr, values))}")
        return [values[name] for name in names]

    def reset(self) -> None:
        """Forgets everything."""
        self._refused_globally = {}
        self._held_global_sum, self._held_global_count = 0.0, 0
        self.reset_local()

    def reset_local(self) -> None:
        """Forgets what ``get`` is about, not what ``get_global`` is."""
        self._refused = {}
        self._held_sum, self._held_count = 0.0, 0

    def get(self) -> tuple[Any, Any]:
        """Name and value, of all since the last ``reset`` or ``reset_local``; NaN of nothing."""
        self._check(self._refused)
        return self.name, self._value(self._held_sum, self._held_count)

    def get_global(self) -> tuple[Any, Any]:
        """Name and value, of all since the last ``reset``."""
        if not self._has_global_stats:
            return self.get()
        self._check(self._refused_globally)
        return self.name, self._value(self._held_global_sum, self._held_global_count)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value since the last ``reset``."""
        return _pairs(*self.get_global())

    def get_config(self) -> dict[str, Any]:
        """What ``create(**config)`` makes an equal metric of."""
        names = {"output_names": self.output_names, "label_names": self.label_names}
        return {**self._kwargs, "metric": type(self).__name__, "name": self.name, **names}

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def _value(self, total: Any, count: Any) -> float:
        """The value from the sums."""
        counted = number(count)
        return number(total) / counted if counted else math.nan

    def _add(self, total: Any, count: Any) -> None:
        """Adds to the sums, which stay where they are, in double precision."""
        self._held_sum, self._held_global_sum = _sum(self._held_sum, total), _sum(self._held_global_sum, total)
        self._held_count, self._held_global_count = _sum(self._held_count, count), _sum(self._held_global_count, count)

    def _refuse(self, wrong: NDArray, why: str) -> None:
        """Has whoever reads raise if anything of an array is true: to raise now would be to wait."""
        more = wrong.sum()
        for refused in (self._refused, self._refused_globally):
            refused[why] = _sum(refused.get(why, 0), more)

    def _check(self, refused: Mapping[str, NDArray]) -> None:
        for why, count in refused.items():
            if number(count):
                raise ArgumentError(f"{self.name}: {int(number(count))} {why}")


def _sum(before: Any, more: Any) -> Any:
    if not isinstance(more, NDArray):
        return before + more
    more = double(more)
    if isinstance(before, NDArray) and before._device != more._device:
        more = more.as_in_context(before.context)
    return before + more


def _whole(count: Any) -> Any:
    """A count as a number of Python: whole, if it is."""
    if not isinstance(count, NDArray):
        return count
    counted = number(count)
    return int(counted) if counted.is_integer() else counted


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(name, list):
        return [(name, value)]
    return list(zip(name, value, strict=True))


class PairMetric(EvalMetric):
    """A metric that is a sum over pairs of an array of labels and one of predictions.

    One of your own overrides ``measure``; nothing of it is recorded, and nothing waits as long as it does not.

    >>> from gluonish import nd
    >>> class Signs(PairMetric):
    ...     def measure(self, label, pred):
    ...         return (label.sign() == pred.sign()).sum(), pred.size
    >>> metric = Signs("signs")
    >>> metric.update([1, -1], nd.array([3, 4]))
    >>> metric.get()
    ('signs', 0.5)
    """

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("has_global_stats", True)
        super().__init__(name, *args, **kwargs)

    def update(self, labels: Any, preds: Any) -> None:
        with pause():
            for label, pred in paired(labels, preds, self.name):
                self._add(*self.measure(label, pred))

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        """What a batch adds to the sum and to the count: numbers, or arrays of no dimensions."""
        raise UnsupportedError(f"{type(self).__name__}: measure(self, label, pred) is not written")


REGISTRY: Registry[EvalMetric] = Registry("metric", EvalMetric)


def register(klass: Class) -> Class:
    """Makes a class of metrics known by its name, in lower case; a decorator.

    >>> @register
    ... class Nothing(EvalMetric): ...
    >>> REGISTRY.find("nothing") is Nothing
    True
    """
    return REGISTRY.register(klass)


def alias(*aliases: str) -> Callable[[Class], Class]:
    """The decorator that makes a class of metrics known by more names than its own.

    >>> @alias("naught")
    ... class Nil(EvalMetric): ...
    >>> REGISTRY.find("naught") is Nil
    True
    """
    return REGISTRY.alias(*aliases)
