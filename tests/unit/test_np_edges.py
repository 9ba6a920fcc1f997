"""Edges of NumPy's functions: the same text, of NumPy and of ours, gives the same, or both raise."""

import warnings

import numpy  # noqa: ICN001 - np is ours
import pytest

from gluonish import np

SAME = """
np.linspace(-1, 1, 5, dtype='int32')
np.linspace(-1, 1, 5, dtype='bool')
np.linspace([-1, -3], 1, 5, dtype='int8')

np.add(X, X, out=(O,)) is O
np.exp(X, out=O) is O
np.add(X, 1, out=H)
np.exp(X, out=H) is H
np.exp(I, casting='no')
np.exp(I, casting='safe')
np.add(I, X, casting='no')
np.add(I, X, casting='equiv')
np.add(np.ones(2, 'float16'), X, casting='no')
np.add(np.ones(2, 'float16'), X, casting='safe')
np.add(X, 2.5, casting='no')
np.add(I, I, casting='no')
np.add(I, I, casting='never')
np.less(I, I, casting='no')
np.less(I, X, casting='no')
np.less(I, X, casting='safe')
np.add(X, 1, casting='unsafe', out=np.zeros(2, 'int32'))
np.add(X, 1, out=np.zeros(2, 'int32'))
np.add(X, 1, casting='no', out=np.zeros(2, 'float16'))
np.arccosh(I, dtype='int64')
np.sqrt(I, dtype='bool')
np.add(I, I, dtype='bool')
np.add(I, I, dtype='int8')
np.isnan(X, dtype='bool')
np.isnan(X, dtype='float32')
np.less(X, 1, dtype='bool')
np.less(X, 1, dtype='float32')
np.divide(I, 2, dtype='int64')
np.floor_divide(I, 2, dtype='float32')
np.matmul(np.ones((2, 2)), np.ones((2, 2)), casting='no')
np.matmul(I, I, dtype='float32', order='C', subok=True)
np.matmul(X, X, casting='unsafe', dtype='int32')
np.matmul(X, X, no_such=1)
np.matmul(np.ones((2, 2)), X, out=H)
np.divmod(X, 0.7)
np.divmod(I, 3, dtype='float32')
np.divmod(X, 2, out=(O, np.zeros(2)))[0] is O
np.divmod(X, 2, out=O)

np.sum(S, axis=0)
np.sum(S, axis=1)
np.prod(S, axis=-1, keepdims=True)
np.max(S, axis=0)
np.min(S, axis=-1)
np.all(S, axis=0)
np.any(S, axis=0)
np.ptp(S, axis=0)
np.nansum(S, axis=0)
np.nanmax(S, axis=0)
np.nanstd(S, axis=0)
np.cumsum(S, axis=0)
np.cumsum(S, axis=1)
np.cumprod(S, axis=-1)
np.argmax(S, axis=0)
np.argmin(S, axis=-1, keepdims=True)
np.argmin(S, axis=1)
np.nanargmax(S, axis=0)
np.argsort(S)
np.argsort(S, axis=1)
np.sort(S)
np.squeeze(S, axis=0)
np.squeeze(S, axis=-1)
np.squeeze(S, axis=1)
np.take(S, 0, axis=0)
np.take(S, [0, 0], axis=-1)
np.take(S, [0, 1], axis=0)
np.repeat(S, 2, axis=0)
np.repeat(S, 2, axis=1)
np.compress([True], S, axis=0)
np.count_nonzero(S, axis=0)
np.flip(S, axis=0)
np.moveaxis(S, 0, 0)

np.random.multivariate_normal([0, 0], [[1, 0], [0, 1]], size=3).shape
np.max(np.zeros(0, 'int8'), initial=3)
np.max(np.zeros((0, 2), 'int8'), axis=0, initial=3.7)
np.max(np.zeros(3, 'int8'), initial=300)
np.max(np.zeros(3, 'int8'), initial=3.5)
np.max(np.zeros(3, 'bool'), initial=3)
np.max(np.zeros((0, 2), 'bool'), axis=0, initial=True)
np.min(np.zeros((0, 2), 'float16'), axis=0, initial=5)
np.sum(np.ones(2, 'int8'), initial=2.5)
np.sum(np.ones(2, 'bool'), initial=2)
np.linalg.norm(E, numpy.inf)
np.linalg.norm(E, -numpy.inf)
np.linalg.norm(np.zeros((0, 3)), numpy.inf, axis=0)
np.linalg.norm(np.zeros((0, 3)), numpy.inf)
np.linalg.norm(np.zeros((0, 3)), -numpy.inf)
np.linalg.norm(np.zeros((0, 3)), -1, keepdims=True)
np.linalg.norm(np.zeros((0, 3)), 2)
np.average(X, weights=np.array([1.0, -1.0]))
np.average(np.ones((2, 2)), axis=0, weights=np.array([0, 0]))
np.histogram(np.array([1.0, 2, 3], dtype='float16'), bins=3)
np.histogram(np.array([1.0, 2, 3], dtype='float16'), bins=np.array([0, 1, 4], dtype='float16'))
np.histogram(X, bins=[0, 1, 4])
np.histogram(np.array([1, 2, 4], dtype='float64'), bins=2, density=True)[0].dtype == 'float64'
np.mean(I, dtype='int64', where=np.array([True, False]))
np.clip(np.array([1, 5], dtype='uint8'), -1, 300)
np.clip(np.array([1, 5], dtype='uint8'), -1, 3)
np.clip(np.array([1, 5], dtype='uint8'), -5, -1)
np.clip(np.array([1, 5], dtype='uint8'), 300, 400)
np.resize(X, (3, 0))
np.resize(X, ())
np.diff(S, 0)
np.partition(E, 0)
np.argpartition(E, 3)
np.random.choice(3, size=(2, 0), replace=False).shape
np.random.normal(X, 1, size=0)
np.random.gamma(X, 1, size=())
np.random.normal(X, 1, size=(0, 2)).shape
np.average(np.zeros((2, 0)), axis=0, weights=np.array([1, 2]), returned=True)
np.einsum('...->', np.ones((2, 3)))
np.einsum('...->', S)
np.einsum('i...->i', np.ones((2, 3)))
np.einsum('i...->i', X)
"""


def evaluate(text, library):
    """What the text gives: its values, and their type; of what raises, that it did."""
    names = {
        "np": library,
        "numpy": numpy,
        "X": library.array([1.0, 2.5]),
        "I": library.array([1, 2]),
        "S": library.array(3.0),
        "E": library.zeros(0),
        "O": library.zeros(2),
        "H": numpy.zeros(2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(text, names)
        except (ValueError, TypeError, IndexError, ArithmeticError) as error:
            return type(error).__mro__
    return [_shown(x) for x in found] if isinstance(found, tuple) else _shown(found)


def _shown(value):
    if isinstance(value, int | tuple):
        return value
    host = numpy.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)
    # Where NumPy has float64, ours have float32.
    return str(host.dtype).replace("64", "32"), numpy.round(host.astype("float64"), 5).tolist(), host.shape


@pytest.mark.parametrize("text", [line for line in SAME.splitlines() if line])
def test_as_numpy(text):
    ours, theirs = evaluate(text, np), evaluate(text, numpy)
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert isinstance(ours[0], type), f"NumPy raises {theirs[0].__name__}, ours gives {ours}"
        builtin = next(kind for kind in theirs if kind.__module__ == "builtins")
        assert builtin in ours or builtin is ValueError
    else:
        assert ours == theirs
