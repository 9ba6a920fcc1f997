"""Mixed precision: products of matrices in float16 or bfloat16, what needs more in float32.

``init`` turns it on. Parameters stay float32, and the functions of `nd` and `np` cast what they are given: layers and
losses call those. With float16, small gradients vanish unless the loss is scaled. The factor begins at 65536: here the
first gradient is infinite, so that step is skipped, and the second has half the factor.

>>> import gluonish as mx
>>> net, x = mx.gluon.nn.Dense(1, in_units=2), mx.nd.ones((1, 2))
>>> net.initialize(mx.init.One())
>>> trainer = mx.gluon.Trainer(net, "sgd", {"learning_rate": 0.5})
>>> with mx.amp.init("float16"):
...     mx.amp.init_trainer(trainer)
...     for _ in range(2):
...         with mx.autograd.record():
...             loss = net(x).sum(axis=1)
...             with mx.amp.scale_loss(loss, trainer) as scaled:
...                 mx.autograd.backward(scaled)
...         trainer.step(1)
...         print(net.weight.data().tolist(), net(x).dtype)
[[1.0, 1.0]] float16
[[0.5, 0.5]] float16
"""

from gluonish._missing import explained
from gluonish.amp.convert import convert_hybrid_block
from gluonish.amp.lists import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from gluonish.amp.loss_scaler import LossScaler
from gluonish.amp.training import init, init_trainer, scale_loss, unscale

__all__ = [
    "LossScaler",
    "convert_hybrid_block",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

__getattr__ = explained("gluonish.amp", __all__, {"symbols": "convert_model convert_symbol"})
