"""Eager backward of one large operation, against a single fused pass over the same bytes.

A gradient that is one pass reads the head gradient and what the row saved, and writes the result: three streams, like a
product of two arrays into a third. The measurement is backward's time over that product's.
"""

from harness import Case, Measure, Names, best_time, compile_side

SHAPE = (2500, 1000)
SECONDS = 0.3


def gluonish() -> Names:
    import gluonish as mx

    x, head = mx.nd.random.normal(shape=SHAPE), mx.nd.random.normal(shape=SHAPE)
    x.attach_grad()
    return {"mx": mx, "x": x, "head": head, "spare": mx.nd.zeros(SHAPE), "sync": mx.nd.waitall}


def passes(function: str) -> Measure:
    def measured(names: Names) -> float:
        mx = names["mx"]
        with mx.autograd.record():
            y = getattr(mx.nd, function)(names["x"])
        backward = best_time(compile_side("y.backward(head, retain_graph=True)", {**names, "y": y}), SECONDS)
        product = best_time(compile_side("mx.nd.multiply(x, head, out=spare)", names), SECONDS)
        return backward / product

    return measured


SETUP = {"gluonish": gluonish}
CASES = [Case(f"backward_{f}", {"gluonish": passes(f)}, unit="passes", limit=1.2) for f in ("tanh", "gelu", "softmax")]
