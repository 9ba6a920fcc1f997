"""The tree that a network is: what belongs to a block, under which names, and how all of it is found."""

import re
from collections.abc import Iterator
from typing import Any

from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError
from gluonish.gluon import _naming
from gluonish.gluon._full_names import full_names
from gluonish.gluon._other_names import in_mxnet
from gluonish.gluon._parameter import Constant, Parameter
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon._state import State, Stateful, guard, place, unmade
from gluonish.gluon._walk import GLUONS, by_path, holds, own_parameters, walk

__all__ = ["Tree"]


class _BufferAttribute:
    """An attribute of the blocks of a class that have a buffer of this name: its array, on the current device."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, block: Any, _: type) -> Any:
        if block is None:
            return self
        buffer = block._gluonish.buffers.get(self._name)
        if buffer is None:
            raise AttributeError(f"'{type(block).__name__}' object has no attribute '{self._name}'")
        return buffer.data()


class Tree(Stateful):
    """What a block owns: children, parameters and buffers, which are its attributes."""

    _prefix: str = unmade()
    _name: str = unmade()
    _empty_prefix: bool
    _params: ParameterDict = unmade()
    _reg_params: dict[str, Parameter]  # those that are attributes
    _children: dict[str, Any] = unmade()

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        if not isinstance(prefix, str | None):
            raise ArgumentError(
                f"{type(self).__name__}: prefix must be a str, got {type(prefix).__name__}; give blocks to add()"
            )
        if not isinstance(params, ParameterDict | None):
            raise ArgumentError(
                f"{type(self).__name__}: params must be a ParameterDict, as other.params is one, got "
                f"{type(params).__name__}"
            )
        hint = self._alias()
        full, dictionary = _naming.named(hint, prefix, params)
        self.__dict__.update(
            _prefix=full,
            _name=full.removesuffix("_"),
            _empty_prefix=prefix == "",
            _params=dictionary,
            _reg_params={},
            _children={},
            _gluonish=State((prefix or "").removesuffix("_") or hint),
        )
        place(self)

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
            _refuse_other_kind(self, name, value, Parameter)
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            _refuse_other_kind(self, name, value, Tree)
            _register_parameter(self, name, value)
        elif name in own and isinstance(own[name], Tree | Parameter):
            _refuse_other_kind(self, name, value, type(own[name]))
        elif name in self._gluonish.buffers:
            _set_buffer(self._gluonish.buffers[name], value)
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._children.pop(name, None)
        parameter = self._reg_params.pop(name, None)
        if parameter is not None:
            self._params._params.pop(parameter.name, None)
        if self._gluonish.buffers.pop(name, None) is None:
            object.__delattr__(self, name)

    def register_child(self, block: "Any", name: str | None = None) -> None:
        """Makes a block a child, as assigning it to an attribute does. Its name is a number if None is given."""
        if not isinstance(block, Tree):
            raise ArgumentError(f"{self._gluonish.label}: a child must be a Block, got {type(block).__name__}")
        if holds(block, self):
            raise ArgumentError(
                f"{self._gluonish.label}: {block._gluonish.label} cannot be its child: it would be below itself"
            )
        name = str(len(self._children)) if name is None else name
        self._children[name] = block
        place(block, self, name)

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
        mine = self._gluonish
        if name in mine.buffers:
            del mine.buffers[name]
        elif not str(name).isidentifier() or hasattr(self, name):
            raise ArgumentError(f"{mine.label}: register_buffer: {name!r} is not a name that is free")
        buffer = Constant(self._prefix + name, value)
        buffer.initialize(ctx=buffer.value.ctx)
        mine.buffers[name] = buffer
        _expose(self, name)
        (mine.passing.discard if persistent else mine.passing.add)(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in self._gluonish.buffers:
            _expose(self, name)

    def __copy__(self) -> "Tree":
        """A block with the same children, parameters and buffers, which get and lose others apart from this one."""
        made = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            made.__dict__[name] = value.copy() if name in GLUONS else value
        made.__dict__["_gluonish"] = self._gluonish.copied()
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

    # Parameters.

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Gluon 1.x's internal name for parameters by the names in its files; libraries for Gluon use it."""
        found = dict(by_path(self, prefix))
        return {in_mxnet(path, found): parameter for path, parameter in found.items()}

    def named_parameters(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Parameters by attribute path, ``features.0.weight``: the names that files have.

        A shared parameter comes once, with its first path, unless ``remove_duplicate=False``.
        """
        seen: set[int] = set()
        for path, parameter in by_path(self, prefix):
            if not remove_duplicate or id(parameter) not in seen:
                seen.add(id(parameter))
                yield path, parameter

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of the block and of all below it by full name, or those whose names match a pattern.

        Of several parameters of one name, as copies of blocks have them, the later ones are called after their paths.

        >>> from gluonish.gluon import Block
        >>> net = Block(prefix="net_")
        >>> net.scale, net.shift = Parameter(shape=(1,)), Parameter(shape=(1,))
        >>> list(net.collect_params()), list(net.collect_params(".*scale"))
        (['net_scale', 'net_shift'], ['net_scale'])
        """
        pattern = _pattern(self, select)
        paths = (
            (f"{at}.{name}" if at else name, parameter)
            for at, block in walk(self)
            for name, parameter in own_parameters(block).items()
        )
        named = full_names(paths, self._params.prefix)
        found = ParameterDict(self._params.prefix)
        found.update({name: parameter for name, (_, parameter) in named.items() if pattern.match(name)})
        return found


def _pattern(block: Tree, select: str | None) -> "re.Pattern[str]":
    try:
        return re.compile(select or "")
    except (re.error, TypeError) as error:
        hint = f"; did you mean '.{select}'?" if isinstance(select, str) and select.startswith("*") else ""
        raise ArgumentError(
            f"{block._gluonish.label}: collect_params: select={select!r} is not a regular expression: {error}{hint}"
        ) from None


def _refuse_other_kind(block: Tree, name: str, value: Any, kind: type) -> None:
    existing = block.__dict__.get(name)
    buffer = name in block._gluonish.buffers
    if buffer or isinstance(existing, kind):
        raise ArgumentError(
            f"{block._gluonish.label}: the attribute '{name}' is a {'buffer' if buffer else type(existing).__name__}, "
            f"and cannot become a {type(value).__name__}; del it first"
        )


def _register_parameter(block: Tree, name: str, parameter: Parameter) -> None:
    """Takes a parameter that is an attribute. One without an owner gets the block's prefix and this name."""
    replaced = block._reg_params.get(name)
    if replaced is not None and replaced is not parameter:
        block._params._params.pop(replaced.name, None)
    if not parameter._named:
        parameter.name, parameter._named = block._params.prefix + name, True
        block._params.update({parameter.name: parameter})
    block._reg_params[name] = parameter
    block._gluonish.settled = False
    guard(block)


def _set_buffer(buffer: Constant, value: Any) -> None:
    if not any(value is copy for copy in buffer.list_data()):  # `block.steps += 1` has written it already
        buffer.set_data(value)


def _expose(block: Tree, name: str) -> None:
    """Lets a buffer be found as an attribute, by its class: a ``__getattr__`` would make all attributes slow."""
    if not isinstance(type(block).__dict__.get(name), _BufferAttribute):
        setattr(type(block), name, _BufferAttribute(name))
