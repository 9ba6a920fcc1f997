"""Data that tests of MXNet use, if it is on this machine."""

import gzip
import os
import struct
from typing import Any

import numpy as np

from gluonish.base import data_dir
from gluonish.errors import FileNotFound, FormatError

__all__ = ["get_mnist"]

_FILES = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}


def get_mnist() -> dict[str, Any]:
    """MNIST as NumPy arrays: ``train_data`` (60000, 1, 28, 28) from 0 to 1, ``train_label``, ``test_data``,
    ``test_label``.

    The four files, packed (``.gz``) or not, have to be in ``datasets/mnist`` of ``mx.base.data_dir()``: nothing is
    downloaded. ``mx.datasets.digits()`` has smaller digits that need no files.
    """
    folder = os.path.join(data_dir(), "datasets", "mnist")
    arrays = {key: _read(folder, name) for key, name in _FILES.items()}
    for key in ("train_data", "test_data"):
        arrays[key] = (arrays[key].astype("float32") / 255)[:, np.newaxis]
    return arrays


def _read(folder: str, name: str) -> Any:
    """An array of a file in MNIST's format: two zeros, 8 for bytes, the number of axes, their sizes, the bytes."""
    for path in (os.path.join(folder, name), os.path.join(folder, f"{name}.gz")):
        if not os.path.exists(path):
            continue
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            data = file.read()
        if len(data) < 4 or data[:3] != b"\x00\x00\x08" or len(data) < 4 + 4 * data[3]:
            raise FormatError(f"get_mnist: '{path}' is not a file of MNIST's")
        sizes = struct.unpack_from(f">{data[3]}I", data, 4)
        body = np.frombuffer(data, "uint8", offset=4 + 4 * data[3])
        if body.size != np.prod(sizes, dtype="int64"):
            raise FormatError(f"get_mnist: '{path}' holds {body.size} bytes, and its shape {sizes} needs others")
        return body.reshape(sizes)
    raise FileNotFound(
        f"get_mnist: there is no '{name}' or '{name}.gz' in '{folder}': put MNIST's four files there (nothing is "
        "downloaded), or use mx.datasets.digits(), which needs none"
    )
