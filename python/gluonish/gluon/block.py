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

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from gluonish import _core
from gluonish._core import NDArray, block_enter, block_exit
from gluonish._files import PathLike
from gluonish._types import ArrayLike, DTypeLike
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon import _naming, _serialization
from gluonish.gluon._aliases import TorchNames
from gluonish.gluon._contained import contained
from gluonish.gluon._hooks import BackwardHook, call_with_backward_hooks
from gluonish.gluon._located import add_place
from gluonish.gluon._parameter import Constant, Contexts, Parameter
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon.utils import HookHandle

__all__ = ["Block"]


class Block(TorchNames):
    """A layer or a network: parameters, other blocks, and a ``forward`` that computes with them.

    Blocks and parameters that are assigned to attributes belong to the block: ``collect_params``, ``initialize``, saving
    and all else that is done with a network reaches them.

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

    _settled = True  # whether nothing is left to do before a forward

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        hint = self._alias()
        full, dictionary = _naming.named(hint, prefix, params)
        self.__dict__.update(
            _prefix=full,
            _name=full.removesuffix("_"),
            _empty_prefix=prefix == "",
            _counters={},  # of the names of blocks that are made in its name_scope()
            _params=dictionary,
            _reg_params={},  # parameters that are attributes
            _children={},
            _contained=set(),  # names of children that plain lists and dicts hold
            _buffers={},
            _passing=set(),  # names of buffers that are not saved
            _forward_hooks={},
            _forward_pre_hooks={},
            _backward_hooks={},
            _pinned=None,  # what eval() or train() pinned: False is predict mode
            _path="",  # from the outermost block that it was registered in; for messages
            _label="",
            _guarded=False,  # whether a call has more to do than forward
        )
        self._guard()
        self._relabel((prefix or "").removesuffix("_") or hint)

    def _alias(self) -> str:
        """What names of this class begin with."""
        return type(self).__name__.lower()

    # Attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_children" not in own:
            if isinstance(value, Block | Parameter):
                raise AttributeError(f"{type(self).__name__}.{name}: call super().__init__() before you assign to it")
        elif isinstance(value, Block):
            self._refuse_other_kind(name, value, Parameter)
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._refuse_other_kind(name, value, Block)
            self._register_parameter(name, value)
        elif name in own and isinstance(own[name], Block | Parameter):
            self._refuse_other_kind(name, value, type(own[name]))
        elif name in own["_buffers"]:
            self._set_buffer(name, value)
            return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        buffers = self.__dict__.get("_buffers")
        if buffers is not None and name in buffers:
            return buffers[name].data()
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        removed = [self._children.pop(name, None), self._buffers.pop(name, None), self._reg_params.pop(name, None)]
        if isinstance(removed[2], Parameter):
            self._params._params.pop(removed[2].name, None)
        if removed[1] is None:
            object.__delattr__(self, name)

    def _refuse_other_kind(self, name: str, value: Any, kind: type) -> None:
        existing = self.__dict__.get(name)
        if isinstance(existing, kind):
            raise ArgumentError(
                f"{self._label}: the attribute '{name}' is a {type(existing).__name__}, and cannot become a "
                f"{type(value).__name__}; del it first"
            )

    def register_child(self, block: "Block", name: str | None = None) -> None:
        """Makes a block a child, as assigning it to an attribute does. Its name is a number if None is given."""
        if not isinstance(block, Block):
            raise ArgumentError(f"{self._label}: a child must be a Block, got {type(block).__name__}")
        name = str(len(self._children)) if name is None else name
        self._children[name] = block
        block._relabel(f"{self._path}.{name}")

    def _register_parameter(self, name: str, parameter: Parameter) -> None:
        """Takes a parameter that is an attribute. One without an owner gets the block's prefix and this name."""
        replaced = self._reg_params.get(name)
        if replaced is not None and replaced is not parameter:
            self._params._params.pop(replaced.name, None)
        if not parameter._named:
            parameter.name, parameter._named = self._params.prefix + name, True
            self._params.update({parameter.name: parameter})
        self._reg_params[name] = parameter

    def _relabel(self, path: str) -> None:
        """Sets the path that messages tell, also below."""
        self.__dict__.update(_path=path, _label=f"{path} ({type(self).__name__})")
        for name, child in self._children.items():
            if child is not self:
                child._relabel(f"{path}.{name}")

    # Buffers.

    def register_buffer(self, name: str, value: ArrayLike, persistent: bool = True) -> None:
        """Makes an array that is no parameter part of the block: it moves, casts and, if persistent, is saved with it.

        ``block.name`` is the array, on several devices that of the current one. Assigning to it writes to every copy.

        >>> net = Block()
        >>> net.register_buffer("steps", [0])
        >>> net.steps += 5
        >>> net.steps.tolist(), dict(net.named_parameters())
        ([5.0], {})
        """
        if name in self._buffers:
            del self._buffers[name]
        elif not name.isidentifier() or hasattr(self, name):
            raise ArgumentError(f"{self._label}: register_buffer: '{name}' is not a name that is free")
        buffer = Constant(self._prefix + name, value)
        buffer.initialize(ctx=buffer.value.ctx)
        self._buffers[name] = buffer
        (self._passing.discard if persistent else self._passing.add)(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        buffer: Constant = self._buffers[name]
        if not any(value is copy for copy in buffer.list_data()):
            buffer.set_data(value)

    # Names.

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return str(self._prefix)

    @property
    def name(self) -> str:
        """The prefix without the line at its end."""
        return str(self._name)

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of children."""
        return self._params  # type: ignore[no-any-return]

    def name_scope(self) -> _naming.NameScope:
        """A ``with`` block in which new blocks and parameters are named as children: ``net0_dense0_weight``."""
        return _naming.NameScope(self)

    # Walking.

    def _kids(self) -> "list[tuple[str, Block]]":
        """The children by name. Those in plain lists and dicts are registered here, as these may have changed."""
        found: dict[str, Any] = {}
        for name, value in list(self.__dict__.items()):
            if isinstance(value, list | tuple | dict) and name not in _OWN:
                found.update(contained(value, name, (Block, Parameter)))
        for name in list(self._contained):
            if found.get(name) is not self._children.get(name):
                self._contained.discard(name)
                self._children.pop(name, None)
        known = {id(child) for child in self._children.values()}
        fresh = {name: one for name, one in found.items() if isinstance(one, Block) and id(one) not in known}
        for name, block in fresh.items():
            self._contained.add(name)
            self.register_child(block, name)
        if fresh:
            self._warn_of_containers(fresh)
        for name, one in found.items():
            if isinstance(one, Parameter) and not one._named:
                one.name, one._named = f"{self._params.prefix}{name.replace('.', '_')}", True
                self._params.update({one.name: one})
        return list(self._children.items())

    def _warn_of_containers(self, names: Mapping[str, Any]) -> None:
        warnings.warn(
            f"{self._label}: '{next(iter(names)).partition('.')[0]}' is a plain container with Blocks. They are "
            f"registered as {', '.join(names)}; nn.Sequential or nn.HybridSequential, or register_child(), say so",
            UserWarning,
            stacklevel=4,
        )

    def _walk(self, path: str = "", seen: set[int] | None = None) -> "Iterator[tuple[str, Block]]":
        """The block and all below it, each once, by attribute path."""
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield path, self
            for name, child in self._kids():
                yield from child._walk(f"{path}.{name}" if path else name, seen)

    def _own(self) -> dict[str, Parameter]:
        """Its own parameters by attribute; those that are no attributes by their names without the prefix."""
        known = {id(parameter) for parameter in self._reg_params.values()}
        prefix = self._params.prefix
        others = {n.removeprefix(prefix): p for n, p in self._params.items() if id(p) not in known}
        return {**self._reg_params, **others}

    def _by_path(self, path: str = "", buffers: bool = False) -> Iterator[tuple[str, Parameter]]:
        """Parameters, and buffers that are saved, by attribute path; one with several paths comes several times."""
        kids = self._kids()
        own = self._own()
        if buffers:
            own.update((name, buffer) for name, buffer in self._buffers.items() if name not in self._passing)
        for name, parameter in own.items():
            yield f"{path}.{name}" if path else name, parameter
        for name, child in kids:
            yield from child._by_path(f"{path}.{name}" if path else name, buffers)

    def _saved(self) -> dict[str, Parameter]:
        return dict(self._by_path(buffers=True))

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Gluon 1.x's internal name for parameters by attribute path; libraries for Gluon use it."""
        return dict(self._by_path(prefix))

    def named_parameters(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Parameters by attribute path, ``features.0.weight``: the names that files have.

        A shared parameter comes once, with its first path, unless ``remove_duplicate=False``.
        """
        seen: set[int] = set()
        for path, parameter in self._by_path(prefix):
            if not remove_duplicate or id(parameter) not in seen:
                seen.add(id(parameter))
                yield path, parameter

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of the block and of all below it by full name, or those whose names match a pattern.

        >>> net = Block(prefix="net_")
        >>> net.scale, net.shift = Parameter(shape=(1,)), Parameter(shape=(1,))
        >>> list(net.collect_params()), list(net.collect_params(".*scale"))
        (['net_scale', 'net_shift'], ['net_scale'])
        """
        pattern = re.compile(select or "")
        found = ParameterDict(self._params.prefix)
        for _, block in self._walk():
            own = block._own().values()
            found.update({parameter.name: parameter for parameter in own if pattern.match(parameter.name)})
        return found

    # Doing something with all.

    def apply(self, fn: "Callable[[Block], object]") -> "Block":
        """Calls a function with every block below, and then with the block itself; returns the block."""
        for _, child in self._kids():
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
        self.collect_params().initialize(init, ctx, verbose, force_reinit, device=device)
        if ctx is not None or device is not None:
            for _, block in self._walk():
                for buffer in block._buffers.values():
                    buffer.reset_ctx(ctx, device=device)

    def cast(self, dtype: DTypeLike) -> None:
        """Makes all parameters, and buffers of floating types, another type."""
        for _, child in self._kids():
            child.cast(dtype)
        for parameter in self._own().values():
            parameter.cast(dtype)
        for buffer in self._buffers.values():
            if "float" in str(buffer.dtype):
                buffer.cast(dtype)

    def reset_ctx(self, ctx: Contexts = None, *, device: Contexts = None) -> None:
        """Moves all parameters and buffers to other devices."""
        for _, block in self._walk():
            for parameter in (*block._own().values(), *block._buffers.values()):
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
        owners = dict(self._walk())
        found: list[tuple[Block, str, Parameter]] = []
        for path, parameter in shared.items():
            parent, _, name = path.rpartition(".")
            owner = owners.get(parent)
            if owner is None or name not in owner._reg_params:
                raise ArgumentError(f"{self._label}: share_parameters: there is no parameter '{path}'")
            owner._reg_params[name]._agreed(parameter.shape or owner._reg_params[name].shape or (), "the shared shape")
            found.append((owner, name, parameter))
        for owner, name, parameter in found:
            setattr(owner, name, parameter)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compiles the hybrid blocks below. It is not built yet: only ``hybridize(False)`` does not raise."""
        for _, child in self._kids():
            child.hybridize(active, **kwargs)

    def train(self, mode: bool = True) -> "Block":
        """Ends what ``eval()`` began: layers behave as ``autograd.record`` and its like say again."""
        for _, block in self._walk():
            block.__dict__["_pinned"] = None if mode else False
            block._guard()
        return self

    def eval(self) -> "Block":
        """Pins the block and all below it to predict mode, also inside of ``record()``, until ``train()``."""
        return self.train(False)

    # Files.

    def save_parameters(self, filename: PathLike, deduplicate: bool = False) -> None:
        """Saves all values by attribute path: as safetensors, or as MXNet's ``.params`` or ``.npz`` by the file's name.

        A shared parameter is saved under each of its paths, with ``deduplicate`` under the last only.
        """
        saved = self._saved()
        _serialization.save(filename, _serialization.deduplicated(saved) if deduplicate else saved)

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
        options = _serialization.Options(
            device if ctx is None else ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        )
        self._load(_serialization.read(filename), f"file '{filename!s}'", options)

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
        options = _serialization.Options(ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)
        self._load(dict(param_dict), "the dict", options)

    def _load(self, arrays: dict[str, NDArray], source: str, options: _serialization.Options) -> None:
        saved = self._saved()
        _serialization.load(_serialization.resolved(arrays, saved, self.prefix), saved, source, options)

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
        raise UnsupportedError(f"{self._label}: save waits for compiled graphs; save_parameters saves the values")

    def load(self, prefix: str) -> NoReturn:
        """MXNet's way to load what ``save`` saved."""
        raise UnsupportedError(f"{self._label}: load waits for compiled graphs; load_parameters loads the values")

    # Calls.

    def __call__(self, *args: Any) -> Any:
        if self._guarded:
            return self._call_guarded(args)
        before = block_enter(self._label)
        try:
            return self.forward(*args)
        except Exception as error:
            add_place(error, self)
            raise
        finally:
            block_exit(before)

    def _call_guarded(self, args: tuple[Any, ...]) -> Any:
        """A call with hooks, or in a mode that is pinned."""
        before = block_enter(self._label)
        training = _core.is_training()
        try:
            if self._pinned is not None:
                _core.set_training(self._pinned)
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
            self._prepare(args)
            if self._backward_hooks:
                output = call_with_backward_hooks(self, list(self._backward_hooks.values()), args)
            else:
                output = self.forward(*args)
            for hook in list(self._forward_hooks.values()):
                hook(self, args, output)
            return output
        except Exception as error:
            add_place(error, self)
            raise
        finally:
            _core.set_training(training)
            block_exit(before)

    def _prepare(self, args: tuple[Any, ...]) -> None:
        """What a kind of block does before its forward."""

    def _guard(self) -> None:
        hooks = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks
        self.__dict__["_guarded"] = bool(hooks) or self._pinned is not None or not self._settled

    def forward(self, *args: Any) -> Any:
        """Computes the output. Every block defines it."""
        raise UnsupportedError(f"{self._label} has no forward: define forward(self, x) in its class")

    def register_forward_pre_hook(self, hook: "Callable[[Block, tuple[Any, ...]], object]") -> HookHandle:
        """Calls ``hook(block, inputs)`` before each forward. The handle's ``detach()`` ends it."""
        return HookHandle(self._forward_pre_hooks, hook, self._guard)

    def register_forward_hook(self, hook: "Callable[[Block, tuple[Any, ...], Any], object]") -> HookHandle:
        """Calls ``hook(block, inputs, output)`` after each forward. The handle's ``detach()`` ends it."""
        return HookHandle(self._forward_hooks, hook, self._guard)

    def register_backward_hook(self, hook: BackwardHook) -> HookHandle:
        """Calls ``hook(block, input_gradients, output_gradients)`` when backward has gone through a recorded forward.

        Both are tuples, with None for what has no gradient. What the hook returns replaces the gradients of the inputs.
        """
        return HookHandle(self._backward_hooks, hook, self._guard)

    def register_op_hook(self, callback: Callable[..., object], monitor_all: bool = False) -> NoReturn:
        """MXNet's hook into every op of a compiled graph. There are no compiled graphs yet."""
        raise UnsupportedError(f"{self._label}: register_op_hook waits for compiled graphs, which are not built yet")

    # Text.

    def summary(self, *inputs: Any) -> None:
        """Runs the block once, and prints a table of its layers: shapes, parameters, work and memory."""
        from gluonish.gluon._summary import summarize

        with pause():
            print(summarize(self, inputs))

    def __repr__(self) -> str:
        lines = [f"  ({name}): {_indented(repr(child))}" for name, child in self._kids()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


_OWN = frozenset(Block(prefix="").__dict__)
