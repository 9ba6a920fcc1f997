"""Activations, softmax and the losses on top of it."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node, nodes

nodes(
    {
        "Relu": lambda a, x: nd.Activation(x, "relu"),
        "Sigmoid": lambda a, x: nd.Activation(x, "sigmoid"),
        "Tanh": lambda a, x: nd.Activation(x, "tanh"),
        "Softsign": lambda a, x: nd.Activation(x, "softsign"),
        "Softplus": lambda a, x: nd.Activation(x, "softrelu"),
        "Mish": lambda a, x: nd.Activation(x, "mish"),
        "HardSigmoid": lambda a, x: nd.hard_sigmoid(x, alpha=a.alpha, beta=a.beta),
        "HardSwish": lambda a, x: x * nd.hard_sigmoid(x, alpha=1 / 6, beta=0.5),
        "LeakyRelu": lambda a, x: nd.LeakyReLU(x, act_type="leaky", slope=a.alpha),
        "Elu": lambda a, x: nd.LeakyReLU(x, act_type="elu", slope=a.alpha),
        "Celu": lambda a, x: nd.LeakyReLU(x / a.alpha, act_type="elu", slope=1.0) * a.alpha,
        "Gelu": lambda a, x: nd.LeakyReLU(x, act_type="gelu_tanh" if a.approximate == "tanh" else "gelu"),
        "Swish": lambda a, x: nd.silu(x * a.alpha) / a.alpha,
        "SwiGLU": lambda a, x, y: nd.silu(x * a.alpha) / a.alpha * y,
        "ThresholdedRelu": lambda a, x: mnp.where(x > a.alpha, x, 0.0),
        "Softmax": lambda a, x: nd.softmax(x, axis=a.axis),
        "LogSoftmax": lambda a, x: nd.log_softmax(x, axis=a.axis),
    }
)


@node("Selu")
def selu(a: Attributes, x: Any) -> Any:
    if abs(a.alpha - 1.67326) < 1e-5:
        return nd.LeakyReLU(x, act_type="selu")
    return nd.LeakyReLU(x, act_type="elu", slope=a.alpha) * a.gamma  # 'selu' has the numbers of its paper


@node("PRelu")
def learnt_slopes(_: Attributes, x: Any, slope: Any) -> Any:
    # 'prelu' has a slope for each channel; here each value is one.
    slopes = mnp.broadcast_to(slope, x.shape).reshape(-1)
    return nd.LeakyReLU(x.reshape(1, -1), slopes, act_type="prelu").reshape(x.shape)


@node("NegativeLogLikelihoodLoss")
def likelihood_loss(a: Attributes, log_prob: Any, target: Any, weight: Any = None) -> Any:
    weights = mnp.ones(target.shape) if weight is None else nd.take(weight, target)
    if a.ignore_index is not None:
        weights = mnp.where(target == a.ignore_index, 0.0, weights)
    loss = -nd.pick(log_prob, target, axis=1) * weights
    if a.reduction == "none":
        return loss
    return loss.sum() if a.reduction == "sum" else loss.sum() / weights.sum()


@node("SoftmaxCrossEntropyLoss")
def cross_entropy(a: Attributes, scores: Any, target: Any, weight: Any = None) -> tuple[Any, Any]:
    log_prob = nd.log_softmax(scores, axis=1)
    return likelihood_loss(a, log_prob, target, weight), log_prob
