"""Eager backward of one large operation, against a single fused pass over the same bytes.

A gradient that is one pass reads the head gradient and what the row saved, and writes the result: three streams, like a
product of two arrays into a third. The measurement is backward's time over that product's.

The slope of gelu is an exponential, a division and a polynomial for each value, which on two cores take longer than the
memory does: no pass that computes it is as fast as a product. Its yardstick is the one fused pass that does the same
work, the forward function into an array that exists; its time in products is shown as well, with no limit.
"""

from harness import Case, Measure, Names, best_time, compile_side

SHAPE = (2500, 1000)
SECONDS = 0.3
PRODUCT = "mx.nd.multiply(x, head, out=spare)"


def gluonish() -> Names:
    import gluonish as mx

    x, head = mx.nd.random.normal(shape=SHAPE), mx.nd.random.normal(shape=SHAPE)
    x.attach_grad()
    return {"mx": mx, "x": x, "head": head, "spare": mx.nd.zeros(SHAPE), "sync": mx.nd.waitall}


def passes(function: str, fused: str = PRODUCT) -> Measure:
    def measured(names: Names) -> float:
        mx = names["mx"]
        with mx.autograd.record():
            y = getattr(mx.nd, function)(names["x"])
        backward = best_time(compile_side("y.backward(head, retain_graph=True)", {**names, "y": y}), SECONDS)
        return backward / best_time(compile_side(fused, names), SECONDS)

    return measured


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
