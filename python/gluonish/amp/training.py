"""Mixed precision on and off, and losses that are scaled for a trainer."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish._scope import Changed
from gluonish.amp.casts import Casts, Conditions, current, switch
from gluonish.amp.loss_scaler import LossScaler
from gluonish.autograd import pause
from gluonish.errors import ArgumentError
from gluonish.gluon._freshness import kept
from gluonish.gluon.trainer import Trainer

__all__ = ["AmpError", "init", "init_trainer", "scale_loss", "unscale"]


class AmpError(ArgumentError, AssertionError):
    """Mixed precision is not on, or not set up for a trainer."""


AmpError.__module__ = "gluonish.amp"


def init(
    target_dtype: object = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Iterable[str] | None = None,
) -> Changed[Casts | None]:
    """Turns mixed precision on, for the process. In a ``with`` statement what was before comes back at its end.

    Parameters
    ----------
    target_dtype
        "float16" or "bfloat16". The second has the range of float32, and needs no scaled loss.
    target_precision_ops, fp32_ops
        More functions, by their names in `nd`, that run in the lower precision or in float32.
    conditional_fp32_ops
        Functions that run in float32 where an argument has one of some values: ``("LeakyReLU", "act_type", ["elu"])``.

    Functions of `nd` and `np` cast, and losses compute in float32; operators and methods of arrays run in the types
    that they are given.

    >>> from gluonish import nd
    >>> with init("bfloat16"):
    ...     nd.dot(nd.ones((2, 2)), nd.ones((2, 2))).dtype, nd.softmax(nd.ones(2, dtype="float16")).dtype
    ('bfloat16', dtype('float32'))
    """
    return Changed(switch, Casts(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops))


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Lets a trainer work with scaled losses: steps whose gradients overflowed are skipped, and the factor adapts.

    With bfloat16 the factor is 1, and stays so. Whether a step was skipped is known on the device alone, as nobody
    waits for it: the optimizer's ``num_update``, and with it schedules and bias corrections, count skipped steps too.
    """
    trainer = _trainer(optimizer_or_trainer, "init_trainer")
    casts = current()
    if casts is None:
        raise AmpError("init_trainer: mixed precision is not on: call amp.init() first")
    trainer._amp_loss_scaler = LossScaler() if casts.dtype == "float16" else LossScaler(1.0, 1.0)


@contextmanager
def scale_loss(loss: NDArray | Sequence[NDArray], optimizer_or_trainer: Trainer) -> Iterator[Any]:
    """Gives the loss, or each of several, times the factor; ``step`` takes that away from the gradients again.

    It stands inside ``autograd.record()``: ``with amp.scale_loss(loss, trainer) as scaled: autograd.backward(scaled)``.
    """
    scaler = _scaler(optimizer_or_trainer, "scale_loss")
    if isinstance(loss, NDArray):
        yield scaler.scale(loss)
    else:
        yield [scaler.scale(one) for one in loss]


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divides the gradients by the factor now, for code that looks at them before ``step``: to clip them, say.

    It stands between ``backward`` and ``step``, once; of several batches that a trainer accumulates, before the last.
    """
    trainer = optimizer_or_trainer
    scaler = _scaler(trainer, "unscale")
    if not scaler.in_use:
        raise AmpError(
            "unscale: the gradients are not multiplied by the factor: since the last step() or unscale() there was no "
            "scale_loss()"
        )
    batch, last = trainer._waiting_batches + 1, trainer._accumulate
    if batch < last:
        raise AmpError(
            f"unscale: this is batch {batch} of {last} of an update, and those to come are added with the factor: call "
            "it before the last step of them alone"
        )
    trained = [parameter for parameter in trainer._params if parameter.grad_req != "null"]
    with pause(), kept(trained):
        for gradient in (gradient for parameter in trained for gradient in parameter.list_grad()):
            _core.copy_into(gradient, gradient * scaler.inverse(gradient.ctx))
    scaler.unscaled()


def _trainer(given: Any, function: str) -> Trainer:
    if not isinstance(given, Trainer):
        raise ArgumentError(f"{function}: a Trainer is needed, got {type(given).__name__}")
    return given


def _scaler(given: Any, function: str) -> LossScaler:
    scaler = _trainer(given, function)._amp_loss_scaler
    if not isinstance(scaler, LossScaler):
        raise AmpError(f"{function}: the trainer does not scale losses: call amp.init_trainer(trainer) first")
    return scaler
