"""Activations: functions of each value by itself."""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.init import Constant

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "Mish", "PReLU", "SiLU", "Swish"]

# Where an activation is found: most are functions of their own, the others are of one that knows several by name.
_FUNCTIONS = ("relu", "sigmoid", "tanh", "softsign", "log_sigmoid", "gelu", "silu", "mish")
_CHOICES = {"softrelu": "Activation", "gelu_tanh": "LeakyReLU", "selu": "LeakyReLU"}
# The slope that Gluon's PReLU begins with.
_QUARTER = Constant(0.25)


class Activation(HybridBlock):
    """An activation by its name.

    Parameters
    ----------
    activation
        'relu', 'sigmoid', 'tanh', 'softsign', 'log_sigmoid', 'gelu', 'silu', 'mish', 'softrelu' (``log(1 + exp(x))``),
        'gelu_tanh' (the approximation of 'gelu') or 'selu'.

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> Activation("relu")(nd.array([-1, 2])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, activation: str, prefix: str | None = None, params: Any = None) -> None:
        if activation not in _FUNCTIONS and activation not in _CHOICES:
            known = ", ".join((*_FUNCTIONS, *_CHOICES))
            raise ArgumentError(f"Activation: there is no activation {activation!r}; choose one of {known}")
        self._act_type = activation
        super().__init__(prefix=prefix, params=params)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        name = self._act_type
        y: NDArray = getattr(F, _CHOICES[name])(x, act_type=name) if name in _CHOICES else getattr(F, name)(x)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """``x`` above 0, else ``alpha * x``.

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> LeakyReLU(0.5)(nd.array([-1, 2])).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, alpha: float, prefix: str | None = None, params: Any = None) -> None:
        if alpha < 0:
            raise ArgumentError(f"LeakyReLU: alpha={alpha} must not be negative")
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.LeakyReLU(x, act_type="leaky", slope=self._alpha)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """``x`` above 0, else ``alpha * x``, where alpha is learned (He et al., 2015).

    Parameters
    ----------
    in_channels
        1 for one slope, or the size of axis 1 for a slope of each channel.

    Input and output have the same shape, any. Holds ``alpha (in_channels,)``.

    >>> from gluonish import nd
    >>> layer = PReLU()
    >>> layer.initialize()
    >>> layer(nd.array([-1, 2])).tolist()
    [-0.25, 2.0]
    """

    def __init__(
        self,
        alpha_initializer: Any = _QUARTER,
        in_channels: int = 1,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, alpha: NDArray) -> NDArray:
        y: NDArray = F.LeakyReLU(x, alpha, act_type="prelu")
        return y


class ELU(HybridBlock):
    """``x`` above 0, else ``alpha * (exp(x) - 1)`` (Clevert et al., 2016).

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in ELU()(nd.array([-1, 2])).tolist()]
    [-0.6321, 2.0]
    """

    def __init__(self, alpha: float = 1.0, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.LeakyReLU(x, act_type="elu", slope=self._alpha)
        return y


class SELU(HybridBlock):
    """An ELU whose constants keep mean 0 and variance 1 from layer to layer (Klambauer et al., 2017).

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in SELU()(nd.array([-1, 2])).tolist()]
    [-1.1113, 2.1014]
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.LeakyReLU(x, act_type="selu")
        return y


class GELU(HybridBlock):
    """``x`` times the share of a normal distribution below it (Hendrycks and Gimpel, 2016).

    Parameters
    ----------
    approximation
        'erf' for the exact value, 'tanh' for the approximation that GPT-2 was trained with. Torch's word 'none' means
        'erf'.

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in GELU()(nd.array([-1, 2])).tolist()]
    [-0.1587, 1.9545]
    """

    def __init__(self, approximation: str = "erf", prefix: str | None = None, params: Any = None) -> None:
        if approximation not in {"erf", "none", "tanh"}:
            raise ArgumentError(f"GELU: approximation={approximation!r} must be 'erf' (exact) or 'tanh'")
        super().__init__(prefix=prefix, params=params)
        self.__act_type = "gelu_tanh" if approximation == "tanh" else "gelu"

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.LeakyReLU(x, act_type=self.__act_type)
        return y


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)`` (Ramachandran et al., 2017).

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in Swish(beta=2.0)(nd.array([-1, 2])).tolist()]
    [-0.1192, 1.964]
    """

    def __init__(self, beta: float = 1.0, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.silu(x) if self._beta == 1 else x * F.sigmoid(x * self._beta)
        return y


class SiLU(HybridBlock):
    """``x * sigmoid(x)``: :class:`Swish` with ``beta=1``.

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in SiLU()(nd.array([-1, 2])).tolist()]
    [-0.2689, 1.7616]
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.silu(x)
        return y


class Mish(HybridBlock):
    """``x * tanh(log(1 + exp(x)))`` (Misra, 2019).

    Input and output have the same shape, any.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in Mish()(nd.array([-1, 2])).tolist()]
    [-0.3034, 1.944]
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.mish(x)
        return y
