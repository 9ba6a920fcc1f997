"""Block: the base of layers and networks, whose ``forward`` is plain Python.

>>> import gluonish as mx
>>> from gluonish import gluon, nd
>>> class Scale(gluon.Block):
...     def __init__(self, **kwargs):
...         super().__init__(**kwargs)
...         self.factor = gluon.Parameter("factor", shape=(1,), init="ones")
...     def forward(self, x):
...         return x * self.factor.data()
>>> net = Scale(prefix="scale_")
>>> net.initialize()
>>> net(nd.array([1, 2])).tolist()
[1.0, 2.0]
>>> list(net.collect_params()), [path for path, _ in net.named_parameters()]
(['scale_factor'], ['factor'])
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from gluonish import _core
from gluonish._core import NDArray, block_enter, block_exit, current_device
from gluonish._files import PathLike
from gluonish._types import DTypeLike
from gluonish.autograd import pause
from gluonish.context import from_index
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon import _serialization
from gluonish.gluon._aliases import TorchNames
from gluonish.gluon._arguments import Contexts, one_of
from gluonish.gluon._deferred import settle
from gluonish.gluon._hooks import BackwardHook, call_with_backward_hooks
from gluonish.gluon._located import add_place
from gluonish.gluon._parameter import Parameter
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon._state import guard
from gluonish.gluon._tree import Tree
from gluonish.gluon._walk import children, own_parameters, saved, walk
from gluonish.gluon.utils import HookHandle

__all__ = ["Block"]


class Block(Tree, TorchNames):
    """A layer or a network: parameters, other blocks, and a ``forward`` that computes with them.

    Blocks and parameters that are assigned to attributes belong to the block: ``collect_params``, ``initialize``,
    saving and all else that is done with a network reaches them.

    Parameters
    ----------
    prefix
        What the names of its parameters begin with; by default its class and a number, as in ``dense0_``.
    params
        The parameters of another block, to be shared: ``Dense(4, params=other.params)``.

    >>> class Net(Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.inner = Block()
    ...     def forward(self, x):
    ...         return x + 1
    >>> net = Net(prefix="net_")
    >>> net.name, net.inner.prefix
    ('net', 'net_block0_')
    """

    _forward_hooks: dict[int, Callable[..., object]]
    _forward_pre_hooks: dict[int, Callable[..., object]]

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self.__dict__.update(_forward_hooks={}, _forward_pre_hooks={})

    # Doing something with all.

    def apply(self, fn: "Callable[[Block], object]") -> "Block":
        """Calls a function with every block below, and then with the block itself; returns the block."""
        for _, child in children(self):
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        verbose: bool = False,
        force_reinit: bool = False,
        *,
        device: Contexts = None,
    ) -> None:
        """Initializes all parameters, on one device or several.

        ``init`` is for parameters without an initializer of their own: an instance, a name or the JSON of one; None is
        ``Uniform(0.07)``.
        """
        params = self.collect_params()
        params.initialize(init, ctx, verbose, force_reinit, device=device)
        where = params.list_ctx() if params else one_of(ctx, device)
        for _, block in walk(self):
            for buffer in block._gluonish.buffers.values():
                buffer.reset_ctx(where)

    def cast(self, dtype: DTypeLike) -> None:
        """Makes all parameters, and buffers of floating types, another type."""
        for _, child in children(self):
            child.cast(dtype)
        for parameter in own_parameters(self).values():
            parameter.cast(dtype)
        for buffer in self._gluonish.buffers.values():
            if "float" in str(buffer.dtype):
                buffer.cast(dtype)

    def reset_ctx(self, ctx: Contexts = None, *, device: Contexts = None) -> None:
        """Moves all parameters and buffers to other devices."""
        for _, block in walk(self):
            for parameter in (*own_parameters(block).values(), *block._gluonish.buffers.values()):
                parameter.reset_ctx(ctx, device=device)

    reset_device = reset_ctx

    def zero_grad(self) -> None:
        """Sets all gradients to 0."""
        self.collect_params().zero_grad()

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute of all parameters: ``net.setattr("grad_req", "null")`` freezes a network."""
        self.collect_params().setattr(name, value)

    def share_parameters(self, shared: Mapping[str, Parameter]) -> "Block":
        """Replaces parameters by others, given by attribute path; returns the block.

        ``decoder.share_parameters({"weight": encoder.weight})``; ``dict(net.named_parameters())`` shares all.
        """
        _check_mapping(self, "share_parameters", shared)
        owners = dict(walk(self))
        found: list[tuple[Block, str, Parameter]] = []
        for path, parameter in shared.items():
            parent, _, name = path.rpartition(".")
            owner = owners.get(parent)
            if owner is None or name not in owner._reg_params:
                raise ArgumentError(f"{self._gluonish.label}: share_parameters: there is no parameter '{path}'")
            owner._reg_params[name]._agreed(parameter.shape or owner._reg_params[name].shape or (), "the shared shape")
            found.append((owner, name, parameter))
        for owner, name, parameter in found:
            setattr(owner, name, parameter)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compiles the hybrid blocks below. It is not built yet: only ``hybridize(False)`` does not raise."""
        for _, child in children(self):
            child.hybridize(active, **kwargs)

    def train(self, mode: bool = True) -> "Block":
        """Ends what ``eval()`` began: layers behave as ``autograd.record`` and its like say again."""
        return _pinned(self, None if mode else False)

    def eval(self) -> "Block":
        """Pins the block and all below it to predict mode, also inside of ``record()``, until ``train()``."""
        return _pinned(self, False)

    # Files.

    def save_parameters(self, filename: PathLike, deduplicate: bool = False) -> None:
        """Saves all values by attribute path: as safetensors, or as MXNet's ``.params`` or ``.npz`` by the file's name.

        A shared parameter is saved under each of its paths, with ``deduplicate`` under the last only.
        """
        found = saved(self)
        _serialization.save(filename, _serialization.deduplicated(found) if deduplicate else found, paths=True)

    def load_parameters(
        self,
        filename: PathLike,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        *,
        device: Contexts = None,
    ) -> None:
        """Loads values, from any of the formats. The block need not be initialized; unknown dimensions are told.

        Everything in the file is looked at before anything changes: what is missing, too much, of another shape or
        type raises. ``cast_dtype`` casts the values to the parameters' types, or with ``dtype_source="saved"`` the
        parameters to those in the file.
        """
        options = _serialization.Options(one_of(ctx, device), allow_missing, ignore_extra, cast_dtype, dtype_source)
        _load(self, _serialization.read(filename), f"file '{filename!s}'", options)

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads values from a dict of arrays by attribute path, as ``load_parameters`` does from a file."""
        _check_mapping(self, "load_dict", param_dict)
        options = _serialization.Options(ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)
        _load(self, dict(param_dict), "the dict", options)

    def save_params(self, filename: PathLike) -> None:
        """Gluon's old way to save: full names without the prefix."""
        warnings.warn("save_params is deprecated: use save_parameters", DeprecationWarning, stacklevel=2)
        self.collect_params().save(filename, self.prefix)

    def load_params(
        self, filename: PathLike, ctx: Contexts = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """Gluon's old name of ``load_parameters``."""
        warnings.warn("load_params is deprecated: use load_parameters", DeprecationWarning, stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> NoReturn:
        """MXNet's way to save a network with its compiled graph. There are no compiled graphs yet."""
        raise UnsupportedError(
            f"{self._gluonish.label}: save waits for compiled graphs; save_parameters saves the values"
        )

    def load(self, prefix: str) -> NoReturn:
        """MXNet's way to load what ``save`` saved."""
        raise UnsupportedError(
            f"{self._gluonish.label}: load waits for compiled graphs; load_parameters loads the values"
        )

    # Calls.

    def __call__(self, *args: Any) -> Any:
        mine = self._gluonish
        if mine.guarded:
            return _call_guarded(self, args)
        before = block_enter(mine.label)
        try:
            if args and type(args[0]) is NDArray and args[0]._device != current_device():
                with from_index(args[0]._device):  # where data() of parameters and new arrays are then found
                    return self.forward(*args)
            return self.forward(*args)
        except Exception as error:
            add_place(error, self, before == 0)
            raise
        finally:
            block_exit(before)

    def forward(self, *args: Any) -> Any:
        """Computes the output. Every block defines it."""
        raise UnsupportedError(f"{self._gluonish.label} has no forward: define forward(self, x) in its class")

    def register_forward_pre_hook(self, hook: "Callable[[Block, tuple[Any, ...]], object]") -> HookHandle:
        """Calls ``hook(block, inputs)`` before each forward. The handle's ``detach()`` ends it."""
        return _registered(self, "register_forward_pre_hook", self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: "Callable[[Block, tuple[Any, ...], Any], object]") -> HookHandle:
        """Calls ``hook(block, inputs, output)`` after each forward. The handle's ``detach()`` ends it."""
        return _registered(self, "register_forward_hook", self._forward_hooks, hook)

    def register_backward_hook(self, hook: BackwardHook) -> HookHandle:
        """Calls ``hook(block, input_gradients, output_gradients)`` when backward has gone through a recorded forward.

        Both are tuples, with None for what has no gradient. What the hook returns replaces the gradients of the inputs.
        """
        return _registered(self, "register_backward_hook", self._gluonish.backward_hooks, hook)

    def register_op_hook(self, callback: Callable[..., object], monitor_all: bool = False) -> NoReturn:
        """MXNet's hook into every op of a compiled graph. There are no compiled graphs yet."""
        raise UnsupportedError(
            f"{self._gluonish.label}: register_op_hook waits for compiled graphs, which are not built yet"
        )

    # Text.

    def summary(self, *inputs: Any) -> None:
        """Runs the block once, and prints a table of its layers: shapes, parameters, work and memory."""
        from gluonish.gluon._summary import summarize

        with pause():
            print(summarize(self, inputs))

    def __repr__(self) -> str:
        lines = [f"  ({name}): {_indented(repr(child))}" for name, child in children(self)]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"


def _call_guarded(block: Block, args: tuple[Any, ...]) -> Any:
    """A call with hooks, in a mode that is pinned, or the first one."""
    mine = block._gluonish
    before = block_enter(mine.label)
    training = _core.is_training()
    device = current_device()
    try:
        if args and isinstance(args[0], NDArray):
            _core.set_current_device(args[0]._device)
        if mine.pinned is not None:
            _core.set_training(mine.pinned)
        for hook in list(block._forward_pre_hooks.values()):
            hook(block, args)
        if not mine.settled:
            settle(block, args)
        if mine.backward_hooks:
            output = call_with_backward_hooks(block, list(mine.backward_hooks.values()), args)
        else:
            output = block.forward(*args)
        for hook in list(block._forward_hooks.values()):
            hook(block, args, output)
        return output
    except Exception as error:
        add_place(error, block, before == 0)
        raise
    finally:
        _core.set_training(training)
        _core.set_current_device(device)
        block_exit(before)


def _pinned(block: Block, mode: bool | None) -> Block:
    for _, one in walk(block):
        one._gluonish.pinned = mode
        guard(one)
    return block


def _registered(block: Block, method: str, hooks: dict[int, Any], hook: Any) -> HookHandle:
    if not callable(hook):
        raise ArgumentError(
            f"{block._gluonish.label}: {method}: a hook must be a function, got {hook!r} ({type(hook).__name__})"
        )
    return HookHandle(hooks, hook, partial(guard, block))


def _check_mapping(block: Block, method: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{block._gluonish.label}: {method}: a dict by path is needed, got {type(given).__name__}")


def _load(block: Block, arrays: dict[str, NDArray], source: str, options: _serialization.Options) -> None:
    found = saved(block)
    by_path, called = _serialization.resolved(arrays, found, block.prefix, source)
    _serialization.load(by_path, found, source, options, called)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
