"""Gradients against finite differences, and one device or element type against another."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from gluonish import autograd, nd
from gluonish._core import NDArray
from gluonish._create import dense
from gluonish._dtype import dtype_name
from gluonish.context import Context, ContextLike, device_index, from_index
from gluonish.errors import ArgumentError
from gluonish.gluon.block import Block
from gluonish.test_utils.compare import assert_almost_equal, compare_ndarray_tuple
from gluonish.test_utils.inputs import rand_ndarray
from gluonish.test_utils.tolerance import default_numeric_eps, get_tolerance

__all__ = ["check_consistency", "check_numeric_gradient", "compare_optimizer", "numeric_grad"]

Location = Mapping[str, Any] | Sequence[Any]
Host = Any


def _named(location: Location) -> dict[str, Any]:
    """Inputs by name: those of a list are arg0, arg1, ..."""
    if isinstance(location, Mapping):
        return dict(location)
    return {f"arg{i}": value for i, value in enumerate(location)}


def _outputs(function: Callable[..., Any], inputs: Mapping[str, NDArray], by_name: bool) -> list[NDArray]:
    """What a function or block makes of its inputs; blocks are called by position."""
    by_name = by_name and not isinstance(function, Block)
    made = function(**inputs) if by_name else function(*inputs.values())
    return list(made) if isinstance(made, list | tuple) else [made]


def _mode(train: bool) -> Any:
    return autograd.train_mode() if train else autograd.predict_mode()


def _differences(target: NDArray, loss: Callable[[], float], eps: float) -> Host:
    """The slope of a number along each element of an array, which is as it was at the end."""
    host = target.asnumpy().astype("float64")
    slopes = np.zeros_like(host)
    for place in np.ndindex(host.shape):
        reached, values = [], []
        for step in (eps, -eps):
            moved = host.copy()
            moved[place] += step
            target[...] = moved
            reached.append(float(target[place].item()))  # as the element type rounds it
            values.append(loss())
        slopes[place] = (values[0] - values[1]) / (reached[0] - reached[1])
    target[...] = host
    return slopes


def _projected(outputs: list[NDArray], weights: list[Host] | None) -> float:
    hosts = [out.asnumpy().astype("float64") for out in outputs]
    return float(sum((host * (1.0 if weights is None else weights[i])).sum() for i, host in enumerate(hosts)))


@contextmanager
def _put_back(block: Any) -> Iterator[None]:
    """Keeps the values of all parameters of a block, such as running statistics; a function has none."""
    if not isinstance(block, Block):
        yield
        return
    kept = [(array, array.copy()) for p in block.collect_params().values() for array in p.list_data()]
    try:
        yield
    finally:
        for array, value in kept:
            array[...] = value


def numeric_grad(
    executor: Callable[..., Any],
    location: Location,
    aux_states: None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> Any:
    """The gradient of the sum of all outputs of a function with respect to its inputs, by finite differences.

    MXNet takes an executor of a symbol; here it is a function of arrays, or a block. Returns NumPy arrays in a dict or
    a list, as ``location`` is one.

    >>> numeric_grad(lambda x: x * x, [[3.0]], eps=0.25)[0].tolist()
    [6.0]
    """
    _no_states(aux_states, "numeric_grad")
    inputs = {name: nd.array(value, dtype=dtype) for name, value in _named(location).items()}
    by_name = isinstance(location, Mapping)

    def loss() -> float:
        with _mode(use_forward_train):
            return _projected(_outputs(executor, inputs, by_name), None)

    loss()  # a block may still wait for its shapes
    with _put_back(executor):
        slopes = {name: _differences(array, loss, eps) for name, array in inputs.items()}
    return slopes if by_name else list(slopes.values())


def check_numeric_gradient(
    sym: Callable[..., Any],
    location: Location,
    aux_states: None = None,
    numeric_eps: float | None = None,
    rtol: Any = None,
    atol: Any = None,
    grad_nodes: Sequence[str] | None = None,
    use_forward_train: bool = True,
    ctx: ContextLike = None,
    grad_stype_dict: None = None,
    dtype: Any = np.float32,
) -> None:
    """Raises unless gradients are those of finite differences.

    MXNet takes a symbol; here it is a function of arrays, or a block, whose parameters are checked as well. The outputs
    are multiplied by random numbers and summed, and that is differentiated. Every element is moved twice, so inputs
    should be small. A block ends as it began, running statistics included; its parameters' gradients do not.

    Parameters
    ----------
    location
        Inputs: a list, or a dict of arguments by name.
    numeric_eps, rtol, atol
        The step, and tolerances; None: those of the element type.
    grad_nodes
        Which inputs (arg0, arg1, ... of a list) and parameters, by name; None: all of a floating type.
    use_forward_train
        Whether the function runs in training mode.

    >>> check_numeric_gradient(lambda x, y: x * y.exp(), [np.ones((2, 2)), np.ones(2)])
    """
    _no_states(aux_states, "check_numeric_gradient")
    if grad_stype_dict is not None:
        raise ArgumentError("check_numeric_gradient: grad_stype_dict is for sparse gradients, which are not built")
    device = from_index(device_index(ctx))
    inputs = {name: _input(value, dtype, device) for name, value in _named(location).items()}
    by_name = isinstance(location, Mapping)
    with device, _mode(use_forward_train):
        outputs = _outputs(sym, inputs, by_name)
    weights = [np.random.uniform(0.5, 1.5, out.shape) for out in outputs]
    targets = _targets(sym, inputs, grad_nodes, device)

    def loss() -> float:
        with device, _mode(use_forward_train):
            return _projected(_outputs(sym, inputs, by_name), weights)

    with _put_back(sym):
        with device, autograd.record(train_mode=use_forward_train):
            outputs = _outputs(sym, inputs, by_name)
            heads = [nd.array(w, dtype=str(out.dtype), ctx=device) for w, out in zip(weights, outputs, strict=True)]
        autograd.backward(outputs, heads)
        found = {name: gradient().asnumpy() for name, (_, gradient) in targets.items()}
        for name, (array, _) in targets.items():
            step = numeric_eps or default_numeric_eps()[np.dtype(dtype_name(dtype))]
            wanted = _differences(array, loss, step).astype(array.dtype)
            assert_almost_equal(found[name], wanted, rtol, atol, (f"the gradient of {name}", "finite differences"))


def _input(value: Any, dtype: Any, device: Context) -> NDArray:
    """An input on the device; integers stay what they are, and have no gradient."""
    kind = str(value.dtype) if hasattr(value, "dtype") else np.asarray(value).dtype.name
    whole = hasattr(value, "dtype") and "float" not in kind
    array = nd.array(value, dtype=kind if whole else dtype, ctx=device)
    if not whole:
        array.attach_grad()
    return array


def _targets(
    function: Any, inputs: Mapping[str, NDArray], chosen: Sequence[str] | None, device: Context
) -> dict[str, tuple[NDArray, Callable[[], NDArray]]]:
    """What is differentiated: arrays by name, with how to get their gradients."""
    known: dict[str, tuple[NDArray, Callable[[], NDArray]]] = {}
    for name, array in inputs.items():
        if "float" in str(array.dtype):
            known[name] = array, partial(getattr, array, "grad")
    if isinstance(function, Block):
        for name, parameter in function.collect_params().items():
            if parameter.grad_req != "null":
                known[name] = parameter.data(device), partial(parameter.grad, device)
    missing = [name for name in chosen or () if name not in known]
    if missing:
        raise ArgumentError(f"check_numeric_gradient: there is no {missing[0]!r} among {', '.join(map(repr, known))}")
    return known if chosen is None else {name: known[name] for name in chosen}


def check_consistency(
    sym: Callable[..., Any],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: str = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: None = None,
    rtol: Any = None,
    atol: Any = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Host] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, Host]:
    """Raises unless a function gives the same outputs and gradients on several devices and in several element types.

    MXNet takes a symbol; here it is a function of arrays by name, or a block without parameters, called by position.

    Parameters
    ----------
    ctx_list
        For each run a dict: "ctx", "type_dict" with the element types of inputs, and the shape of each input by name.
    scale
        Inputs are normal with this standard deviation (with ``use_uniform``, between minus and plus it), unless
        ``arg_params`` has them; ``rand_type`` rounds them.
    grad_req
        "null": outputs alone are compared.
    ground_truth
        What this function returned before, to compare with; None: the most precise of the runs.
    rtol, atol
        A number, or a dict by element type; None: those of the element types.

    Returns the outputs and gradients that were compared with, by name.

    >>> import gluonish as mx
    >>> runs = [{"ctx": mx.cpu(i), "x": (2, 3), "type_dict": {"x": t}} for i, t in enumerate(["float64", "float16"])]
    >>> sorted(check_consistency(lambda x: x.tanh(), runs))
    ['grad x', 'output 0']
    """
    _no_states(aux_params, "check_consistency")
    if grad_req not in {"write", "add", "null"}:
        raise ArgumentError(f"check_consistency: grad_req={grad_req!r} is not valid: expected 'write', 'add' or 'null'")
    shapes = [{k: v for k, v in run.items() if k not in {"ctx", "type_dict"}} for run in ctx_list]
    if not ctx_list or any(each != shapes[0] for each in shapes):
        raise ArgumentError("check_consistency: ctx_list has to hold runs with the same inputs of the same shapes")
    values = {name: _drawn(shape, scale, use_uniform, rand_type) for name, shape in shapes[0].items()}
    values.update({name: np.asarray(value) for name, value in (arg_params or {}).items()})
    heads: list[Host] = []
    made = [_run(sym, values, run, grad_req, heads) for run in ctx_list]
    truth = dict(ground_truth) if ground_truth is not None else max(made, key=_precision)
    for run, results in zip(ctx_list, made, strict=True):
        tolerance = min(results.values(), key=lambda x: np.finfo(x.dtype).bits if x.dtype.kind == "f" else 128)
        for name, result in results.items():
            relative = get_tolerance(tolerance, rtol, _loose(1e-3, 1e-5, 1e-1))
            absolute = get_tolerance(tolerance, atol, _loose(1e-3, 1e-5, 1e-1))
            names = (f"{name} on {run['ctx']} with {run.get('type_dict', {})}", "the most precise run")
            try:
                assert_almost_equal(result, truth[name], relative, absolute, names, equal_nan)
            except AssertionError as error:
                if raise_on_err:
                    raise
                print(error)
    return truth


def _loose(single: float, double: float, half: float) -> dict[Any, float]:
    """Tolerances of whole networks by element type, as MXNet has them."""
    floating = {np.dtype("float16"): half, np.dtype("float32"): single, np.dtype("float64"): double}
    return {**floating, **{np.dtype(name): 0.0 for name in ("bool", "uint8", "int8", "int32", "int64")}}


def _drawn(shape: tuple[int, ...], scale: float, uniform: bool, rand_type: Any) -> Host:
    drawn = np.random.uniform(-1, 1, shape) if uniform else np.random.standard_normal(shape)
    return (drawn * scale).astype(rand_type)


def _run(
    function: Callable[..., Any], values: Mapping[str, Host], run: Mapping[str, Any], grad_req: str, heads: list[Host]
) -> dict[str, Host]:
    types = run.get("type_dict", {})
    with Context(run["ctx"]):
        inputs = {name: nd.array(value, dtype=types.get(name, "float32")) for name, value in values.items()}
        for array in inputs.values():
            if grad_req != "null":
                array.attach_grad()
        with autograd.record():
            outputs = _outputs(function, inputs, by_name=True)
        heads += [np.random.standard_normal(out.shape) for out in outputs[len(heads) :]]
        results = {f"output {i}": _host(out) for i, out in enumerate(outputs)}
        if grad_req != "null":
            given = [nd.array(h, dtype=str(out.dtype)) for h, out in zip(heads, outputs, strict=True)]
            autograd.backward(outputs, given)
            results.update({f"grad {name}": _host(array.grad) for name, array in inputs.items()})
    return results


def _host(array: Any) -> Host:
    """As NumPy's; bfloat16 as float16, which is about as precise."""
    return array.astype("float16").asnumpy() if str(array.dtype) == "bfloat16" else array.asnumpy()


def _precision(results: Mapping[str, Host]) -> int:
    return sum(result.dtype.itemsize for result in results.values())


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: tuple[int, ...],
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raises unless two optimizers do the same to random weights with random gradients, state included.

    With ``ntensors`` above 1, so many are given to one update.

    >>> class Plain:
    ...     def create_state_multi_precision(self, index, weight):
    ...         return None
    ...     def update_multi_precision(self, index, weight, grad, state):
    ...         weight -= 0.1 * grad
    >>> compare_optimizer(Plain(), Plain(), (2, 3), "float32")
    """
    dense(w_stype, "compare_optimizer")
    dense(g_stype, "compare_optimizer")
    weights = [rand_ndarray(shape, dtype=dtype) for _ in range(ntensors)]
    gradients = [rand_ndarray(shape, dtype=dtype) for _ in range(ntensors)]
    done = []
    for optimizer in (opt1, opt2):
        own = [weight.copy() for weight in weights]
        states = [optimizer.create_state_multi_precision(i, weight) for i, weight in enumerate(own)]
        given = [gradient.copy() for gradient in gradients]
        if ntensors == 1:
            optimizer.update_multi_precision(0, own[0], given[0], states[0])
        else:
            optimizer.update_multi_precision(list(range(ntensors)), own, given, states)
        done.append((own, states))
    (one, first), (other, second) = done
    if compare_states:
        compare_ndarray_tuple(first, second, rtol=rtol, atol=atol)
    for a, b in zip(one, other, strict=True):
        assert_almost_equal(a, b, rtol=rtol, atol=atol, names=("the first's weight", "the second's"))


def _no_states(states: object, function: str) -> None:
    if states is not None:
        raise ArgumentError(f"{function}: auxiliary states are a symbol's; a block holds its own")
