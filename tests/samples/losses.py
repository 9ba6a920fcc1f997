"""Samples: losses, output layers and casts of mixed precision. Gradients that are not those of the result are tested in
tests/unit/test_output_layers.py."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, REALS, index, real, refuse, sample

_HOW = {"dtypes": FLOATS, "rtol": 8, "atol": 32, "special": False}


def _log_softmax(x, axis=-1):
    x = x - x.max(axis, keepdims=True, initial=-np.inf)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def _targets(x, label, axis, sparse_label, smoothing):
    n = x.shape[axis]
    if sparse_label:
        place = np.arange(n).reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
        label = (place == np.expand_dims(label, axis)).astype(x.dtype)
    return label * (1 - smoothing) + smoothing / max(n, 1)


def _entropy(x, label, weight=None, *, axis=-1, sparse_label=True, smoothing=0.0, use_ignore=False, ignore_label=-1.0):
    t = _targets(x, label, axis, sparse_label, smoothing)
    if weight is not None:
        t = t * weight.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    loss = -(t * _log_softmax(x, axis)).sum(axis)
    return np.where(label == ignore_label, 0, loss) if use_ignore else loss


def _entropy_grad(
    dy,
    x,
    label,
    log_sum,
    weight=None,
    *,
    axis=-1,
    sparse_label=True,
    smoothing=0.0,
    use_ignore=False,
    ignore_label=-1.0,
):
    t = _targets(x, label, axis, sparse_label, smoothing)
    if weight is not None:
        t = t * weight.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    p = np.exp(x - np.expand_dims(log_sum, axis))
    dx = (t.sum(axis, keepdims=True) * p - t) * np.expand_dims(dy, axis)
    return np.where(np.expand_dims(label == ignore_label, axis), 0, dx) if use_ignore else dx


_NAME = "_softmax_cross_entropy"
_bad_label = [
    refuse(_NAME, "label must have shape (4,)", "(4, 5)", "(3,)", shapes=((4, 5), (3,))),
    refuse(_NAME, "axis 2", axis=2),
    refuse(_NAME, "smoothing=1.5", smoothing=1.5),
    refuse(_NAME, "use_ignore=True", sparse_label=False, use_ignore=True, shapes=((4, 5), (4, 5))),
]
for _dtype in ("int32", "float32"):
    for _attrs in ({}, {"smoothing": 0.2}, {"use_ignore": True, "ignore_label": 2.0}):
        sample(
            _NAME,
            real(4, 5),
            index(4, n=5, dtype=_dtype),
            real(5, low=0.2, high=2, dtype="float64"),
            ref=_entropy,
            attrs=_attrs,
            grad=(0,),
            **_HOW,
        )
        sample(
            _NAME,
            real(4, 5),
            index(4, n=5, dtype=_dtype),
            ref=_entropy,
            attrs=_attrs,
            grad=(0,),
            bad=_bad_label,
            edge=[((1, 17), (1,)), ((0, 5), (0,)), ((33, 7), (33,))],
            big=((200, 700), (200,)),
            **_HOW,
        )
for _attrs in ({}, {"smoothing": 0.1}):
    sample(_NAME, real(2, 5, 3), index(2, 3, n=5), ref=_entropy, attrs={"axis": 1, **_attrs}, grad=(0,), **_HOW)
    _dense = {"sparse_label": False, **_attrs}
    sample(
        _NAME,
        real(4, 5),
        real(4, 5, low=0.1, high=1),
        ref=_entropy,
        attrs=_dense,
        grad=(0, 1),
        edge=[((0, 3), (0, 3))],
        big=((200, 700), (200, 700)),
        **_HOW,
    )
    sample(
        _NAME,
        real(3, 5, 2),
        real(3, 5, 2, low=0.1, high=1),
        real(3, low=0.2, high=2, dtype="float64"),
        ref=_entropy,
        attrs={"axis": 0, **_dense},
        grad=(0, 1),
        **_HOW,
    )
    sample(
        f"{_NAME}_grad",
        real(4),
        real(4, 5),
        real(4, 5),
        real(4, low=2, high=3),
        real(5, low=0.2, high=2),
        ref=_entropy_grad,
        attrs=_dense,
        **_HOW,
    )
    sample(
        f"{_NAME}_grad",
        real(4),
        real(4, 5),
        index(4, n=5),
        real(4, low=2, high=3),
        real(5, low=0.2, high=2),
        ref=_entropy_grad,
        attrs={"use_ignore": True, "ignore_label": 3.0, **_attrs},
        **_HOW,
    )
    sample(
        f"{_NAME}_grad",
        real(4),
        real(4, 5),
        index(4, n=5),
        real(4, low=2, high=3),
        ref=_entropy_grad,
        attrs=_attrs,
        bad=[refuse("dy must have shape (4,)", "(3,)", shapes=((3,), (4, 5), (4,), (4,)))],
        **_HOW,
    )
sample(
    "softmax_cross_entropy",
    real(4, 5),
    index(4, n=5),
    ref=lambda x, label: _entropy(x, label).sum(keepdims=True),
    grad=(0,),
    bad=[refuse("softmax_cross_entropy", "rows", shapes=((4,), (4,)))],
    **_HOW,
)


def _softmax_output(x, label, *, multi_output=False, preserve_shape=False, **_):
    if multi_output:
        return np.exp(_log_softmax(x, 1))
    if preserve_shape:
        return np.exp(_log_softmax(x, -1))
    return np.exp(_log_softmax(x.reshape(x.shape[0], int(np.prod(x.shape[1:]))), 1)).reshape(x.shape)


for _op in ("SoftmaxOutput", "Softmax"):
    sample(
        _op,
        real(3, 4, 5),
        index(3, n=20),
        ref=_softmax_output,
        edge=[((0, 3), (0,)), ((3, 4), (3, 4))],
        bad=[
            refuse(_op, "label of shape (4,)", "3 classes", shapes=((3, 4, 5), (4,))),
            refuse(_op, "smooth_alpha=2.0", smooth_alpha=2.0),
        ],
        **_HOW,
    )
    sample(_op, real(3, 4, 5), index(3, 5, n=4), ref=_softmax_output, attrs={"multi_output": True}, **_HOW)
    sample(_op, real(3, 4, 5), index(3, 4, n=5), ref=_softmax_output, attrs={"preserve_shape": True}, **_HOW)
_sizes = refuse("label of shape (3, 2)", "(3, 4)", shapes=((3, 4), (3, 2)))
for _op, _ref in (
    ("LinearRegressionOutput", lambda x, label: x),
    ("MAERegressionOutput", lambda x, label: x),
    ("LogisticRegressionOutput", lambda x, label: 1 / (1 + np.exp(-x))),
):
    sample(
        _op,
        real(3, 4),
        real(3, 4),
        ref=_ref,
        edge=[((0, 3), (0, 3)), ((3, 1), (3,)), ((5,), (5,))],
        bad=[_sizes],
        **_HOW,
    )
sample(
    "SVMOutput",
    real(3, 4),
    index(3, n=4),
    ref=lambda x, label: x,
    bad=[refuse("SVMOutput", "rows", "(2, 3, 4)", shapes=((2, 3, 4), (2,)))],
    **_HOW,
)
sample("MakeLoss", real(3, 4), ref=lambda x: x, edge=[((0,),)], **_HOW)
sample("make_loss", real(3, 4), ref=lambda x: x, **_HOW)
sample(
    "IdentityAttachKLSparseReg",
    real(3, 4, low=0.1, high=0.9),
    real(4, low=0.1, high=0.9),
    ref=lambda x, mean: x,
    bad=[refuse("moving_avg", "(3,)", shapes=((3, 4), (3,)))],
    **_HOW,
)

sample(
    "amp_cast",
    real(3, 4),
    ref=lambda x, dtype: x,
    attrs={"dtype": "float32"},
    dtypes=("float16", "bfloat16"),
    result="float32",
    bad=[refuse("dtype='int32'", dtype="int32")],
)
sample(
    "amp_cast", real(3, 4), ref=lambda x, dtype: x, attrs={"dtype": "float16"}, dtypes=("float64", "int32"), grad=(0,)
)
sample(
    "amp_multicast",
    real(3, 4),
    real(2, dtype="float32"),
    index(3, n=9),
    ref=lambda *x, **_: list(x),
    attrs={"num_outputs": 3},
    dtypes=("float16", "bfloat16", "float32"),
    result="float32 float32 int64",
    bad=[refuse("num_outputs=2", "which is 3", num_outputs=2)],
)
sample(
    "amp_multicast",
    real(3, 4),
    real(2),
    ref=lambda *x, **_: list(x),
    attrs={"num_outputs": 2},
    dtypes=REALS,
    grad=(0, 1),
    result="same same",
)
sample(
    "amp_multicast",
    real(3, 4, dtype="float16"),
    real(2),
    ref=lambda *x, **_: list(x),
    attrs={"num_outputs": 2, "cast_narrow": True},
    dtypes=("float32",),
    result="float16 float16",
    rtol=4,
)
