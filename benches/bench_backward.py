"""Eager backward of one large operation, against a single fused pass over the same bytes.

A gradient that is one pass reads the head gradient and what the row saved, and writes the result: three streams, like a
product of two arrays into a third. The measurement is backward's time over that product's.

The slope of gelu is an exponential, a division and a polynomial for each value, which on two cores take longer than the
memory does: no pass that computes it is as fast as a product. Its yardstick is the one fused pass that does the same
work, the forward function into an array that exists; its time in products is shown as well, with no limit.
"""

from collections.abc import Callable

from harness import Case, Names, Prepared, Timer, compile_side

SHAPE = (2500, 1000)
PRODUCT = "mx.nd.multiply(x, head, out=spare)"


def gluonish() -> Names:
    import gluonish as mx

    x, head = mx.nd.random.normal(shape=SHAPE), mx.nd.random.normal(shape=SHAPE)
    x.attach_grad()
    return {"mx": mx, "x": x, "head": head, "spare": mx.nd.zeros(SHAPE), "sync": mx.nd.waitall}


def passes(function: str, fused: str = PRODUCT) -> Prepared:
    def make(names: Names) -> Callable[[], float]:
        mx = names["mx"]
        with mx.autograd.record():
            y = getattr(mx.nd, function)(names["x"])
        backward = Timer(compile_side("y.backward(head, retain_graph=True)", {**names, "y": y}))
        once = Timer(compile_side(fused, names))
        return lambda: backward() / once()

    return Prepared(make)


def case(function: str, name: str = "", limit: float | None = 1.2, fused: str = PRODUCT) -> Case:
    return Case(f"backward_{name or function}", {"gluonish": passes(function, fused)}, unit="passes", limit=limit)


SETUP = {"gluonish": gluonish}
CASES = [
    case("tanh"),
    case("gelu", fused="mx.nd.gelu(x, out=spare)"),
    case("gelu", "gelu_in_products", limit=None),
    case("softmax"),
    case("log_softmax", limit=None),
]
