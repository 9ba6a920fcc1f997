"""What a sample says: the arrays an op is called with, its attributes, NumPy's answer, and what must go wrong."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
REALS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, "bool")

Shape = tuple[int, ...]


def carrier(dtype: str) -> np.dtype:
    """NumPy's type that holds values of `dtype`: it has no bfloat16."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def to_bfloat16(x: np.ndarray) -> np.ndarray:
    """float32 values rounded to the nearest bfloat16, halves to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits += 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))
    rounded = (bits & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), rounded).astype(np.float32)


def rounded(x: Any, dtype: str) -> np.ndarray:
    """Values as `dtype` can hold them, in its carrier."""
    with np.errstate(all="ignore"):
        x = np.asarray(x).astype(carrier(dtype))
    return to_bfloat16(x) if dtype == "bfloat16" else x


@dataclass(frozen=True)
class Arg:
    """An input: how to make its values."""

    shape: Shape = ()
    low: float = -3.0
    high: float = 3.0
    away: tuple[float, ...] = ()  # points that the values keep a distance from: kinks and poles
    dtype: str | None = None  # None: the type under test
    distinct: bool = False  # no two values alike
    # "whole" numbers, "shares" of 1, "ordered", "even"ly spaced; matrices: "spd" symmetric positive definite,
    # "triangle" far from singular while small, "regular" so for any size, "apart" with singular values far from each
    # other, "mirrored" symmetric with eigenvalues far from each other
    form: str = ""
    number: Any = None  # a Python number instead of an array

    def make(self, dtype: str, rng: np.random.Generator) -> Any:
        if self.number is not None:
            return self.number
        dtype = self.dtype or dtype
        kind = carrier(dtype).kind
        if kind == "b":
            return rng.random(self.shape) < 0.6
        if kind in "iu":
            low = max(self.low, 0) if kind == "u" else self.low
            values = rng.integers(int(np.ceil(low)), max(int(np.floor(self.high)), int(np.ceil(low)) + 1), self.shape)
            return (np.sort(values) if self.form == "ordered" else values).astype(carrier(dtype))
        return rounded(self._reals(rng), dtype)

    def _reals(self, rng: np.random.Generator) -> np.ndarray:
        if self.distinct:
            size = int(np.prod(self.shape))
            x = rng.permutation(np.linspace(self.low, self.high, size)).reshape(self.shape)
        else:
            x = rng.uniform(self.low, self.high, self.shape)
        for point in self.away:
            near = np.abs(x - point) < 0.1
            x = np.where(near, point + np.where(x >= point, 0.1, -0.1), x)
        if self.form == "whole":
            x = np.floor(x)
        if self.form == "shares":
            x = np.abs(x) / np.maximum(np.abs(x).sum(-1, keepdims=True), 1e-30)
        if self.form == "ordered":
            x = np.sort(x)
        if self.form == "even":
            x = np.broadcast_to(np.linspace(self.low, self.high, self.shape[-1]), self.shape)
        if self.form == "spd":
            n = self.shape[-1]
            x = x @ np.swapaxes(x, -1, -2) / max(n, 1) + 2 * np.eye(n)
        if self.form == "triangle":
            x = x / 2 + 3 * np.eye(*self.shape[-2:])
        if self.form == "regular":
            x = x / max(2, self.shape[-1] / 2) + 3 * np.eye(*self.shape[-2:])
        if self.form in {"apart", "mirrored"}:
            x = x / 6 + np.eye(*self.shape[-2:]) * np.arange(2, 2 + 2 * self.shape[-1], 2)
        if self.form == "mirrored":
            x = (x + np.swapaxes(x, -1, -2)) / 2
        return x


def real(*shape: int, low: float = -3.0, high: float = 3.0, **how: Any) -> Arg:
    return Arg(shape, low, high, **how)


def index(*shape: int, n: int, low: int = 0, dtype: str = "int64") -> Arg:
    return Arg(shape, low, n, dtype=dtype, form="whole")


def mask(*shape: int) -> Arg:
    return Arg(shape, dtype="bool")


def number(value: float | bool) -> Arg:
    return Arg(number=value)


@dataclass(frozen=True)
class Bad:
    """A call that must be refused, and words that the message must have."""

    says: tuple[str, ...]
    shapes: tuple[Shape, ...] | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Sample:
    op: str
    args: tuple[Arg, ...]
    ref: Callable[..., Any] | None  # called with NumPy arrays and the attributes; None: see `check`
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ALL
    result: str = "same"  # the rule for the result's type: see `result_type` of the driver
    grad: tuple[int, ...] = ()  # inputs that are differentiated
    rtol: float = 1.0  # factors on the tolerance of the result's type
    atol: float = 0.0  # in units of the type's precision
    edge: tuple[tuple[Shape, ...], ...] = ()  # further shapes of the inputs
    big: tuple[Shape, ...] | None = None  # shapes that several threads share
    bad: tuple[Bad, ...] = ()
    exact: bool = False  # every instruction set gives the same bits
    blocked: bool = False  # shapes are those of the machine's vectors, so that another instruction set refuses them
    special: bool = True  # NaN, infinities and zeros give what the reference gives
    symmetric: bool = False  # the function is only defined for symmetric matrices
    work: str | None = None  # "as is": the reference sees the values in their own types
    check: Callable[..., None] | None = None  # for what has no reference: random numbers
    training: bool = False
    slope_of: Callable[..., Any] | None = None  # what the gradient is that of, where it is another function
    number: int = 0  # among the samples of the op

    @property
    def name(self) -> str:
        return f"{self.op}#{self.number}" if self.number else self.op

    def with_shapes(self, shapes: Sequence[Shape]) -> Sample:
        return replace(self, args=tuple(replace(a, shape=s) for a, s in zip(self.args, shapes, strict=True)))

    def rng(self, salt: int = 0) -> np.random.Generator:
        """The same numbers in every process: no hash of Python's, which differs from run to run."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), salt])

    def make(self, dtype: str, salt: int = 0) -> list[Any]:
        rng = self.rng(salt)
        return [a.make(dtype, rng) for a in self.args]


SEED = 7  # of the random numbers in every call of a row that draws them
SAMPLES: list[Sample] = []
_counts: dict[str, int] = {}


def sample(op: str, *args: Arg, ref: Callable[..., Any] | None, bad: Sequence[Bad] = (), **how: Any) -> Sample:
    """Adds a sample of an op to the table."""
    how["edge"] = tuple(tuple(shapes) for shapes in how.get("edge", ()))
    made = Sample(op, args, ref, bad=tuple(bad), number=_counts.get(op, 0), **how)
    _counts[op] = made.number + 1
    SAMPLES.append(made)
    return made


def refuse(*says: str, shapes: Sequence[Shape] | None = None, dtypes: Sequence[str] | None = None, **attrs: Any) -> Bad:
    """A call with other shapes, types or attributes that must be refused with these words."""
    return Bad(says, tuple(shapes) if shapes is not None else None, attrs, tuple(dtypes) if dtypes else None)


_ONE = (((),), ((0,),), ((1,),), ((7,),), ((2, 0, 3),), ((31, 17),), ((1, 1, 1, 1, 1, 1, 1, 2),))
_TWO = (
    ((), ()), ((0,), (1,)), ((5,), ()), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1)), ((2, 0, 3), (3,)), ((13, 7), (13, 7)),
)  # fmt: skip
_BIG = (3, 70001)


def unary(op: str, ref: Callable[..., Any], low: float = -3.0, high: float = 3.0, **how: Any) -> None:
    """A function of one array, element by element."""
    away = how.pop("away", ())
    how = {"result": "float", "grad": (0,), "edge": _ONE, "big": (_BIG,), **how}
    sample(op, real(2, 3, low=low, high=high, away=away), ref=ref, **how)


def binary(op: str, ref: Callable[..., Any], a: Arg | None = None, b: Arg | None = None, **how: Any) -> None:
    """A function of two arrays that broadcast."""
    no = refuse(op, "cannot broadcast (2, 3) with (4,)", shapes=((2, 3), (4,)))
    how = {"result": "same", "grad": (0, 1), "edge": _TWO, "big": (_BIG, (70001,)), "bad": [no], **how}
    sample(op, a or real(2, 3), b or real(2, 3), ref=ref, **how)
