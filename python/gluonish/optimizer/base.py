"""What all optimizers are: learning rates and decays of each weight, counts of updates, states, names."""

import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn, TypeVar

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish._registry import Registry
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.lr_scheduler import LRScheduler
from gluonish.optimizer._groups import Groups
from gluonish.optimizer._operands import NARROW, Factors

__all__ = ["REGISTRY", "Optimizer", "create", "number", "register"]

Class = TypeVar("Class", bound=type)


class Optimizer:
    """The base of all optimizers.

    One of your own overrides ``create_state(index, weight)``, and either ``update(index, weight, grad, state)`` for one
    weight (Gluon 1's form) or ``step(indices, weights, grads, states)`` for all at once (Gluon 2's). What those write
    to a weight is as good as the gradient: optimizers of this package leave weights alone where a gradient has failed.

    Parameters
    ----------
    rescale_grad
        A factor of the gradients; often one over the size of the batch. It may be an array of one number, which nobody
        waits for: a step whose factor is infinite or NaN changes nothing, which is how one that overflowed is skipped.
    param_idx2name
        Names of weights by their indices. With it, weights whose names do not end with ``_weight`` or ``_gamma`` do not
        decay, as in MXNet's ``Module``.
    wd
        Weight decay.
    clip_gradient
        Bound of the size of each rescaled gradient's element; None or 0: none.
    learning_rate
        None: that of ``lr_scheduler``, or 0.01. Where both are given, it becomes the ``base_lr`` of the scheduler.
    lr_scheduler
        Gives the learning rate of update 1, 2, ...
    sym
        MXNet's symbols, which are not built yet.
    begin_num_update
        How many updates count as done.
    multi_precision
        Whether weights of float16 and bfloat16 are computed in float32, with a copy in float32 that is kept.
    param_dict
        Parameters by index, for their names, ``lr_mult`` and ``wd_mult``; ``Trainer`` gives it.
    clip_global_norm
        Bound of the norm of all rescaled gradients of a call together. A norm that is not finite skips the step.
    param_groups
        Factors by name: ``[{"match": ".*bias", "lr_mult": 2, "wd_mult": 0}]``. All groups whose pattern matches the
        beginning of a name count, and one that matches none is refused.
    no_decay
        "norms_and_biases": no decay of biases, gammas, betas and other weights of fewer than two axes.

    >>> import gluonish as mx
    >>> class Signs(mx.optimizer.Optimizer):
    ...     def update(self, index, weight, grad, state):
    ...         self._update_count(index)
    ...         weight -= self._get_lr(index) * grad.sign()
    >>> w = mx.nd.array([1.0, 2.0])
    >>> update = mx.optimizer.get_updater(Signs(learning_rate=0.5))
    >>> update(0, mx.nd.array([3.0, -3.0]), w)
    >>> w.tolist()
    [0.5, 2.5]
    """

    #: Classes of optimizers by their names in small letters, as `register` makes them known.
    opt_registry: "ClassVar[Mapping[str, type[Optimizer]]]"

    #: Whether it needs a function that computes the loss once more, as `LBFGS` does: see its ``minimize``.
    needs_closure = False

    def __init__(
        self,
        rescale_grad: float | NDArray = 1.0,
        param_idx2name: Mapping[Hashable, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Hashable, Any] | None = None,
        *,
        clip_global_norm: float | None = None,
        param_groups: Sequence[Mapping[str, Any]] | None = None,
        no_decay: str | None = None,
    ) -> None:
        if sym is not None:
            raise UnsupportedError(f"{self._name}: sym waits for symbols, which are not built yet")
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise ArgumentError(f"{self._name}: param_idx2name must be a dict of names, got {param_idx2name!r}")
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if learning_rate is not None:
            learning_rate = self._number("learning_rate", learning_rate)
        if learning_rate is None:
            learning_rate = 0.01 if lr_scheduler is None else lr_scheduler.base_lr
        elif lr_scheduler is not None and lr_scheduler.base_lr != learning_rate:
            warnings.warn(
                f"{self._name}: learning_rate={learning_rate} becomes the base_lr of the lr_scheduler, "
                f"which was {lr_scheduler.base_lr}",
                UserWarning,
                stacklevel=3,
            )
            lr_scheduler.base_lr = learning_rate
        self.lr = self._number("learning_rate", learning_rate)
        self.wd = self._number("wd", wd)
        self.clip_gradient = None if clip_gradient is None else self._number("clip_gradient", clip_gradient)
        self.clip_global_norm = None if clip_global_norm is None else self._number("clip_global_norm", clip_global_norm)
        if self.clip_global_norm == 0:
            raise ArgumentError(f"{self._name}: clip_global_norm=0 would stop all training; None is no bound")
        self.begin_num_update = self.num_update = int(self._number("begin_num_update", begin_num_update))
        self.multi_precision = multi_precision
        self.idx2name = dict(param_idx2name or {})
        self.param_dict: Mapping[Hashable, Any] = param_dict or {}
        self._groups = Groups(param_groups or (), no_decay, self._name)
        self._all_index_update_counts: dict[int, dict[Hashable, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self._factors = Factors()
        self.lr_mult: dict[Hashable, float] = {}
        self.wd_mult: dict[Hashable, float] = {}
        self.set_wd_mult({})
        self._check_groups()

    def _check_groups(self) -> None:
        """Looks at the patterns of groups once there are names."""
        names = [known.name for known in self.param_dict.values()] or list(self.idx2name.values())
        if names:
            self._groups.check(names)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _number(self, name: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
        return number(f"{self._name}: {name}", value, low, high)

    # Names.

    @staticmethod
    def register(klass: Class) -> Class:
        """Makes a class known to `create`, by its name in small letters. A decorator.

        >>> @Optimizer.register
        ... class Still(Optimizer):
        ...     def step(self, indices, weights, grads, states):
        ...         self._update_count(indices)
        >>> create("still").learning_rate
        0.01
        """
        return REGISTRY.register(klass)

    @staticmethod
    def create_optimizer(name: "str | Optimizer", **kwargs: Any) -> "Optimizer":
        """The optimizer of a name, as `create` gives it."""
        return create(name, **kwargs)

    # States and steps.

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        """What is kept beside a weight: None, an array, or a tuple of such. Called once for each weight."""
        return None

    def _state_type(self, weight: NDArray) -> Any:
        """The type of what ``create_state`` makes, for states that go on after a cast."""
        return weight.dtype

    def create_state_multi_precision(self, index: Hashable, weight: NDArray) -> Any:
        """The state of a weight; with ``multi_precision``, of a narrow one: its copy in float32, and the copy's state.

        >>> import gluonish as mx
        >>> adam = mx.optimizer.Adam(multi_precision=True)
        >>> master, (mean, var) = adam.create_state_multi_precision(0, mx.nd.ones(2, dtype="float16"))
        >>> master.dtype, mean.dtype
        (dtype('float32'), dtype('float32'))
        """
        if self._has_master(weight):
            master = weight.astype("float32").detach()
            return self._joined(master, self.create_state(index, master))
        if str(weight.dtype) in NARROW:
            warnings.warn(
                f"{self._name}: sums in {weight.dtype} can lead to poor accuracy or slow convergence. Consider "
                "multi_precision=True, which computes in float32",
                UserWarning,
                stacklevel=2,
            )
        return self.create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Changes a weight, and its state, by its gradient; or all of lists of these, in one call."""
        with pause(), self._counted():
            self.step(*_lists(index, weight, grad, state))

    def step(
        self, indices: Sequence[Hashable], weights: Sequence[NDArray], grads: Sequence[NDArray], states: Sequence[Any]
    ) -> None:
        """Changes weights by their gradients. It counts the updates by ``self._update_count(indices)``."""
        raise UnsupportedError(f"{self._name} has no step: write update(index, weight, grad, state), or step for lists")

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """`update`, with states as `create_state_multi_precision` makes them."""
        indices, weights, grads, states = _lists(index, weight, grad, state)
        masters: list[NDArray | None] = [None] * len(weights)
        inner = states
        if self.multi_precision:
            both = zip(weights, states, strict=True)
            masters = [self._parted(s)[0] if self._has_master(w) else None for w, s in both]
            inner = [s if m is None else self._parted(s)[1] for m, s in zip(masters, states, strict=True)]
        with pause(), self._counted():
            if _steps_masters(type(self)):
                self._step_masters(indices, weights, grads, inner, masters)
            else:
                Optimizer._step_masters(self, indices, weights, grads, inner, masters)

    def _step_masters(
        self,
        indices: list[Hashable],
        weights: list[NDArray],
        grads: list[NDArray],
        states: list[Any],
        masters: list[NDArray | None],
    ) -> None:
        """A step of weights of which some have copies in float32: of the copies, which are then copied back."""
        wide = [w if m is None else m for w, m in zip(weights, masters, strict=True)]
        grads = [g if m is None else g.astype("float32") for g, m in zip(grads, masters, strict=True)]
        if type(self).update is Optimizer.update:
            self.step(indices, wide, grads, states)
        else:  # Gluon 1's form: one at a time
            for each in zip(indices, wide, grads, states, strict=True):
                self.update(*each)
        for weight, master in zip(weights, masters, strict=True):
            if master is not None:
                _core.copy_into(weight, master)

    def _has_master(self, weight: NDArray) -> bool:
        return self.multi_precision and str(weight.dtype) in NARROW

    def _joined(self, master: NDArray, state: Any) -> Any:
        return master, state

    def _parted(self, state: Any) -> tuple[NDArray, Any]:
        """The copy in float32, and the rest of a state."""
        return state[0], state[1]

    def _extra(self) -> Any:
        """What is saved beside the states of weights: numbers, text, arrays, in tuples and dicts."""
        return None

    def _set_extra(self, extra: Any) -> None:
        """Takes what `_extra` gave."""

    # Learning rates and decays.

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        if self.lr_scheduler is None:
            return self.lr
        return self._number(f"the learning rate of update {self.num_update}", self.lr_scheduler(self.num_update))

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate. An optimizer with a scheduler has none to set: that raises UserWarning.

        >>> import gluonish as mx
        >>> sgd = mx.optimizer.SGD()
        >>> sgd.set_learning_rate(0.5)
        >>> sgd.learning_rate
        0.5
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                f"{self._name}: set_learning_rate({lr}) has no effect, because lr_scheduler decides the learning rate; "
                "change the scheduler's base_lr, or make the optimizer without one"
            )
        self.lr = self._number("learning_rate", lr)

    def set_lr_scale(self, args_lrscale: Any) -> NoReturn:
        """MXNet's old name of `set_lr_mult`; it raises DeprecationWarning, as there."""
        raise DeprecationWarning(f"{self._name}: set_lr_scale is not there any more; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: Mapping[Hashable, float]) -> None:
        """Factors of the learning rate, by the index or the name of a weight. They replace those set before."""
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[Hashable, float]) -> None:
        """Factors of the decay, by the index or the name of a weight. They replace those set before."""
        plain = [name for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))]
        self.wd_mult = {**dict.fromkeys(plain, 0.0), **args_wd_mult}

    def _name_of(self, index: Hashable) -> str | None:
        known = self.param_dict.get(index)
        return self.idx2name.get(index) if known is None else known.name

    def _multipliers(self, index: Hashable) -> tuple[float, float]:
        """The factors of learning rate and decay of a weight."""
        known = self.param_dict.get(index)
        if known is not None:
            lr, wd = known.lr_mult, known.wd_mult
        else:
            name = self.idx2name.get(index)
            lr = self.lr_mult.get(index, self.lr_mult.get(name, 1.0))
            wd = self.wd_mult.get(index, self.wd_mult.get(name, 1.0))
        if self._groups:
            more = self._groups.of(index, self._name_of(index), None if known is None else known.shape)
            lr, wd = lr * more[0], wd * more[1]
        return lr, wd

    def _get_lrs(self, indices: Sequence[Hashable]) -> list[float]:
        lr = self.learning_rate
        return [lr * self._multipliers(index)[0] for index in indices]

    def _get_wds(self, indices: Sequence[Hashable]) -> list[float]:
        return [self.wd * self._multipliers(index)[1] for index in indices]

    def _get_lr(self, index: Hashable) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Hashable) -> float:
        return self._get_wds([index])[0]

    def _rates(self, indices: Sequence[Hashable]) -> list[tuple[float, float, float]]:
        """Learning rate, decay and number of the update of each weight."""
        lr, wd, counts = self.learning_rate, self.wd, self._index_update_count
        made = []
        for index in indices:
            by_lr, by_wd = self._multipliers(index)
            made.append((lr * by_lr, wd * by_wd, float(counts[index])))
        return made

    # Counts.

    def _set_current_context(self, device_id: int) -> None:
        """Updates are counted for each device."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Counts an update of a weight, or of each of a list."""
        counts, newest = self._index_update_count, self.num_update
        for one in index if isinstance(index, list | tuple) else (index,):
            count = counts[one] = counts.get(one, self.begin_num_update) + 1
            newest = max(newest, count)
        self.num_update = newest

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """A step that raises has not been one: counts are as before."""
        counts, before, num_update = self._index_update_count, dict(self._index_update_count), self.num_update
        try:
            yield
        except BaseException:
            counts.clear()
            counts.update(before)
            self.num_update = num_update
            raise

    # Copies.

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the parameters, which a trainer gives, and what is made again."""
        kept = {key: value for key, value in vars(self).items() if key not in {"param_dict", "_factors"}}
        return {**kept, "_index_update_count": None, "_current": self._current()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        current = state.pop("_current")
        vars(self).update(state)
        self.param_dict, self._factors = {}, Factors()
        self._set_current_context(current)

    def _current(self) -> int:
        counts = self._all_index_update_counts
        return next(device for device, own in counts.items() if own is self._index_update_count)

    def __repr__(self) -> str:
        return f"{self._name}(learning_rate={self.learning_rate})"


REGISTRY: Registry[Optimizer] = Registry("optimizer", Optimizer)
Optimizer.opt_registry = REGISTRY.classes
register: Callable[[Class], Class] = Optimizer.register


def create(name: str | Optimizer, **kwargs: Any) -> Optimizer:
    """An optimizer by its name, whatever its case.

    >>> import gluonish as mx
    >>> mx.optimizer.create("Adam", learning_rate=0.5)
    Adam(learning_rate=0.5)
    >>> mx.optimizer.create("adma")
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: 'adma' is not the name of an optimizer; did you mean 'adamax', 'adam'? There are: ...
    """
    if not isinstance(name, str | Optimizer):
        raise ArgumentError(f"{name!r} is not an optimizer: expected an instance or a name")
    if isinstance(name, str) and name.lower() not in REGISTRY.names():
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), REGISTRY.names(), n=3)
        hint = f"did you mean {', '.join(map(repr, close))}? " if close else ""
        known = ", ".join(REGISTRY.names())
        raise ArgumentError(f"{name!r} is not the name of an optimizer; {hint}There are: {known}")
    try:
        return REGISTRY.create(name, **kwargs)
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None or isinstance(error, ArgumentError):
            raise
        hint = "did you mean learning_rate? " if unknown[1] == "lr" else ""
        kind = REGISTRY.find(str(name))
        own = f"mx.optimizer.{kind.__name__}" if kind.__module__.startswith("gluonish.") else kind.__qualname__
        raise ArgumentError(f"{name}: there is no argument {unknown[1]!r}; {hint}help({own}) says which are") from None


def _steps_masters(kind: type[Optimizer]) -> bool:
    """Whether a class steps copies in float32 by itself.

    One of the user's that overrides update or step, also that of a built-in optimizer, is asked through these.
    """
    for one in kind.__mro__:
        own = vars(one)
        if "_step_masters" in own:
            return True
        if "step" in own or "update" in own:
            break
    return False


def number(what: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    """A real number that a formula can take."""
    try:
        known = math.nan if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError):
        known = math.nan
    if not low <= known <= high or math.isinf(known):
        bounds = f"of at least {low}" if math.isinf(high) else f"from {low} to {high}"
        raise ArgumentError(f"{what}={value!r} is not valid: expected a number {bounds}")
    return known


def zeros(weight: NDArray) -> NDArray:
    """A state that begins at 0."""
    return nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)


def _lists(index: Any, weight: Any, grad: Any, state: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    if not isinstance(index, list | tuple):
        index, weight, grad, state = [index], [weight], [grad], [state]
    lists = list(index), list(weight), list(grad), list(state)
    if len({len(one) for one in lists}) > 1:
        raise ArgumentError(
            f"update: as many weights, gradients and states as indices are needed, got {[len(one) for one in lists]}"
        )
    for one in (*lists[1], *lists[2]):
        if not isinstance(one, NDArray):
            raise ArgumentError(f"update: weights and gradients must be NDArrays, got {type(one).__name__}")
    return lists
