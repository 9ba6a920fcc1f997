"""Normalisation of values: by the statistics of the batch, of each sample, or of groups of its channels."""

from typing import Any

from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._types import DTypeLike
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole

__all__ = [
    "BatchNorm",
    "BatchNormReLU",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


def _listed(pairs: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in pairs.items())


class _Norm(HybridBlock):
    """What all of them have: a factor and an offset for each channel."""

    gamma: Any
    beta: Any


def _add_affine(block: _Norm, channels: int, center: bool, scale: bool, gamma: Any, beta: Any) -> None:
    """Gives a norm its gamma and beta. A function, as users' subclasses may have a method of any name."""
    with block.name_scope():
        block.gamma = _channelwise(block, "gamma", channels, gamma, learned=scale)
        block.beta = _channelwise(block, "beta", channels, beta, learned=center)


def _channelwise(block: _Norm, name: str, channels: int, init: Any, learned: bool) -> Any:
    return block.params.get(
        name,
        grad_req="write" if learned else "null",
        shape=(whole(type(block).__name__, "in_channels", channels, 0),),
        init=init,
        allow_deferred_init=True,
        differentiable=learned,
    )


class BatchNorm(_Norm):
    """Channels brought to mean 0 and deviation 1 over the batch, times gamma, plus beta (Ioffe and Szegedy, 2015).

    In training the statistics are those of the batch, and the forward pass writes the running ones, which prediction
    uses: ``running = momentum * running + (1 - momentum) * batch``, with the biased variance. (Torch's momentum of 0.1
    is 0.9 here.) A channel with a single value becomes beta.

    Parameters
    ----------
    axis
        Axis of the channels: 1 for images of layout NCHW, 3 (or -1) for NHWC.
    center, scale
        Whether beta and gamma are learned; else they stay as they are, and gamma counts as 1.
    use_global_stats
        Whether training uses the running statistics too, and leaves them as they are.
    in_channels
        Number of channels; 0 takes it from the first input.

    Input and output ``(batch, in_channels, ...)``. Holds ``gamma``, ``beta``, ``running_mean``, ``running_var``,
    each ``(in_channels,)``; they stay float32 when the layer is cast to a type of 16 bits.

    >>> from gluonish import autograd, nd
    >>> layer = BatchNorm()
    >>> layer.initialize()
    >>> with autograd.train_mode():
    ...     y = layer(nd.array([[1, 10], [3, 30]]))
    >>> [[round(v, 3) for v in row] for row in y.tolist()]
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> [round(v, 3) for v in layer.running_mean.data().tolist()]
    [0.2, 2.0]
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if epsilon < 0:
            raise ArgumentError(f"{type(self).__name__}: epsilon={epsilon} must not be negative")
        self._kwargs: dict[str, Any] = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        _add_affine(self, in_channels, center, scale, gamma_initializer, beta_initializer)
        with self.name_scope():
            self.running_mean = _channelwise(self, "running_mean", in_channels, running_mean_initializer, learned=False)
            self.running_var = _channelwise(
                self, "running_var", in_channels, running_variance_initializer, learned=False
            )

    def cast(self, dtype: DTypeLike) -> None:
        """Casts the parameters, but to a type of 16 bits not: statistics and what they are scaled by need more."""
        super().cast("float32" if dtype_name(dtype) in {"float16", "bfloat16"} else dtype)

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> NDArray:
        y: NDArray = F.BatchNorm(x, gamma, beta, running_mean, running_var, **self._kwargs)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_listed(self._kwargs)}, in_channels={self.gamma.shape[0] or None})"


class BatchNormReLU(BatchNorm):
    """As :class:`BatchNorm`; then what is below 0 becomes 0. Both are done in one pass.

    Input and output ``(batch, in_channels, ...)``.

    >>> from gluonish import autograd, nd
    >>> layer = BatchNormReLU()
    >>> layer.initialize()
    >>> with autograd.train_mode():
    ...     [[round(v, 3) for v in row] for row in layer(nd.array([[1, 10], [3, 30]])).tolist()]
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> NDArray:
        y: NDArray = F.contrib.BatchNormWithReLU(x, gamma, beta, running_mean, running_var, **self._kwargs)
        return y


class SyncBatchNorm(BatchNorm):
    """As :class:`BatchNorm` along axis 1, where the statistics are those of the batches of several devices together.

    Parameters
    ----------
    num_devices
        How many devices share a batch; all that the parameters are on when None.

    Call it for every device before reading a result, and ``backward`` for every one before reading a gradient. Input
    and output ``(batch of a device, in_channels, ...)``.

    >>> from gluonish import nd
    >>> layer = SyncBatchNorm()
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        if num_devices is not None:
            whole("SyncBatchNorm", "num_devices", num_devices)
        statistics = (beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer)
        how = (momentum, epsilon, center, scale, use_global_stats)
        super().__init__(1, *how, *statistics, in_channels, prefix, params)
        del self._kwargs["axis"]
        self.__num_devices = num_devices

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> NDArray:
        # The layer's own identity, so that layers of equal names do not meet.
        key = f"{self.prefix}{id(self)}"
        devices = self.__num_devices or len(self.gamma.list_ctx())
        states = (running_mean, running_var)
        y: NDArray = F.contrib.SyncBatchNorm(x, gamma, beta, *states, ndev=devices, key=key, **self._kwargs)
        return y

    def infer_shape(self, *args: Any) -> None:
        for parameter in (self.gamma, self.beta, self.running_mean, self.running_var):
            parameter.shape = args[0].shape[1:2]


class LayerNorm(_Norm):
    """Values along an axis brought to mean 0 and deviation 1, times gamma, plus beta (Ba et al., 2016).

    Parameters
    ----------
    axis
        The axis; the last one as a rule.
    center, scale
        Whether beta and gamma are learned; else they stay as they are.
    in_channels
        Size of the axis; 0 takes it from the first input.

    Input and output have the same shape, any. Holds ``gamma`` and ``beta``, each ``(in_channels,)``.

    >>> from gluonish import nd
    >>> layer = LayerNorm()
    >>> layer.initialize()
    >>> [round(v, 3) for v in layer(nd.array([[1, 2, 3]])).tolist()[0]]
    [-1.225, 0.0, 1.225]
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        _add_affine(self, in_channels, center, scale, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        y: NDArray = F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_listed(self._kwargs)}, in_channels={self.gamma.shape[0]})"


class InstanceNorm(_Norm):
    """Each channel of each sample brought to mean 0 and deviation 1, times gamma, plus beta (Ulyanov et al., 2016).

    Parameters
    ----------
    axis
        Axis of the channels.
    center, scale
        Whether beta and gamma are learned; else they stay as they are.
    in_channels
        Number of channels; 0 takes it from the first input.

    Input and output ``(batch, in_channels, ...)``, of at least three axes. Holds ``gamma`` and ``beta``, each
    ``(in_channels,)``.

    >>> from gluonish import nd
    >>> layer = InstanceNorm()
    >>> layer.initialize()
    >>> [round(v, 3) for v in layer(nd.array([[[1, 3]]])).tolist()[0][0]]
    [-1.0, 1.0]
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        _add_affine(self, in_channels, center, scale, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        y: NDArray
        if self._axis == 1:
            y = F.InstanceNorm(x, gamma, beta, eps=self._epsilon)
        else:
            moved = F.swapaxes(x, dim1=1, dim2=self._axis)
            y = F.swapaxes(F.InstanceNorm(moved, gamma, beta, eps=self._epsilon), dim1=1, dim2=self._axis)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_listed(self._kwargs)}, in_channels={self.gamma.shape[0]})"


class GroupNorm(_Norm):
    """Groups of channels of each sample brought to mean 0 and deviation 1, then channels times gamma, plus beta (Wu and
    He, 2018).

    Parameters
    ----------
    num_groups
        Number of groups, which divides that of the channels.
    center, scale
        Whether beta and gamma are learned; else they stay as they are.
    in_channels
        Number of channels; 0 takes it from the first input.

    Input and output ``(batch, in_channels, ...)``. Holds ``gamma`` and ``beta``, each ``(in_channels,)``. Files
    of MXNet 1.x, which have a gamma and a beta for each group, load into a layer whose ``in_channels`` is 0, and work.

    >>> from gluonish import nd
    >>> layer = GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 4, 5, 5))).shape
    (2, 4, 5, 5)
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
        *,
        in_channels: int = 0,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if whole("GroupNorm", "in_channels", in_channels, 0) % whole("GroupNorm", "num_groups", num_groups):
            raise ArgumentError(f"GroupNorm: num_groups={num_groups} must divide in_channels={in_channels}")
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon = num_groups, epsilon
        _add_affine(self, in_channels, center, scale, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        y: NDArray = F.GroupNorm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_listed(self._kwargs)})"


class RMSNorm(_Norm):
    """Values along an axis divided by the root of their mean square, times gamma (Zhang and Sennrich, 2019).

    Parameters
    ----------
    axis
        The axis; the last one as a rule.
    scale
        Whether gamma is learned; else it stays as it is.
    in_channels
        Size of the axis; 0 takes it from the first input.

    Input and output have the same shape, any. Holds ``gamma (in_channels,)``.

    >>> from gluonish import nd
    >>> layer = RMSNorm()
    >>> layer.initialize()
    >>> [round(v, 3) for v in layer(nd.array([[1, 1, 2]])).tolist()[0]]
    [0.707, 0.707, 1.414]
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-6,
        scale: bool = True,
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        with self.name_scope():
            self.gamma = _channelwise(self, "gamma", in_channels, gamma_initializer, learned=scale)

    def hybrid_forward(self, F: Any, x: NDArray, gamma: NDArray) -> NDArray:
        y: NDArray = F.RMSNorm(x, gamma, axis=self._axis, eps=self._epsilon)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_listed(self._kwargs)}, in_channels={self.gamma.shape[0]})"
