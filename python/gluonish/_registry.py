"""Classes of one kind by name: initializers, metrics, and whatever else users may name in a string."""

import json
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from gluonish.errors import ArgumentError

__all__ = ["Registry"]

T = TypeVar("T")
Class = TypeVar("Class", bound=type)


class Registry(Generic[T]):
    """The classes of one kind. Names are not case-sensitive; a class is known by its own and by its aliases.

    >>> class Colour: ...
    >>> colours = Registry("colour", Colour)
    >>> @colours.register
    ... class Red(Colour): ...
    >>> isinstance(colours.create("red"), Red)
    True
    >>> colours.create("rde")
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: 'rde' is not the name of a colour; did you mean 'red'?
    """

    def __init__(self, kind: str, base: type[T]) -> None:
        self._kind, self._base = kind, base
        self._one = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        self._classes: dict[str, type[T]] = {}
        #: The classes by name, for reading.
        self.classes: Mapping[str, type[T]] = MappingProxyType(self._classes)

    def names(self) -> list[str]:
        """All names, aliases too, in alphabetical order."""
        return sorted(self._classes)

    def register(self, klass: Class, *aliases: str) -> Class:
        """Makes a class known by its name; also a decorator. A name that is taken changes hands, with a warning."""
        given: object = klass
        if not (isinstance(given, type) and issubclass(given, self._base)):
            raise ArgumentError(f"register: {klass!r} is not valid: expected a class that is a {self._base.__name__}")
        for name in (klass.__name__, *aliases):
            before = self._classes.get(name.lower())
            if before is not None and before is not given:
                warnings.warn(
                    f"the {self._kind} {name.lower()!r} is now {klass.__module__}.{klass.__qualname__}, "
                    f"it was {before.__module__}.{before.__qualname__}",
                    UserWarning,
                    stacklevel=3,
                )
            self._classes[name.lower()] = given
        return klass

    def alias(self, *aliases: str) -> Callable[[Class], Class]:
        """The decorator that registers a class under more names than its own."""

        def decorate(klass: Class) -> Class:
            return self.register(klass, *aliases)

        return decorate

    def find(self, name: str) -> type[T]:
        """The class of a name."""
        found = self._classes.get(name.lower())
        if found is None:
            from difflib import get_close_matches

            close = get_close_matches(name.lower(), self.names(), n=3)
            known = "did you mean " if close else "there are "
            hint = f"{known}{', '.join(map(repr, close or self.names()))}{'?' if close else ''}"
            raise ArgumentError(f"{name!r} is not the name of {self._one}; {hint}")
        return found

    def create(self, given: Any, *args: Any, **kwargs: Any) -> T:
        """An instance: the one that was given, or one by its name, or by the JSON of ``[name, arguments]``."""
        if isinstance(given, self._base):
            if args or kwargs:
                raise ArgumentError(f"{given!r} is made already, so it takes no arguments: {kwargs or args}")
            return given
        if isinstance(given, str) and given.lstrip().startswith("["):
            given, stored = self._parsed(given)
            kwargs = {**stored, **kwargs}
        if not isinstance(given, str):
            raise ArgumentError(f"{given!r} is not {self._one}: expected an instance, a name or the JSON of one")
        return self.find(given)(*args, **kwargs)

    def _parsed(self, text: str) -> tuple[str, dict[str, Any]]:
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
        match parsed:
            case [str(name)]:
                return name, {}
            case [str(name), Mapping() as arguments]:
                return name, dict(arguments)
        raise ArgumentError(f"{text!r} is not the JSON of {self._one}: expected [name, arguments]")
