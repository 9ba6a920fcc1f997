"""The tree that a network is: what belongs to a block, under which names, and how all of it is found."""

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError
from gluonish.gluon import _naming
from gluonish.gluon._contained import contained
from gluonish.gluon._parameter import Constant, Parameter
from gluonish.gluon._parameter_dict import ParameterDict

__all__ = ["Tree"]


class _BufferAttribute:
    """An attribute of the blocks of a class that have a buffer of this name: its array, on the current device."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, block: Any, _: type) -> Any:
        if block is None:
            return self
        buffer = block._buffers.get(self._name)
        if buffer is None:
            raise AttributeError(f"'{type(block).__name__}' object has no attribute '{self._name}'")
        return buffer.data()


class Tree:
    """What a block owns: children, parameters and buffers, which are its attributes."""

    _prefix: str
    _name: str
    _empty_prefix: bool
    _counters: dict[str, int]  # of the names of blocks that are made in its name_scope()
    _params: ParameterDict
    _reg_params: dict[str, Parameter]  # those that are attributes
    _children: dict[str, Any]
    _contained: set[str]  # names of children that plain lists and dicts hold
    _buffers: dict[str, Constant]
    _passing: set[str]  # names of buffers that are not saved
    _path: str  # from the outermost block that it was registered in; for messages
    _label: str  # the same with its class

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        if not isinstance(prefix, str | None):
            raise ArgumentError(
                f"{type(self).__name__}: prefix must be a str, got {type(prefix).__name__}; give blocks to add()"
            )
        hint = self._alias()
        full, dictionary = _naming.named(hint, prefix, params)
        self.__dict__.update(
            _prefix=full,
            _name=full.removesuffix("_"),
            _empty_prefix=prefix == "",
            _counters={},
            _params=dictionary,
            _reg_params={},
            _children={},
            _contained=set(),
            _buffers={},
            _passing=set(),
        )
        self._relabel((prefix or "").removesuffix("_") or hint)

    def _alias(self) -> str:
        """What names of this class begin with."""
        return type(self).__name__.lower()

    # Attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_children" not in own:
            if isinstance(value, Tree | Parameter):
                raise AttributeError(f"{type(self).__name__}.{name}: call super().__init__() before you assign to it")
        elif isinstance(value, Tree):
            self._refuse_other_kind(name, value, Parameter)
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._refuse_other_kind(name, value, Tree)
            self._register_parameter(name, value)
        elif name in own and isinstance(own[name], Tree | Parameter):
            self._refuse_other_kind(name, value, type(own[name]))
        elif name in own["_buffers"]:
            self._set_buffer(name, value)
            return
        object.__setattr__(self, name, value)

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

    def register_child(self, block: "Any", name: str | None = None) -> None:
        """Makes a block a child, as assigning it to an attribute does. Its name is a number if None is given."""
        if not isinstance(block, Tree):
            raise ArgumentError(f"{self._label}: a child must be a Block, got {type(block).__name__}")
        if block._holds(self):
            raise ArgumentError(f"{self._label}: {block._label} cannot be its child: it would be below itself")
        name = str(len(self._children)) if name is None else name
        self._children[name] = block
        block._relabel(f"{self._path}.{name}")

    def _holds(self, block: "Tree") -> bool:
        """Whether a block is this one, or below it."""
        stack = [self]
        while stack:
            one = stack.pop()
            if one is block:
                return True
            stack.extend(one._children.values())
        return False

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
            child._relabel(f"{path}.{name}")

    # Buffers.

    def register_buffer(self, name: str, value: ArrayLike, persistent: bool = True) -> None:
        """Makes an array that is no parameter part of the block: it moves, casts and, if persistent, is saved with it.

        ``block.name`` is the array, on several devices that of the current one. Assigning to it writes to every copy.

        >>> from gluonish.gluon import Block
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
        self._expose(name)
        (self._passing.discard if persistent else self._passing.add)(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        buffer: Constant = self._buffers[name]
        if not any(value is copy for copy in buffer.list_data()):
            buffer.set_data(value)

    def _expose(self, name: str) -> None:
        """Lets a buffer be found as an attribute, by its class: a ``__getattr__`` would make all attributes slow."""
        if not isinstance(type(self).__dict__.get(name), _BufferAttribute):
            setattr(type(self), name, _BufferAttribute(name))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in self._buffers:
            self._expose(name)

    def __copy__(self) -> "Tree":
        """A block with the same children, parameters and buffers, which get and lose others apart from this one."""
        made = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            made.__dict__[name] = value.copy() if name[0] == "_" and isinstance(value, dict | set) else value
        made.__dict__["_params"] = ParameterDict(self._params.prefix, self._params._shared)
        made._params.update(self._params)
        return made

    # Names.

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the line at its end."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of children."""
        return self._params

    def name_scope(self) -> _naming.NameScope:
        """A ``with`` block in which new blocks and parameters are named as children: ``net0_dense0_weight``."""
        return _naming.NameScope(self)

    # Walking.

    def _kids(self) -> "list[tuple[str, Any]]":
        """The children by name."""
        self._adopt()
        return list(self._children.items())

    def _adopt(self) -> None:
        """Registers what plain lists and dicts hold, which may have changed since the last time."""
        found: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if value.__class__ not in _PLAIN and isinstance(value, _CONTAINERS) and value and name not in _INSIDE:
                found.update(contained(value, name, (Tree, Parameter)))
        if not found and not self._contained:
            return
        for name in list(self._contained):
            if found.get(name) is not self._children.get(name):
                self._contained.discard(name)
                self._children.pop(name, None)
        known = {id(child) for child in self._children.values()}
        fresh = {name: one for name, one in found.items() if isinstance(one, Tree) and id(one) not in known}
        for name, block in fresh.items():
            self._contained.add(name)
            self.register_child(block, name)
        if fresh:
            self._warn_of_containers(fresh)
        for name, one in found.items():
            if isinstance(one, Parameter) and not one._named:
                one.name, one._named = f"{self._params.prefix}{name.replace('.', '_')}", True
                self._params.update({one.name: one})

    def _warn_of_containers(self, names: Mapping[str, Any]) -> None:
        warnings.warn(
            f"{self._label}: '{next(iter(names)).partition('.')[0]}' is a plain container with Blocks. They are "
            f"registered as {', '.join(names)}; nn.Sequential or nn.HybridSequential, or register_child(), say so",
            UserWarning,
            stacklevel=4,
        )

    def _walk(self, path: str = "", seen: set[int] | None = None) -> "Iterator[tuple[str, Any]]":
        """The block and all below it, each once, by attribute path."""
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield path, self
            for name, child in self._kids():
                yield from child._walk(f"{path}.{name}" if path else name, seen)

    def _own(self) -> dict[str, Parameter]:
        """Its own parameters by attribute; those that are no attributes by their names without the prefix."""
        self._adopt()
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

        >>> from gluonish.gluon import Block
        >>> net = Block(prefix="net_")
        >>> net.scale, net.shift = Parameter(shape=(1,)), Parameter(shape=(1,))
        >>> list(net.collect_params()), list(net.collect_params(".*scale"))
        (['net_scale', 'net_shift'], ['net_scale'])
        """
        pattern = re.compile(select or "")
        found = ParameterDict(self._params.prefix)
        for _, block in self._walk():
            for parameter in block._own().values():
                if pattern.match(parameter.name):
                    found.update({parameter.name: parameter})
        return found


_CONTAINERS = (list, tuple, dict)
_PLAIN = frozenset({int, float, bool, str, type(None), Parameter})  # what most attributes are, and no container
_INSIDE = frozenset(Tree(prefix="").__dict__)  # containers that are the tree's own
