"""Metrics made of others, and of functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonish import operator
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, IndexOutOfRange, UnsupportedError
from gluonish.metric._arrays import listed
from gluonish.metric.base import REGISTRY, EvalMetric, alias, register

__all__ = ["CompositeEvalMetric", "CustomMetric", "create", "np"]


@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one: ``get`` returns lists of names and values.

    >>> metric = CompositeEvalMetric(["acc", "ce"])
    >>> metric.update([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    >>> metric.get()
    (['accuracy', 'cross-entropy'], [0.5, 0.6931471805579453])
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Adds a metric, or the one that ``create`` makes."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at a position."""
        if not -len(self.metrics) <= index < len(self.metrics):
            raise IndexOutOfRange(f"{self.name}: there is no metric {index} among {len(self.metrics)}")
        return self.metrics[index]

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        if self.label_names is not None:
            labels = dict(zip(self.label_names, self._chosen(labels, self.label_names, "label"), strict=True))
        if self.output_names is not None:
            preds = dict(zip(self.output_names, self._chosen(preds, self.output_names, "prediction"), strict=True))
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def reset(self) -> None:
        super().reset()
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        super().reset_local()
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[Any, Any]:
        return _columns([pair for metric in self.metrics for pair in metric.get_name_value()])

    def get_global(self) -> tuple[Any, Any]:
        return _columns([pair for metric in self.metrics for pair in metric.get_global_name_value()])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _columns(pairs: list[tuple[str, Any]]) -> tuple[list[str], list[Any]]:
    return [name for name, _ in pairs], [value for _, value in pairs]


@register
class CustomMetric(EvalMetric):
    """The mean over batches of what a function of (label, prediction), two NumPy arrays, returns.

    It may return a sum and a count instead, which are then added up. The function is queued as an operation: it runs
    when the arrays are ready, and what it raises is raised by ``get``.

    Parameters
    ----------
    feval
        The function.
    allow_extra_outputs
        Whether there may be more predictions than labels; those without labels are left out.

    >>> metric = CustomMetric(lambda label, pred: abs(label - pred).max(), name="largest")
    >>> metric.update([1, 2], [1, 5])
    >>> metric.get()
    ('largest', 3.0)
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if not callable(feval):
            raise ArgumentError(f"CustomMetric: feval={feval!r} is not valid: expected a function of (label, pred)")
        if name is None:
            name = str(getattr(feval, "__name__", type(feval).__name__))
            name = f"custom({name})" if "<" in name else name
        self._feval, self._allow_extra_outputs = feval, allow_extra_outputs
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = listed(labels, self.name), listed(preds, self.name)
        if len(labels) != len(preds) and not self._allow_extra_outputs:
            raise ArgumentError(
                f"{self.name}: {len(labels)} arrays of labels and {len(preds)} of predictions: expected as many, or "
                "allow_extra_outputs=True"
            )
        with pause():
            for label, pred in zip(labels, preds, strict=False):
                inputs = [label.as_in_context(pred.context), pred]
                (pair,) = operator.callback(self._evaluate, inputs, [((2,), "float64")])
                self._add(pair[0], pair[1])

    def _evaluate(self, inputs: list[NDArray], outputs: list[NDArray]) -> None:
        returned = self._feval(inputs[0].asnumpy(), inputs[1].asnumpy())
        total, count = returned if isinstance(returned, tuple) else (returned, 1)
        outputs[0][:] = [float(total), float(count)]

    def get_config(self) -> dict[str, Any]:
        raise UnsupportedError(f"{self.name}: a metric that is made of a function has no configuration")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """The metric of a function of NumPy arrays.

    >>> def largest(label, pred):
    ...     return abs(label - pred).max()
    >>> metric = np(largest)
    >>> metric.update([1, 2], [1, 5])
    >>> metric.get()
    ('largest', 3.0)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from an instance, a class, a name with arguments, a function, a list of all these, or a configuration.

    >>> create("top_k_acc", top_k=3).name, create(["acc", "f1"]).get()[0]
    ('top_k_accuracy_3', ['accuracy', 'f1'])
    """
    if isinstance(metric, list | tuple):
        return CompositeEvalMetric([create(one, *args, **kwargs) for one in metric])
    if isinstance(metric, Mapping):
        config = {**metric, **kwargs}
        return create(config.pop("metric"), *args, **config)
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    return REGISTRY.create(metric, *args, **kwargs)
