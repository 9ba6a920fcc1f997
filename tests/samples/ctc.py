"""Samples: connectionist temporal classification, against all ways of spelling a label."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
from ops.sampling import FLOATS, REALS, index, real, refuse, sample


def _labels(label, lengths, blank_label):
    filling = -1 if blank_label == "last" else 0
    for n, row in enumerate(label.astype(int)):
        kept = list(row) if lengths is None else list(row[: int(lengths[n])])
        yield kept[: kept.index(filling)] if lengths is None and filling in kept else kept


def _loss(data, label, *lengths, use_data_lengths=False, use_label_lengths=False, blank_label="first"):
    lengths = list(lengths)
    frames = lengths.pop(0) if use_data_lengths else [len(data)] * data.shape[1]
    labels = _labels(label, lengths.pop(0) if use_label_lengths else None, blank_label)
    classes = data.shape[2]
    blank = classes - 1 if blank_label == "last" else 0
    p = np.exp(data - data.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    found = []
    for n, wanted in enumerate(labels):
        total = 0.0
        for path in product(range(classes), repeat=int(frames[n])):
            if [c for c, _ in groupby(path) if c != blank] == wanted:
                total += np.prod([p[t, n, c] for t, c in enumerate(path)])
        found.append(-np.log(total))
    return np.array(found)


_HOW = {"ref": _loss, "grad": (0,), "rtol": 16, "atol": 64, "special": False}
sample(
    "CTCLoss",
    real(4, 3, 4),
    index(3, 2, n=4, low=0, dtype="int32"),
    dtypes=FLOATS,
    edge=[((4, 0, 4), (0, 2)), ((1, 2, 4), (2, 1)), ((3, 2, 4), (2, 0))],
    bad=[
        refuse("CTCLoss", "(frames, batch, classes)", "(4, 3)", shapes=((4, 3), (3, 2))),
        refuse("CTCLoss", "label of shape (2, 2)", "(3, length)", shapes=((4, 3, 4), (2, 2))),
        refuse("CTCLoss", "needs the input data_lengths", use_data_lengths=True),
        refuse("CTCLoss", "needs the input label_lengths", use_label_lengths=True),
        refuse("CTCLoss", "int32", dtypes=("int32", "int32")),
        refuse("CTCLoss", "blank_label='middle'", blank_label="middle"),
    ],
    **_HOW,
)
sample("CTCLoss", real(4, 3, 4), index(3, 2, n=3, low=-1, dtype="float32"), attrs={"blank_label": "last"}, dtypes=REALS,
       **_HOW)  # fmt: skip
sample("CTCLoss", real(4, 3, 4), index(3, 3, n=4, low=1, dtype="int32"), index(3, n=5, low=3, dtype="int32"),
       index(3, n=2, low=0, dtype="int64"), dtypes=REALS,
       attrs={"use_data_lengths": True, "use_label_lengths": True},
       bad=[refuse("data_lengths must have shape (3,)", "(2,)", shapes=((4, 3, 4), (3, 3), (2,), (3,))),
            refuse("label_lengths is given", use_label_lengths=False)], **_HOW)  # fmt: skip


def _paths(label, lengths=None, *, classes, use_label_lengths=False, blank_label="first"):
    blank = classes - 1 if blank_label == "last" else 0
    places = 2 * label.shape[1] + 1
    found, flags = np.zeros((len(label), places), int), np.zeros((4, len(label), places), bool)
    for n, wanted in enumerate(_labels(label, lengths, blank_label)):
        path = [blank, *(c for w in wanted for c in (w, blank))]
        found[n, : len(path)] = path
        for s, c in enumerate(path):
            flags[:, n, s] = True, s > 1 and c not in (blank, path[s - 2]), s < 2, s + 2 >= len(path)
    return [found, flags]


for _attrs in ({}, {"blank_label": "last"}):
    sample("_ctc_paths", index(3, 2, n=4, low=-1 if _attrs else 0, dtype="int32"), ref=_paths, dtypes=("int32",),
           attrs={"classes": 5, **_attrs}, result="int64 bool", special=False,
           bad=[refuse("(batch, length)", "(3,)", shapes=((3,),))])  # fmt: skip
