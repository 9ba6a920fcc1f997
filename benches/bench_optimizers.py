"""One step of an optimizer over 25 million parameters in 160 tensors, about those of a ResNet-50."""

from harness import Case, Names

# Four stages: blocks, width inside, width outside.
STAGES = [(3, 64, 256), (4, 128, 512), (6, 256, 1024), (3, 512, 2048)]


def shapes() -> list[tuple[int, ...]]:
    made: list[tuple[int, ...]] = [(64, 3, 7, 7), (64,), (64,)]
    width = 64
    for blocks, inner, outer in STAGES:
        for block in range(blocks):
            made += [(inner, width, 1, 1), (inner, inner, 3, 3), (outer, inner, 1, 1)]
            made += [(n,) for n in (inner, inner, inner, inner, outer, outer)]
            made += [(outer, width, 1, 1), (outer,), (outer,)] if block == 0 else []
            width = outer
    return [*made, (1000, 2048), (1000,)]


def gluonish() -> Names:
    import gluonish as mx

    nd = mx.nd
    lists = [[nd.ones(shape) * 0.01 for shape in shapes()] for _ in range(4)]
    weights, grads, means, _ = lists
    count = len(weights)
    rates = nd.full(count, 1e-3, dtype="float64"), nd.zeros(count, dtype="float64")

    def adam() -> None:
        arrays = [x for tensor in zip(*lists, strict=True) for x in tensor]
        mx._core.invoke("_multi_adam_update", [*arrays, *rates], {"num_weights": count}, weights)

    def momentum() -> None:
        arrays = [x for tensor in zip(weights, grads, means, strict=True) for x in tensor]
        nd.preloaded_multi_sgd_mom_update(*arrays, *rates, momentum=0.9, num_weights=count, out=weights)

    def lamb() -> None:
        nd.contrib.multi_lamb_update(*lists, [1] * count, *rates, out=weights)

    update, keys = mx.optimizer.get_updater(mx.optimizer.Adam()), list(range(count))

    def optimizer() -> None:
        update(keys, grads, weights)

    return {"adam": adam, "momentum": momentum, "lamb": lamb, "optimizer": optimizer, "sync": nd.waitall}


def torch() -> Names:
    import torch

    def made(kind: type, **how: object) -> object:
        parameters = [torch.nn.Parameter(torch.full(shape, 0.01)) for shape in shapes()]
        for p in parameters:
            p.grad = torch.full_like(p, 0.01)
        return kind(parameters, lr=1e-3, **how)

    adam, sgd = torch.optim.Adam, torch.optim.SGD
    return {
        "adam": made(adam, fused=True),
        "adam_foreach": made(adam, foreach=True),
        "momentum": made(sgd, momentum=0.9, fused=True),
        "momentum_foreach": made(sgd, momentum=0.9, foreach=True),
    }


def mxnet() -> Names:
    import mxnet as mx

    nd = mx.nd
    lists = [[nd.ones(shape) * 0.01 for shape in shapes()] for _ in range(4)]
    weights, grads, means, _ = lists
    count, part = len(weights), 40  # MXNet's rows take at most so many

    def momentum() -> None:
        for i in range(0, count, part):
            some = [x[i : i + part] for x in (weights, grads, means)]
            arrays = [x for tensor in zip(*some) for x in tensor]  # noqa: B905 - Python 3.8 has no strict
            n = len(some[0])
            nd.multi_sgd_mom_update(*arrays, lrs=[1e-3] * n, wds=[0] * n, momentum=0.9, num_weights=n, out=some[0])

    def adam() -> None:
        for w, g, m, v in zip(*lists):  # noqa: B905
            nd.adam_update(w, g, m, v, lr=1e-3, out=w)

    def lamb() -> None:
        for i in range(0, count, part):
            some = [x[i : i + part] for x in lists]
            n = len(some[0])
            nd.contrib.multi_lamb_update(*some, [1] * n, [1e-3] * n, [0] * n, out=some[0], num_tensors=n)

    return {"adam": adam, "momentum": momentum, "lamb": lamb, "sync": nd.waitall}


SETUP = {"gluonish": gluonish, "torch": torch, "mxnet": mxnet}
CASES = [
    Case("adam_fused", {"gluonish": "adam()", "torch": "adam.step()"}, target=1.0),
    Case("adam_foreach", {"gluonish": "adam()", "torch": "adam_foreach.step()"}, target=2.0),
    Case("adam_optimizer", {"gluonish": "optimizer()", "torch": "adam.step()"}, target=1.0),
    Case("adam_mxnet", {"gluonish": "adam()", "mxnet": "adam()"}, target=1.5),
    Case("momentum_fused", {"gluonish": "momentum()", "torch": "momentum.step()"}, target=1.0),
    Case("momentum_foreach", {"gluonish": "momentum()", "torch": "momentum_foreach.step()"}, target=2.0),
    Case("momentum_mxnet", {"gluonish": "momentum()", "mxnet": "momentum()"}, target=1.5),
    Case("lamb_mxnet", {"gluonish": "lamb()", "mxnet": "lamb()"}, target=1.5),
]
