"""Batch normalisation whose statistics are those of the batches of several devices together."""

from typing import Any

from gluonish import _core, autograd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish._rows import store, store_all
from gluonish.errors import ArgumentError
from gluonish.nd.creation import full

__all__ = ["SyncBatchNorm"]


class _SumOverDevices(autograd.Function):
    """Each device's array becomes the sum of all; and so do the gradients on their way back."""

    def __init__(self, key: str, devices: int, step: int) -> None:
        self.key = key
        self.devices = devices
        self.step = step

    def forward(self, *inputs: NDArray) -> NDArray:
        return _core.sum_over_devices(inputs[0], self.key, self.devices, self.step)

    def backward(self, *output_grads: NDArray) -> Any:
        return _SumOverDevices(f"{self.key} gradient", self.devices, self.step)(output_grads[0].copy())


def SyncBatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str | None = None,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`BatchNorm` along axis 1 of a batch that ``ndev`` devices share: in training, mean and variance are those of all.

    Each device calls it with its own part, and its own copies of the parameters, under one ``key``; the n-th calls of
    all devices belong together. What an earlier ``record`` or ``train_mode`` scope left unfinished, because a call for
    another device failed, is given up when a device calls in a new one. A result is there when every device has called:
    calling for all comes before reading any. So do the gradients: call ``backward`` for all before reading. With
    ``output_mean_var`` the results are three: the output, the mean, and the variance. The serial engine refuses more
    than one device.

    >>> from gluonish import autograd, nd
    >>> state = nd.ones(1), nd.zeros(1), nd.zeros(1), nd.ones(1)
    >>> with autograd.train_mode():
    ...     y, mean, var = nd.contrib.SyncBatchNorm(nd.array([[1], [3]]), *state, key="norm", output_mean_var=True)
    >>> mean.tolist(), [round(v, 4) for v in var.tolist()]
    ([2.0], [1.0])
    """
    if ndev < 1:
        raise ArgumentError(f"SyncBatchNorm: ndev={ndev} must be at least 1")
    if key is None:
        raise ArgumentError("SyncBatchNorm: key must be given: the same name on every device")
    if data.ndim < 2:
        raise ArgumentError(f"SyncBatchNorm: data of shape {data.shape} has no axis 1 for channels")
    if ndev == 1 or use_global_stats or not autograd.is_training():
        how = {"eps": eps, "momentum": momentum, "fix_gamma": fix_gamma, "use_global_stats": use_global_stats}
        inputs = [data, gamma, beta, moving_mean, moving_var]
        y, mean, inverse = _core.invoke("BatchNorm", inputs, {**how, "output_mean_var": True})
        var = inverse**-2 - eps
    else:
        count, mean, var, y = _normalized(data, eps, ndev, key)
        shape = (1, -1) + (1,) * (data.ndim - 2)
        y = ((y if fix_gamma else y * gamma.reshape(shape)) + beta.reshape(shape)).astype(data.dtype)
        with autograd.pause(train_mode=True):
            for moving, new in ((moving_mean, mean), (moving_var, var)):
                # A batch of no values leaves them as they are.
                moved = momentum * moving + (1 - momentum) * new
                commit(moving, _core.invoke("where", [count > 0, moved, moving], {}))
    results = [y, mean.detach(), var.detach()] if output_mean_var else y
    if out is None:
        return results
    return store_all(results, out, "SyncBatchNorm") if output_mean_var else store(y, out, "SyncBatchNorm")


def _normalized(data: NDArray, eps: float, devices: int, key: str) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """The number of values of a channel on all devices, their mean and variance, and the values brought to 0 and 1."""
    x = data if data.dtype == "float64" else data.astype("float32")
    axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    # One for each channel, so that devices which do not agree on these are refused before any has brought something.
    size = full((x.shape[1],), x.size // max(x.shape[1], 1), ctx=x.context, dtype=x.dtype)
    step = _core.training_step()
    count = _core.sum_over_devices(size, f"{key} count", devices, step)
    mean = _SumOverDevices(f"{key} mean", devices, step)(x.sum(axes)) / count
    centred = x - mean.reshape(shape)
    var = _SumOverDevices(f"{key} variance", devices, step)((centred * centred).sum(axes)) / count
    return count, mean, var, centred / (var + eps).sqrt().reshape(shape)
