"""Gradients. What runs inside ``record`` is remembered; ``backward`` then fills the gradients of the arrays that asked.

>>> import gluonish as mx
>>> x = mx.nd.array([1, 2, 3])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad.asnumpy()
array([2., 4., 6.], dtype=float32)
"""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, GradientError, UnsupportedError

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]

_anomaly: ContextVar[bool] = ContextVar("gluonish_detect_anomaly", default=False)


class _Scope:
    """A ``with`` block that sets recording, training or both, and puts them back at its end. None: leave it alone."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording, self._training = recording, training
        self._before: list[tuple[bool | None, bool | None]] = []

    def __enter__(self) -> None:
        recording = None if self._recording is None else _core.set_recording(self._recording)
        training = None if self._training is None else _core.set_training(self._training)
        self._before.append((recording, training))

    def __exit__(self, *exc_info: object) -> None:
        recording, training = self._before.pop()
        if recording is not None:
            _core.set_recording(recording)
        if training is not None:
            _core.set_training(training)


def record(train_mode: bool | None = True) -> _Scope:
    """A scope in which operations are recorded for gradients, and layers behave as in training.

    ``train_mode=False`` records layers as they behave in prediction.

    >>> with record():
    ...     is_recording(), is_training()
    (True, True)
    """
    return _Scope(True, train_mode)


def pause(train_mode: bool | None = False) -> _Scope:
    """A scope inside ``record`` in which nothing is recorded.

    >>> with record():
    ...     with pause():
    ...         is_recording(), is_training()
    (False, False)
    """
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """A scope in which layers behave as in training (dropout drops); recording stays as it is.

    >>> with train_mode():
    ...     is_recording(), is_training()
    (False, True)
    """
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """A scope in which layers behave as in prediction; recording stays as it is.

    >>> with record(), predict_mode():
    ...     is_recording(), is_training()
    (True, False)
    """
    return _Scope(None, False)


def is_recording() -> bool:
    """Whether operations of this thread are recorded.

    >>> is_recording()
    False
    """
    return _core.is_recording()


def is_training() -> bool:
    """Whether layers behave as in training, in this thread.

    >>> is_training()
    False
    """
    return _core.is_training()


def set_recording(is_recording: bool) -> bool:
    """Switches recording on or off, without a scope; returns what it was.

    >>> before = set_recording(True)
    >>> set_recording(before)
    True
    """
    return _core.set_recording(bool(is_recording))


def set_training(train_mode: bool) -> bool:
    """Switches training behaviour on or off, without a scope; returns what it was.

    >>> before = set_training(True)
    >>> set_training(before)
    True
    """
    return _core.set_training(bool(train_mode))


class detect_anomaly:  # noqa: N801 - used as a function
    """A scope in which ``backward`` stops at the first op whose gradient is not finite, and names its forward line.

    Every gradient is looked at, so backward is slower.

    >>> import gluonish as mx
    >>> x = mx.nd.array([0.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.log(x)
    >>> with detect_anomaly():
    ...     y.backward()
    Traceback (most recent call last):
        ...
    gluonish.errors.GradientError: ...log...
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _anomaly.set(True)

    def __exit__(self, *exc_info: object) -> None:
        _anomaly.reset(self._before)


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Makes arrays variables whose gradients go to arrays that you give.

    ``grad_reqs`` says for each what ``backward`` does: "write", "add" or "null". ``attach_grad`` does the same with
    a gradient of its own making. Gradients have their variables' shapes.

    >>> import gluonish as mx
    >>> x, dx = mx.nd.ones((2, 3)), mx.nd.zeros((2, 3))
    >>> mark_variables([x], [dx])
    >>> with record():
    ...     y = 2 * x
    >>> backward(y)
    >>> dx.asnumpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """
    arrays, grads = _listed(variables), _listed(gradients)
    reqs = [grad_reqs] * len(arrays) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(arrays) == len(grads) == len(reqs):
        raise ArgumentError(
            f"mark_variables: {len(arrays)} variables, {len(grads)} gradients and {len(reqs)} grad_reqs: "
            "one of each is needed for every variable"
        )
    for array, gradient, req in zip(arrays, grads, reqs, strict=True):
        _core.mark_variable(array, gradient, check_req(req, "mark_variables"))


def backward(
    heads: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Computes the gradients of the sum of ``heads`` for every variable that they depend on.

    ``head_grads`` weights the heads: arrays of their shapes, None for ones. What was recorded is freed on the way,
    unless ``retain_graph`` is set for another ``backward`` over it.

    >>> import gluonish as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with record():
    ...     y, z = x * 3, x * x
    >>> backward([y, z], [None, mx.nd.array([10, 10])])
    >>> x.grad.asnumpy().tolist()
    [23.0, 43.0]
    """
    tops = _listed(heads)
    _core.backward(tops, _head_grads(head_grads, tops), retain_graph, False, train_mode, _anomaly.get())


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of the sum of ``heads`` with respect to ``variables``, as a list, also for a single variable.

    Gradients stored in arrays stay as they are. With ``create_graph`` the result is recorded too, so that it can be
    differentiated again, to any order; ``retain_graph`` keeps what was recorded, and is on where ``create_graph`` is.

    >>> import gluonish as mx
    >>> x = mx.nd.array([3])
    >>> x.attach_grad()
    >>> with record():
    ...     y = x ** 3
    ...     (first,) = grad(y, x, create_graph=True)
    >>> first.backward()
    >>> first.asnumpy().tolist(), x.grad.asnumpy().tolist()
    ([27.0], [18.0])
    """
    tops = _listed(heads)
    keep = create_graph if retain_graph is None else retain_graph
    weights = _head_grads(head_grads, tops)
    return _core.gradients(tops, _listed(variables), weights, keep, create_graph, train_mode, _anomaly.get())


def get_symbol(x: NDArray) -> NoReturn:
    """MXNet's way to the recorded graph as a Symbol. There are no symbols yet.

    >>> import gluonish as mx
    >>> get_symbol(mx.nd.ones(2))
    Traceback (most recent call last):
        ...
    gluonish.errors.UnsupportedError: autograd.get_symbol: symbols are not built yet
    """
    raise UnsupportedError("autograd.get_symbol: symbols are not built yet")


class Function:
    """An operation with a gradient of your own. Derive from it, and make a new instance for every call.

    ``forward`` gets the inputs and returns an array or several; ``backward`` gets a gradient for each output and
    returns one for each input (None: no gradient). ``save_for_backward`` keeps arrays for ``backward``, where they are
    ``self.saved_tensors``; it is an error if one was written to since then, or if ``backward`` writes to the gradients.
    Only ``backward`` under ``create_graph`` is recorded, so what it differentiates further must come from inputs,
    outputs and gradients: anything else that ``forward`` computed counts as a constant.

    >>> import gluonish as mx
    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + mx.nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = mx.nd.array([0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [0.25]
    """

    _called = False
    saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays until ``backward``."""
        self.saved_tensors = args

    def forward(self, *inputs: NDArray) -> Any:
        """The outputs: an array, or a tuple or list of them."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(self, *output_grads: NDArray) -> Any:
        """The gradients of the inputs: one, or a tuple or list of them."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def __call__(self, *inputs: NDArray) -> Any:
        name = type(self).__name__
        if self._called:
            raise GradientError(f"{name}: an instance can be called once; make a new one for each call")
        self._called = True
        if not all(isinstance(value, NDArray) for value in inputs):
            kinds = ", ".join(type(value).__name__ for value in inputs)
            raise ArgumentError(f"{name}: inputs must be NDArrays, got {kinds}; give other values to its constructor")
        recording = _core.is_recording()
        with pause(None):
            outputs = self.forward(*inputs)
            several = isinstance(outputs, tuple | list)
            # An input that is returned as it is would be its own gradient's source: the output is another array.
            results = [y.copy() if any(y is x for x in inputs) else y for y in _listed(outputs)]
        if recording:
            self._devices = [x.context for x in inputs]
            self._versions = [_core.version(array) for array in self.saved_tensors]
            _core.record_function(name, self._gradients, list(inputs), results)
        return (type(outputs)(results) if several else results[0]) if results else outputs

    def _gradients(self, output_grads: list[NDArray]) -> list[NDArray | None]:
        if self._versions != [_core.version(array) for array in self.saved_tensors]:
            raise GradientError(
                f"{type(self).__name__}.backward: an array that it saved was overwritten in place since then; "
                "write to a new array, or save a copy()"
            )
        given = self.backward(*output_grads)  # recorded where `create_graph` asks for it
        gradients = list(given) if isinstance(given, tuple | list) else [given]
        name, count = type(self).__name__, len(self._devices)
        if len(gradients) != count:
            raise GradientError(
                f"{name}.backward: it returned {len(gradients)} gradients for {count} inputs; None stands for none"
            )
        for i, (gradient, device) in enumerate(zip(gradients, self._devices, strict=True)):
            if isinstance(gradient, NDArray) and gradient.context != device:
                raise GradientError(
                    f"{name}.backward: gradient {i} is on {gradient.context}, input {i} on {device}: use as_in_context"
                )
        return gradients


def check_req(grad_req: object, function: str) -> str:
    """``grad_req`` if it is one."""
    if not isinstance(grad_req, str) or grad_req not in ("write", "add", "null"):
        raise ArgumentError(f"{function}: grad_req={grad_req!r} is not valid: expected one of 'write', 'add', 'null'")
    return grad_req


def _listed(given: Any) -> list[NDArray]:
    arrays = list(given) if isinstance(given, Iterable) and not isinstance(given, NDArray) else [given]
    for array in arrays:
        if not isinstance(array, NDArray):
            raise ArgumentError(f"expected an NDArray or a list of them, got {type(array).__name__}")
    return arrays


def _head_grads(given: NDArray | Sequence[NDArray | None] | None, heads: list[NDArray]) -> list[NDArray | None]:
    weights: list[NDArray | None] = [given] if given is None or isinstance(given, NDArray) else list(given)
    if given is None:
        weights *= len(heads)
    if len(weights) != len(heads):
        raise ArgumentError(f"{len(weights)} head_grads for {len(heads)} heads: one for each is needed, None for ones")
    _listed(weight for weight in weights if weight is not None)
    return weights
