"""Samples: random numbers. What they are distributed like is tested in tests/unit/test_random_distributions.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from ops.sampling import FLOATS, INTS, NUMBERS, SEED, Arg, real, refuse, sample

from gluonish import _core as core

if TYPE_CHECKING:
    from collections.abc import Callable

BIG = (3, 70001)


def within(low: float, high: float) -> Callable[..., None]:
    """Values that cannot be elsewhere, or hardly."""

    def check(y: np.ndarray, shape: Any = None, **attrs: Any) -> None:
        assert shape is None or y.shape == np.empty(shape).shape
        assert ((y >= low) & (y <= high)).all()

    return check


def numbers(op: str, check: Callable[..., None], dtypes: tuple[str, ...], *bad: Any, **attrs: Any) -> None:
    """A row whose parameters are numbers: every type, no dimensions, no values, many values."""
    for dtype in dtypes:
        given = {**attrs, "shape": (3, 5), "dtype": dtype}
        sample(op, ref=None, check=check, dtypes=(dtype,), result=dtype, exact=True, attrs=given, bad=bad)
    dtype = "float32" if "float32" in dtypes else "int32"
    for shape in (None, (0, 2), 7, BIG):
        how = {"ref": None, "check": check, "dtypes": (dtype,), "result": dtype, "exact": True}
        sample(op, attrs={**attrs, "shape": shape}, **how)


def below(high: float) -> Callable[..., None]:
    def check(y: np.ndarray, **attrs: Any) -> None:
        within(attrs["low"], high)(y, attrs.get("shape"))
        assert (y < high).all()

    return check


_whole = refuse("int32", dtype="int32")
numbers("random_uniform", below(2), FLOATS, _whole, refuse("shape", shape=(2, -1)), refuse("low='x'", low="x"),
        refuse("high=-2.0", "at least low", high=-2.0), refuse("low=NaN", low=float("nan")),
        low=-1.0, high=2.0)  # fmt: skip
numbers("random_normal", within(-3, 5), FLOATS, _whole, refuse("scale=-1", scale=-1.0), refuse("loc=inf",
        loc=float("inf")), loc=1.0, scale=0.5)  # fmt: skip
numbers("random_exponential", within(0, 30), FLOATS, _whole, refuse("lam=0", "above 0", lam=0.0), lam=1.5)
numbers("random_gamma", within(0, 90), FLOATS, _whole, refuse("alpha=0", alpha=0.0), refuse("beta=-2", beta=-2.0),
        alpha=2.0, beta=3.0)  # fmt: skip
numbers("_random_beta", within(0, 1), FLOATS, _whole, refuse("b=0", b=0.0), a=0.5, b=3.0)
_bool = refuse("bool", dtype="bool")
numbers("random_poisson", within(0, 60), NUMBERS, _bool, refuse("lam=-1", lam=-1.0), lam=15.0)
numbers("_random_binomial", within(0, 20), NUMBERS, _bool, refuse("p=1.5", "0 to 1", p=1.5), refuse("n=2.5", n=2.5),
        n=20.0, p=0.5)  # fmt: skip
numbers("random_negative_binomial", within(0, 100), NUMBERS, _bool, refuse("p=0", p=0.0), refuse("k=-1", k=-1.0),
        k=3.0, p=0.4)  # fmt: skip
numbers("random_generalized_negative_binomial", within(0, 120), NUMBERS, _bool, refuse("mu=-1", mu=-1.0),
        refuse("alpha=NaN", alpha=float("nan")), mu=5.0, alpha=0.5)  # fmt: skip
numbers("random_randint", within(2, 89), INTS, refuse("float32", dtype="float32"),
        refuse("high=2", "above low", high=2), refuse("int8", "do not fit", high=300, dtype="int8"),
        low=2, high=90)  # fmt: skip


def like(op: str, check: Callable[..., None], counts: bool, **attrs: Any) -> None:
    for dtype in NUMBERS if counts else (*FLOATS, "int32"):
        result = dtype if counts or dtype in FLOATS else "float32"
        how = {"ref": None, "check": check, "dtypes": (dtype,), "result": result, "exact": True, "attrs": attrs}
        sample(op, real(3, 5), big=(BIG,), **how)


like("_random_uniform_like", within(-1, 2), False, low=-1.0, high=2.0)
like("_random_normal_like", within(-3, 5), False, loc=1.0, scale=0.5)
like("_random_exponential_like", within(0, 30), False, lam=1.5)
like("_random_gamma_like", within(0, 90), False, alpha=2.0, beta=3.0)
like("_random_poisson_like", within(0, 60), True, lam=15.0)
like("_random_negative_binomial_like", within(0, 100), True, k=3.0, p=0.4)
like("_random_generalized_negative_binomial_like", within(0, 120), True, mu=5.0, alpha=0.5)


def itself(op: str) -> Callable[..., Any]:
    """The row in float64 after the same seed: other types, layouts and machines give the same numbers, and gradients
    are the slopes of these. The numbers themselves are judged elsewhere."""

    def ref(*values: np.ndarray, **attrs: Any) -> Any:
        inputs = [core.from_buffer(np.ascontiguousarray(v), v.dtype.name, v.shape, 0) for v in values]
        core.seed(SEED, None)
        got = core.invoke(op, inputs, attrs)
        return [core.to_numpy(y) for y in got] if isinstance(got, list) else core.to_numpy(got)

    return ref


_TWO = (((), ()), ((0,), (1,)), ((5,), (1,)), ((3, 1), (1, 4)), ((2, 0, 3), (3,)), ((1,), (13,)))


def arrays(op: str, *args: Arg, **how: Any) -> None:
    """A row whose parameters are arrays: with and without more axes."""
    edge = _TWO if len(args) == 2 else tuple(s[:1] for s in _TWO)
    bad = [refuse("cannot broadcast (2, 3) with (4,)", shapes=((2, 3), (4,)))] if len(args) == 2 else []
    bad += [refuse("shape", shape=(2, -1)), refuse("bool", dtype="bool")]
    how = {"dtypes": (*FLOATS, "int32"), "result": "float", "exact": True, "ref": itself(op), "atol": 4.0, **how}
    sample(op, *args, edge=edge, bad=bad, big=(BIG,) * len(args), **how)
    sample(op, *args, attrs={"shape": (4,)}, edge=edge, **how)
    sample(op, *args, attrs={"shape": (2, 0, 3)}, **how)


arrays("sample_uniform", real(2, 3, low=-3, high=-1), real(2, 3, low=1, high=4), grad=(0, 1))
arrays("sample_normal", real(2, 3), real(2, 3, low=1, high=4), grad=(0, 1))
arrays("sample_exponential", real(2, 3, low=1, high=4), grad=(0,))
arrays("sample_gamma", real(2, 3, low=1, high=4), real(2, 3, low=1, high=4), grad=(1,))
arrays("_sample_beta", real(2, 3, low=1, high=4), real(2, 3, low=1, high=4))
arrays("sample_poisson", real(2, 3, low=1, high=40))
arrays("_sample_binomial", real(2, 3, low=1, high=40, form="whole"), real(2, 3, low=0.1, high=0.9), dtypes=FLOATS)
arrays("sample_negative_binomial", real(2, 3, low=1, high=40), real(2, 3, low=0.1, high=0.9), dtypes=FLOATS)
arrays("sample_generalized_negative_binomial", real(2, 3, low=1, high=40), real(2, 3, low=0, high=4))

for _shape in (None, (3,), (2, 3)):
    for _probabilities in (False, True):
        sample("sample_multinomial", real(2, 5, low=1, high=3, form="shares"), ref=itself("sample_multinomial"),
               attrs={"shape": _shape, "get_prob": _probabilities}, dtypes=FLOATS, exact=True, atol=8.0,
               result="int32 same" if _probabilities else "int32", grad=(0,) if _probabilities else (),
               edge=[((4,),), ((1, 1),), ((0, 3),), ((2, 1, 7),)], big=((501, 401),),
               bad=[refuse("no category", shapes=((2, 0),)), refuse("need an axis", shapes=((),)),
                    refuse("floating", dtypes=("int32",))])  # fmt: skip
sample("sample_multinomial", real(1, 300, low=1, high=3, form="shares"), ref=itself("sample_multinomial"),
       attrs={"dtype": "int64"}, dtypes=("float32",), result="int64", exact=True,
       bad=[refuse("299", "uint8", dtype="uint8"), refuse("bool", dtype="bool")])  # fmt: skip
sample("_np_multinomial", real(5, low=1, high=3, form="shares"), ref=itself("_np_multinomial"),
       attrs={"n": 100, "shape": (4, 3)}, dtypes=FLOATS, result="int64", exact=True, edge=[((1,),), ((200,),)],
       bad=[refuse("n=-1", n=-1), refuse("one row", shapes=((2, 3),)),
            refuse("no category", shapes=((0,),))])  # fmt: skip
for _n in (0, 9, 70001):
    sample("_permutation", ref=None, check=lambda y, n: np.testing.assert_array_equal(np.sort(y), np.arange(n)),
           attrs={"n": _n}, dtypes=("int64",), result="int64", exact=True, bad=[refuse("n=-1", n=-1)])  # fmt: skip
sample("_random_order", real(9, 2), ref=itself("_random_order"), result="int64", exact=True, edge=[((0,),), ((1, 3),)],
       bad=[refuse("no axis", shapes=((),))])  # fmt: skip
sample("shuffle", real(9, 2), ref=itself("shuffle"), grad=(0,), exact=True, edge=[((0,),), ((1, 3),), ((7,),)],
       big=((70001, 3),), bad=[refuse("no axis", shapes=((),))])  # fmt: skip

sample("_at_least", real(2, 3, low=1, high=4), ref=lambda x, least=0.0, reached=True: x, dtypes=(*FLOATS, "int32"),
       result="float", grad=(0,), exact=True, edge=[((),), ((0, 3),), ((7,),)], big=(BIG,),
       bad=[refuse("at position (0, 0)", "of at least 5", least=5.0), refuse("above 5", least=5.0,
            reached=False)])  # fmt: skip

# Densities. Parameters have the leading axes of the sample.
_lgamma = np.vectorize(math.lgamma, otypes=[float])


def density(op: str, ln: Callable[..., Any], sample_arg: Arg, *parameters: Arg, **how: Any) -> None:
    def lifted(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.asarray(p).reshape(p.shape + (1,) * (x.ndim - p.ndim))

    def ref(x: np.ndarray, *ps: np.ndarray, is_log: bool = False) -> Any:
        y = ln(x, *(lifted(x, p) for p in ps)) + np.zeros(x.shape)
        return y if is_log else np.exp(y)

    n = len(parameters)
    edge = [((), *((),) * n), ((0, 4), *((0,),) * n), ((5,), *((5,),) * n), ((2, 3, 2), *((2,),) * n),
            ((2, 3), *((),) * n)]  # fmt: skip
    wrong = refuse("parameters of shape (4,) do not fit a sample of shape (2, 3)", shapes=((2, 3), *((4,),) * n))
    grad = tuple(range(n + 1)) if op != "random_pdf_uniform" else tuple(range(1, n + 1))
    common = {"ref": ref, "dtypes": ("float32", "float64"), "result": "float", "grad": grad, "rtol": 64.0, "atol": 64.0}
    for is_log in (False, True):
        args = {"attrs": {"is_log": is_log}, "edge": edge, "bad": [wrong], **common, **how}
        sample(op, sample_arg, *parameters, big=((3, 20001), *((3,),) * n), **args)


density("random_pdf_uniform", lambda x, low, high: -np.log(high - low), real(2, 3, low=0, high=1),
        real(2, low=-2, high=-1), real(2, low=2, high=3))  # fmt: skip
density("random_pdf_normal", lambda x, m, s: -(((x - m) / s) ** 2) / 2 - np.log(s) - math.log(2 * math.pi) / 2,
        real(2, 3), real(2), real(2, low=1, high=3))  # fmt: skip
density(
    "random_pdf_exponential", lambda x, lam: np.log(lam) - lam * x, real(2, 3, low=0.1, high=3), real(2, low=1, high=3)
)
density("random_pdf_gamma", lambda x, a, b: (a - 1) * np.log(x) + a * np.log(b) - b * x - _lgamma(a),
        real(2, 3, low=0.5, high=3), real(2, low=1, high=3), real(2, low=1, high=3))  # fmt: skip
density("random_pdf_poisson", lambda x, lam: x * np.log(lam) - lam - _lgamma(x + 1), real(2, 3, low=0.5, high=9),
        real(2, low=1, high=3))  # fmt: skip


def _negative_binomial(x: Any, k: Any, p: Any) -> Any:
    return _lgamma(x + k) - _lgamma(x + 1) - _lgamma(k) + k * np.log(p) + x * np.log(1 - p)


density("random_pdf_negative_binomial", _negative_binomial, real(2, 3, low=0.5, high=9), real(2, low=1, high=3),
        real(2, low=0.2, high=0.8))  # fmt: skip
density("random_pdf_generalized_negative_binomial",
        lambda x, m, a: _negative_binomial(x, 1 / a, 1 / (1 + m * a)), real(2, 3, low=0.5, high=9),
        real(2, low=1, high=3), real(2, low=0.2, high=2))  # fmt: skip


def _dirichlet(x: Any, a: Any, is_log: bool = False) -> Any:
    a = a.reshape(a.shape[:-1] + (1,) * (x.ndim - a.ndim) + a.shape[-1:])
    y = ((a - 1) * np.log(x)).sum(-1) + _lgamma(a.sum(-1)) - _lgamma(a).sum(-1)
    return y if is_log else np.exp(y)


for _is_log in (False, True):
    sample("random_pdf_dirichlet", real(2, 4, 3, low=0.2, high=0.5), real(2, 3, low=1, high=3), ref=_dirichlet,
           attrs={"is_log": _is_log}, dtypes=("float32", "float64"), result="float", grad=(0, 1), rtol=64.0, atol=64.0,
           edge=[((3,), (3,)), ((0, 3), (0, 3)), ((5, 3), (3,))], big=((3, 7001, 3), (3, 3)),
           bad=[refuse("(2, 4) do not fit a sample of shape (2, 4, 3)", shapes=((2, 4, 3), (2, 4))),
                refuse("an axis of shares", shapes=((), ()))])  # fmt: skip
