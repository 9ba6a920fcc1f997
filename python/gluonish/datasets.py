"""Small data sets that come with the package."""

import os
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["digits"]

Images: TypeAlias = npt.NDArray[np.uint8]
Labels: TypeAlias = npt.NDArray[np.int32]

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def digits() -> tuple[Images, Labels, Images, Labels]:
    """Handwritten digits from 0 to 9: 1437 images to train on and 360 held out, 8 by 8 pixels each.

    Returns ``x_train, y_train, x_test, y_test`` as NumPy arrays: images are uint8 of shape (n, 8, 8) from 0
    (paper) to 255 (ink), labels int32 of shape (n,). The split is fixed, has every digit in proportion in both
    parts, and is already shuffled. Each call gives fresh arrays.

    The data are E. Alpaydin and C. Kaynak's "Optical Recognition of Handwritten Digits" (UCI Machine Learning
    Repository, 1998), under CC BY 4.0; ``data/DIGITS.txt`` beside this file says what was changed.

    >>> x_train, y_train, x_test, y_test = digits()
    >>> x_train.shape, x_train.dtype.name, y_train.shape, y_train.dtype.name
    ((1437, 8, 8), 'uint8', (1437,), 'int32')
    >>> len(x_test), sorted(set(y_test.tolist()))
    (360, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    with np.load(os.path.join(_DATA, "digits.npz")) as stored:
        return stored["x_train"], stored["y_train"], stored["x_test"], stored["y_test"]
