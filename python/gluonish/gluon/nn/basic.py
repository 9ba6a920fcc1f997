"""Layers of fully connected networks, and those that wrap a function."""

from collections.abc import Callable
from math import prod
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish._types import DTypeLike
from gluonish.errors import ArgumentError
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import share, whole
from gluonish.gluon.nn.activations import Activation

__all__ = ["Dense", "DropConnect", "Dropout", "Flatten", "HybridLambda", "Lambda"]


class Dense(HybridBlock):
    """A fully connected layer: ``activation(x @ weight.T + bias)``.

    Parameters
    ----------
    units
        Size of the output.
    activation
        Name of an activation, as :class:`Activation` takes it; None leaves the values as they are.
    flatten
        Whether all axes of the input but the first are one; else the layer works on the last axis alone.
    in_units
        Size of the input; 0 takes it from the first one.

    Input ``(batch, ...)``, output ``(batch, units)``; with ``flatten=False``, ``(..., in_units)`` to ``(..., units)``.
    Holds ``weight (units, in_units)``, ``bias (units,)``.

    >>> from gluonish import nd
    >>> layer = Dense(4, activation="relu")
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3))).shape
    (2, 4)
    >>> layer
    Dense(3 -> 4, Activation(relu))
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name = type(self).__name__
        self._units, in_units = whole(name, "units", units), whole(name, "in_units", in_units, 0)
        self._flatten = flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(self._units, in_units), dtype=dtype, init=weight_initializer, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(units,), dtype=dtype, init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=f"{activation}_") if activation is not None else None

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        y: NDArray = F.FullyConnected(
            x, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten
        )
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        _, in_units = self.weight.shape or (0, 0)
        return f"{type(self).__name__}({in_units or None} -> {self._units}, {self.act or 'linear'})"


class DropConnect(Dense):
    """A fully connected layer that drops weights in training: each becomes 0 with probability ``rate``, and the others
    are divided by ``1 - rate`` (Wan et al., 2013). One draw serves the whole batch. The network that drops whole
    branches, which some papers call by this name too, is :class:`StochasticDepth`.

    Shapes, parameters and other arguments are those of :class:`Dense`.

    >>> from gluonish import nd
    >>> layer = DropConnect(4, rate=0.3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(
        self,
        units: int,
        rate: float = 0.5,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        how = (activation, use_bias, flatten, dtype, weight_initializer, bias_initializer, in_units, prefix, params)
        super().__init__(units, *how)
        self._rate = share("DropConnect", "rate", rate)

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        if self._rate:
            weight = F.Dropout(weight, p=self._rate)
        return super().hybrid_forward(F, x, weight, bias)

    def infer_shape(self, *args: Any) -> None:
        x: NDArray = args[0]
        self.weight.shape = (self._units, prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, p = {self._rate})"


class Dropout(HybridBlock):
    """In training, values become 0 with probability ``rate`` and the others are divided by ``1 - rate``; in prediction
    nothing happens.

    Parameters
    ----------
    axes
        Axes along which values are dropped or kept together: ``(2, 3)`` drops whole channels of images.

    Input and output have the same shape, any.

    >>> from gluonish import autograd, nd
    >>> layer = Dropout(0.5)
    >>> layer(nd.ones(4)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> with autograd.train_mode():
    ...     sorted(set(layer(nd.ones(100)).tolist()))
    [0.0, 2.0]
    """

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._rate = share("Dropout", "rate", rate)
        self._axes = axes

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        if not self._rate:
            return x
        y: NDArray = F.Dropout(x, p=self._rate, axes=self._axes)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Flatten(HybridBlock):
    """All axes but the first become one: ``(batch, a, b, ...)`` to ``(batch, a * b * ...)``.

    >>> from gluonish import nd
    >>> Flatten()(nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.Flatten(x)
        return y

    def __repr__(self) -> str:
        return type(self).__name__


def _checked(layer: str, function: Any) -> Any:
    """A function, or the name of one of `nd`. A name is kept as such, so that the layer can be pickled."""
    if isinstance(function, str):
        if not hasattr(nd, function):
            raise ArgumentError(f"{layer}: gluonish.nd has no function {function!r}")
    elif not callable(function):
        raise ArgumentError(f"{layer}: {function!r} is neither a function nor the name of one in gluonish.nd")
    return function


def _name_of(function: Any) -> str:
    return function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)


class Lambda(Block):
    """A function of arrays as a block.

    Parameters
    ----------
    function
        ``f(*arrays)``, or the name of a function of ``nd``. A layer made of a ``lambda`` cannot be pickled; one made of
        a name, or of a function that a module defines, can.

    Shapes are the function's.

    >>> from gluonish import nd
    >>> Lambda(lambda x: x + 1)(nd.ones(2)).tolist()
    [2.0, 2.0]
    >>> Lambda("tanh")
    Lambda(tanh)
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self.__function = _checked(type(self).__name__, function)

    def forward(self, *args: Any) -> Any:
        function = getattr(nd, self.__function) if isinstance(self.__function, str) else self.__function
        return function(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name_of(self.__function)})"


class HybridLambda(HybridBlock):
    """A function of arrays as a block that can be compiled.

    Parameters
    ----------
    function
        ``f(F, *arrays)``, where F has the functions of ``nd``, or the name of one of these functions.

    Shapes are the function's.

    >>> from gluonish import nd
    >>> HybridLambda(lambda F, x: F.relu(x) * 2)(nd.array([-1, 1])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self.__function = _checked(type(self).__name__, function)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        if isinstance(self.__function, str):
            return getattr(F, self.__function)(x, *args)
        return self.__function(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name_of(self.__function)})"
