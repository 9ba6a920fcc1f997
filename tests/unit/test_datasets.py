import doctest

import numpy as np

from gluonish import datasets


def test_shapes_and_types():
    x_train, y_train, x_test, y_test = datasets.digits()
    assert (x_train.shape, x_train.dtype) == ((1437, 8, 8), np.uint8)
    assert (x_test.shape, x_test.dtype) == ((360, 8, 8), np.uint8)
    assert (y_train.shape, y_train.dtype) == ((1437,), np.int32)
    assert (y_test.shape, y_test.dtype) == ((360,), np.int32)


def test_pixels_are_the_seventeen_rescaled_levels():
    x_train, _, x_test, _ = datasets.digits()
    levels = [round(v * 255 / 16) for v in range(17)]
    assert np.unique(np.concatenate([x_train, x_test])).tolist() == levels


def test_whole_set_once_and_stratified():
    x_train, y_train, x_test, y_test = datasets.digits()
    total = np.bincount(np.concatenate([y_train, y_test]))
    assert total.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # as UCI counts its test part
    assert np.abs(np.bincount(y_test) - total * 360 / 1797).max() < 1
    images = np.concatenate([x_train, x_test]).reshape(1797, 64)
    assert len(np.unique(images, axis=0)) == 1797  # nothing twice, so nothing held out was trained on


def test_digits_look_like_digits():
    """A nearest-neighbour classifier is right about 98 % of the time: images and labels belong together."""
    x_train, y_train, x_test, y_test = datasets.digits()
    train, test = (x.reshape(len(x), 64).astype(np.float64) for x in (x_train, x_test))
    distance = (train**2).sum(1) - 2 * test @ train.T
    assert (y_train[distance.argmin(1)] == y_test).mean() > 0.97


def test_each_call_gives_arrays_of_its_own():
    first = datasets.digits()[0]
    before = first.copy()
    first[:] = 0
    assert np.array_equal(datasets.digits()[0], before)


def test_docstring_example():
    assert doctest.testmod(datasets) == doctest.TestResults(failed=0, attempted=3)
