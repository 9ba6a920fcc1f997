"""Operations written in Python: `callback` queues a function, `CustomOp` is MXNet's form, with a gradient of its own.

`autograd.Function` is the shortest way to an operation with a gradient; `CustomOp` and its properties are for code that
was written for MXNet.

>>> import gluonish as mx
>>> class Scale(mx.operator.CustomOp):
...     def __init__(self, factor):
...         super().__init__()
...         self.factor = factor
...     def forward(self, is_train, req, in_data, out_data, aux):
...         self.assign(out_data[0], req[0], in_data[0] * self.factor)
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
>>> @mx.operator.register("scale")
... class ScaleProp(mx.operator.CustomOpProp):
...     def __init__(self, factor="1"):
...         super().__init__(need_top_grad=True)
...         self.factor = float(factor)
...     def create_operator(self, ctx, in_shapes, in_dtypes):
...         return Scale(self.factor)
>>> mx.nd.Custom(mx.nd.array([1, 2]), factor=3, op_type="scale").tolist()
[3.0, 6.0]
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._dtype import dtype_name
from gluonish._missing import explained
from gluonish._rows import store, store_all
from gluonish.autograd import Function
from gluonish.context import Context, from_index
from gluonish.errors import ArgumentError, MXNetError, ShapeError

__all__ = [
    "Custom",
    "CustomOp",
    "CustomOpProp",
    "OperatorArguments",
    "callback",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

__getattr__ = explained("gluonish.operator", __all__)

Shapes = Sequence[Sequence[int]]
Prop = TypeVar("Prop", bound="type[CustomOpProp]")


def callback(
    fn: Callable[[list[NDArray], list[NDArray]], object],
    inputs: Sequence[NDArray],
    output_specs: Sequence[tuple[int | Sequence[int], npt.DTypeLike]],
) -> list[NDArray]:
    """Queues a Python function as an operation: it runs when its inputs are ready, and later work waits for it.

    ``output_specs`` gives the shape and type of each output, as in ``[((2, 3), "float32")]``; the outputs are returned
    at once. ``fn(inputs, outputs)`` is called later, on a thread of its own, and must fill the outputs in place
    (``outputs[0][:] = ...``). It may wait for arrays and use other operations. What it raises is raised by the next
    wait for an output. No gradient flows through it, so while recording it takes no array that leads to a variable:
    ``autograd.Function`` is the place for a gradient.

    >>> import numpy
    >>> import gluonish as mx
    >>> def sort(inputs, outputs):
    ...     outputs[0][:] = numpy.sort(inputs[0].asnumpy())
    >>> x = mx.nd.array([3, 1, 2])
    >>> (y,) = callback(sort, [x], [(x.shape, x.dtype)])
    >>> y.asnumpy().tolist()
    [1.0, 2.0, 3.0]
    """
    if not callable(fn):
        raise ArgumentError(f"callback: fn={fn!r} is not valid: expected a function of (inputs, outputs)")
    try:
        specs = [(shape_of(shape, "callback"), dtype_name(dtype)) for shape, dtype in output_specs]
    except (TypeError, ValueError) as error:
        if isinstance(error, _core.MXNetError):
            raise
        raise ArgumentError(
            f"callback: output_specs={output_specs!r} is not valid: expected (shape, dtype) pairs"
        ) from None
    name: Any = getattr(fn, "__name__", None) or type(fn).__name__
    return _core.callback(str(name), fn, list(inputs), specs)


class CustomOp:
    """What computes an operation and its gradient. ``create_operator`` of its `CustomOpProp` makes it."""

    def forward(
        self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]
    ) -> None:
        """Writes the outputs: ``self.assign(out_data[0], req[0], value)``. ``aux`` are states that it may change."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Writes the gradients of the inputs: ``self.assign(in_grad[0], req[0], value)``."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Writes a value as ``req`` says: "write" or "inplace" replace, "add" adds, "null" does nothing.

        >>> from gluonish import nd
        >>> x = nd.ones(2)
        >>> CustomOp().assign(x, "add", nd.ones(2))
        >>> x.tolist()
        [2.0, 2.0]
        """
        if req in ("write", "inplace"):
            dst[...] = src
        elif req == "add":
            dst[...] = dst + src
        elif req != "null":
            raise ArgumentError(f"assign: req={req!r} is not valid: expected 'null', 'write', 'inplace' or 'add'")


class CustomOpProp:
    """What a custom operation takes and gives. Arguments of its constructor come as strings, as in MXNet.

    ``need_top_grad=False`` says that the gradient of the outputs is not used, as in a layer that is a loss.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """The names of states, which are given behind the inputs and have no gradient."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """Shapes of inputs, outputs, and perhaps states, from those of the inputs. All outputs are like the first."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> Any:
        """Types of inputs, outputs and states, from those of the inputs. All are like the first."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """MXNet's question for sparse arrays: all arrays here are dense."""
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> Any:
        """MXNet's question for sparse gradients: all arrays here are dense."""
        return tuple(["default"] * len(one) for one in (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype))

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """The numbers of what ``backward`` looks at. The others are not kept, and not in its lists."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: Shapes, in_dtypes: Sequence[Any]) -> CustomOp:
        """The operation for inputs of these shapes and types. Every class defines it."""
        raise NotImplementedError(f"{type(self).__name__}.create_operator")


_props: dict[str, type[CustomOpProp]] = {}


def register(reg_name: str) -> Callable[[Prop], Prop]:
    """The decorator that makes a `CustomOpProp` known to ``nd.Custom`` as ``op_type=reg_name``."""

    def known(prop: Prop) -> Prop:
        given: object = prop
        if not (isinstance(given, type) and issubclass(given, CustomOpProp)):
            raise ArgumentError(f"register: {prop!r} is not valid: expected a class that is a CustomOpProp")
        _props[reg_name] = prop
        return prop

    return known


def Custom(*data: NDArray, op_type: str | None = None, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """Runs the operation that is registered as ``op_type``: an array, or a list where it has several outputs.

    Inputs, and behind them states, come by position or by name; other arguments go to the `CustomOpProp`, as strings.
    """
    prop_class: Any = _props.get(op_type) if op_type is not None else None
    if prop_class is None:
        known = ", ".join(sorted(_props)) or "none"
        raise ArgumentError(f"Custom: op_type={op_type!r} is not registered; there are {known}")
    named = {key: value for key, value in kwargs.items() if isinstance(value, NDArray)}
    what = f"Custom '{op_type}'"
    with _phase(what, prop_class.__name__):
        prop = prop_class(**{key: str(value) for key, value in kwargs.items() if key not in named})
        names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    arrays = _by_name(what, data, named, names)
    made = CustomCall(what, prop, len(prop.list_arguments()))(*arrays)
    if len(made) == 1:
        return store(made[0], out, "Custom")
    return store_all(list(made), out, "Custom")


def _by_name(what: str, data: tuple[NDArray, ...], named: dict[str, NDArray], names: list[str]) -> list[NDArray]:
    arrays = dict(zip(names, data, strict=False))
    wrong = [name for name in named if name not in names or name in arrays]
    if wrong or len(data) > len(names) or len(data) + len(named) < len(names):
        given = f"{len(data)} by position" + (f" and {', '.join(named)} by name" if named else "")
        raise ArgumentError(f"{what}: the inputs {', '.join(names)} are needed, got {given}")
    arrays.update(named)
    return [arrays[name] for name in names]


@contextmanager
def _phase(what: str, method: str) -> Iterator[None]:
    """Exceptions of the user's methods say which operation they belong to, and what it was doing."""
    try:
        yield
    except Exception as error:
        place = f"in {method} of {what}"
        if isinstance(error, MXNetError) and not isinstance(error, OSError) and len(error.args) == 1:
            error.args = (f"{error.args[0]}\n  {place}",)
        elif hasattr(error, "add_note"):  # from Python 3.11
            error.add_note(place)
        raise


class CustomCall(Function):
    """One call of a custom operation, as autograd sees it."""

    def __init__(self, what: str, prop: CustomOpProp, count: int) -> None:
        self._what, self._prop, self._count = what, prop, count

    def forward(self, *arrays: NDArray) -> tuple[NDArray, ...]:
        inputs, self._aux = list(arrays[: self._count]), list(arrays[self._count :])
        if not inputs:
            raise ArgumentError(f"{self._what}: an operation without inputs has no device to run on")
        shapes, types = self._inferred(inputs)
        device = inputs[0]._device
        with _phase(self._what, "create_operator"):
            given: Any = self._prop.create_operator(
                from_index(device), [list(x.shape) for x in inputs], [x.dtype for x in inputs]
            )
        if not callable(getattr(given, "forward", None)):
            raise ArgumentError(f"{self._what}: create_operator must return a CustomOp, got {given!r}")
        self._op = given
        outputs = [_core.full(shape, 0, dtype, device) for shape, dtype in zip(shapes, types, strict=True)]
        with _phase(self._what, "forward"):
            self._op.forward(_core.is_training(), ["write"] * len(outputs), inputs, outputs, self._aux)
        self._remember(inputs, outputs)
        return tuple(outputs)

    def _inferred(self, inputs: list[NDArray]) -> tuple[list[tuple[int, ...]], list[str]]:
        """Shapes and types of the outputs; those that the operation wants of its inputs must be theirs."""
        shapes = [list(x.shape) for x in inputs]
        with _phase(self._what, "infer_shape"):
            wanted, made, *_ = _parts("infer_shape", self._prop.infer_shape([list(shape) for shape in shapes]))
        if [list(shape) for shape in wanted] != shapes:
            raise ShapeError(f"{self._what}: infer_shape wants inputs of shapes {wanted}, got {shapes}")
        kinds = [x.dtype if isinstance(x.dtype, str) else x.dtype.type for x in inputs]
        with _phase(self._what, "infer_type"):
            _, types, *_ = _parts("infer_type", self._prop.infer_type(kinds))
        outputs = self._prop.list_outputs()
        if not len(made) == len(types) == len(outputs):
            raise ArgumentError(
                f"{self._what}: it lists {len(outputs)} outputs, but infer_shape gives {len(made)} shapes and "
                f"infer_type {len(types)} types"
            )
        return [shape_of(shape, self._what) for shape in made], [dtype_name(dtype) for dtype in types]

    def _remember(self, inputs: list[NDArray], outputs: list[NDArray]) -> None:
        """Keeps what ``backward`` asks for, and nothing else."""
        n, m = len(outputs), len(inputs)
        ids = list(range(n)), list(range(n, n + m)), list(range(n + m, 2 * n + m))
        wanted = set(self._prop.declare_backward_dependency(*map(list, ids)))
        self._needs = [i in wanted for i in ids[0]]
        kept_in = [x for i, x in zip(ids[1], inputs, strict=True) if i in wanted]
        kept_out = [y for i, y in zip(ids[2], outputs, strict=True) if i in wanted]
        self._like = [(x.shape, dtype_name(x.dtype), x._device) for x in inputs]
        self._split = len(kept_in)
        self.save_for_backward(*kept_in, *kept_out)

    def backward(self, *output_grads: NDArray) -> list[NDArray | None]:
        inputs, outputs = list(self.saved_tensors[: self._split]), list(self.saved_tensors[self._split :])
        given = [gradient for gradient, needed in zip(output_grads, self._needs, strict=True) if needed]
        made = [_core.full(shape, 0, dtype, device) for shape, dtype, device in self._like]
        with _phase(self._what, "backward"):
            self._op.backward(["write"] * len(made), given, inputs, outputs, made, self._aux)
        return [*made, *[None] * len(self._aux)]


def _parts(method: str, given: Any) -> Any:
    if not isinstance(given, list | tuple) or len(given) < 2:
        raise ArgumentError(f"{method} must return lists for inputs, outputs and states, got {given!r}")
    return given


class OperatorArguments(NamedTuple):
    """What an op takes, as MXNet tells it."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """The names of all ops of the table.

    >>> "FullyConnected" in get_all_registered_operators()
    True
    """
    return sorted(row["name"] for row in _core.op_table() if not row["internal"])


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The names and kinds of an op's inputs and attributes.

    >>> get_operator_arguments("relu").names
    ['data']
    """
    rows = {row["name"]: row for row in _core.op_table()}
    if op_name not in rows:
        raise ArgumentError(f"get_operator_arguments: there is no op {op_name!r}")
    inputs = [(one["name"], f"NDArray, {one['kind']}") for one in rows[op_name]["inputs"]]
    attrs = [(one["name"], one["kind"]) for one in rows[op_name]["attrs"]]
    names, types = zip(*inputs, *attrs, strict=True) if inputs or attrs else ((), ())
    return OperatorArguments(len(names), list(names), list(types))
