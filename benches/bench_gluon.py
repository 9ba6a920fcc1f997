"""Training steps of whole networks, written imperatively: forward, backward, step; and one step of an optimizer.

The networks are the same in each library, float32, trained by SGD with momentum 0.9 and softmax cross-entropy.
"""

from typing import Any

from bench_optimizers import shapes
from harness import Case, Names

WORDS, WIDTH = 10_000, 200
LENGTH, SENTENCES = 35, 20


def gluonish() -> Names:
    import gluonish as mx
    from gluonish import autograd, gluon, nd
    from gluonish.gluon import nn, rnn

    def row(*layers: gluon.Block) -> nn.HybridSequential:
        net = nn.HybridSequential()
        net.add(*layers)
        return net

    def mlp() -> gluon.Block:
        return row(nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))

    def lenet() -> gluon.Block:
        layers: list[gluon.Block] = []
        for channels in (20, 50):
            layers += [nn.Conv2D(channels, 5), nn.Activation("tanh"), nn.AvgPool2D(2)]
        return row(*layers, nn.Dense(500), nn.Activation("tanh"), nn.Dense(10))

    class Basic(gluon.HybridBlock):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first = row(nn.Conv2D(outputs, 3, stride, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
            self.second = row(nn.Conv2D(outputs, 3, 1, 1, use_bias=False), nn.BatchNorm())
            same = stride == 1 and inputs == outputs
            short = [nn.Conv2D(outputs, 1, stride, use_bias=False), nn.BatchNorm()]
            self.short = nn.Identity() if same else row(*short)

        def hybrid_forward(self, F: Any, x: nd.NDArray) -> nd.NDArray:
            return F.relu(self.second(self.first(x)) + self.short(x))

    def resnet18() -> gluon.Block:
        layers = [nn.Conv2D(64, 7, 2, 3, use_bias=False), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1)]
        inputs = 64
        for stage in range(4):
            for block in range(2):
                layers.append(Basic(inputs, 64 << stage, 2 if block == 0 and stage else 1))
                inputs = 64 << stage
        return row(*layers, nn.GlobalAvgPool2D(), nn.Dense(1000))

    class LanguageModel(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(WORDS, WIDTH), rnn.LSTM(WIDTH, 2)
            self.output = nn.Dense(WORDS, flatten=False)

        def forward(self, x: nd.NDArray) -> nd.NDArray:
            return self.output(self.lstm(self.embedding(x))).reshape(-1, WORDS)

    def step_of(net: gluon.Block, x: nd.NDArray, classes: int, examples: int) -> Any:
        y = nd.random.randint(0, classes, shape=(examples,))
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

        def step() -> None:
            with autograd.record():
                losses = loss(net(x), y)
            losses.backward()
            trainer.step(examples)

        return step

    def adam() -> Any:
        parameters = [gluon.Parameter(f"weight{i}", shape=shape) for i, shape in enumerate(shapes())]
        for parameter in parameters:
            parameter.initialize("ones")
            parameter.grad()[:] = 0.01
        trainer = gluon.Trainer(parameters, "adam", {"learning_rate": 1e-3})

        def step() -> None:
            for parameter in parameters:
                parameter._used.clear()  # the gradients count as new, which costs no pass over them
            trainer.step(1)

        return step

    normal = nd.random.normal
    made = {
        "mlp": lambda: step_of(mlp(), normal(shape=(64, 784)), 10, 64),
        "lenet": lambda: step_of(lenet(), normal(shape=(64, 1, 28, 28)), 10, 64),
        "resnet18": lambda: step_of(resnet18(), normal(shape=(8, 3, 224, 224)), 1000, 8),
        "lstm": lambda: step_of(
            LanguageModel(), nd.random.randint(0, WORDS, shape=(LENGTH, SENTENCES)), WORDS, LENGTH * SENTENCES
        ),
        "adam": adam,
    }
    return {"step": prepared(made), "sync": nd.waitall}


def torch() -> Names:
    import torch
    from torch import nn
    from torch.nn import functional

    def mlp() -> Any:
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def lenet() -> Any:
        first = [nn.Conv2d(1, 20, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.Tanh(), nn.AvgPool2d(2)]
        return nn.Sequential(*first, nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))

    class Basic(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            norm = nn.BatchNorm2d
            self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), norm(outputs)
            self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), norm(outputs)
            same = stride == 1 and inputs == outputs
            short = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs)]
            self.short = nn.Identity() if same else nn.Sequential(*short)

        def forward(self, x: Any) -> Any:
            y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
            return functional.relu(y + self.short(x))

    def resnet18() -> Any:
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        inputs = 64
        for stage in range(4):
            for block in range(2):
                layers.append(Basic(inputs, 64 << stage, 2 if block == 0 and stage else 1))
                inputs = 64 << stage
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(WORDS, WIDTH), nn.LSTM(WIDTH, WIDTH, 2)
            self.output = nn.Linear(WIDTH, WORDS)

        def forward(self, x: Any) -> Any:
            return self.output(self.lstm(self.embedding(x))[0]).reshape(-1, WORDS)

    def step_of(net: Any, x: Any, classes: int, examples: int) -> Any:
        y = torch.randint(0, classes, (examples,))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

        def step() -> None:
            optimizer.zero_grad()
            functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        return step

    def adam(**how: bool) -> Any:
        parameters = [nn.Parameter(torch.ones(shape)) for shape in shapes()]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 0.01)
        return torch.optim.Adam(parameters, lr=1e-3, **how).step

    made = {
        "mlp": lambda: step_of(mlp(), torch.randn(64, 784), 10, 64),
        "lenet": lambda: step_of(lenet(), torch.randn(64, 1, 28, 28), 10, 64),
        "resnet18": lambda: step_of(resnet18(), torch.randn(8, 3, 224, 224), 1000, 8),
        "lstm": lambda: step_of(
            LanguageModel(), torch.randint(0, WORDS, (LENGTH, SENTENCES)), WORDS, LENGTH * SENTENCES
        ),
        "adam_fused": lambda: adam(fused=True),
        "adam_foreach": lambda: adam(foreach=True),
    }
    return {"step": prepared(made)}


def prepared(made: Names) -> Any:
    """Calls a step by its name. What it needs is made at its first call, which is never the best one."""
    ready: Names = {}

    def step(name: str) -> None:
        if name not in ready:
            ready.clear()  # one at a time: they are large
            ready[name] = made[name]()
        ready[name]()

    return step


def training(case: str, name: str, target: float) -> Case:
    statement = f"step({name!r})"
    return Case(case, {"gluonish": statement, "torch": statement}, target=target)


SETUP = {"gluonish": gluonish, "torch": torch}
CASES = [
    training("mlp_train_64", "mlp", 1.5),
    training("lenet_train_64", "lenet", 1.0),
    training("lstm_train", "lstm", 1.0),
    training("resnet18_train_8", "resnet18", 1.0),
    Case("trainer_adam_fused", {"gluonish": "step('adam')", "torch": "step('adam_fused')"}, target=1.0),
    Case("trainer_adam_foreach", {"gluonish": "step('adam')", "torch": "step('adam_foreach')"}, target=2.0),
]
