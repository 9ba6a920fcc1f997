"""What goes wrong is said by the function that the user called, as an exception of this package."""

import pytest

from gluonish import nd, np
from gluonish.errors import ArgumentError, MXNetError, OutOfMemory

X = nd.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("zeros", lambda: nd.zeros((2**62,))),
        ("ones", lambda: np.ones((2**62,))),
        ("moments", lambda: nd.moments(X, axes=(5,))),
        ("cholesky", lambda: np.linalg.cholesky(np.ones((2, 3)))),
        ("inv", lambda: np.linalg.inv(np.ones((2, 3)))),
        ("median", lambda: np.median(X, axis=4)),
        ("percentile", lambda: np.percentile(X, 101)),
        ("rand_zipfian: range_max=0", lambda: nd.contrib.rand_zipfian(X, 4, 0)),
        ("rand_zipfian: range_max=-5", lambda: nd.contrib.rand_zipfian(X, 4, -5)),
        ("einsum: a text", lambda: np.einsum(5, X)),
        ("histogram: bins", lambda: nd.histogram(X, bins=nd.array([3, 1, 2]))),
        ("histogram: bins", lambda: nd.histogram(X, bins=nd.array([1, float("nan"), 2]))),
        ("histogram: bins", lambda: np.histogram(X, bins=[3, 1, 2])),
        ("bincount: the number -1 is negative", lambda: np.bincount(np.array([-1]))),
        ("ravel_multi_index: index 5", lambda: np.ravel_multi_index(([5], [0]), (2, 2))),
        ("multinomial: n=-3", lambda: np.random.multinomial(-3, [0.5, 0.5])),
        ("multinomial: the probabilities", lambda: np.random.multinomial(3, [0.5, 0.9])),
        ("gamma: shape=-1", lambda: np.random.gamma(-1, 2)),
        ("gamma: scale at position", lambda: np.random.gamma(1, np.array([1.0, -2.0]))),
        ("negative_binomial: n=-1", lambda: np.random.negative_binomial(-1, 0.5)),
        ("lognormal: sigma=-1", lambda: np.random.lognormal(0, -1)),
        ("uniform: high=0", lambda: np.random.uniform(1, 0)),
        ("uniform: high=1e308", lambda: np.random.uniform(-1e308, 1e308)),
        ("randint: ", lambda: np.random.randint(5, 2)),
        ("normal: cannot broadcast", lambda: np.random.normal(X, 1, size=0)),
        ("broadcast_to: .*overflows", lambda: np.broadcast_to(X, (2**61, 3))),
        ("repeat: .*too large", lambda: np.repeat(X, 2**62)),
        ("assignment: .*repeats its elements", lambda: np.broadcast_to(X, (2, 3)).__setitem__((0, 0), 5)),
        ("assignment: .*repeats its elements", lambda: np.broadcast_to(X, (2, 3)).__setitem__([0], 5)),
    ],
)
def test_who_says_it(name, call):
    with pytest.raises((ValueError, IndexError), match=rf"^{name}") as e:
        call()
    assert isinstance(e.value, MXNetError)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("repeat", lambda: np.repeat(X, [2**40] * 3)),
        ("repeat", lambda: np.repeat(X, [10**18] * 3)),
        ("histogram", lambda: np.histogram(X, bins=2**40)),
        ("histogram", lambda: nd.histogram(X, bins=2**40)),
    ],
)
def test_too_large(name, call):
    with pytest.raises(OutOfMemory, match=rf"^{name}"):
        call()


def test_half_a_character_in_a_name(tmp_path):
    with pytest.raises(ArgumentError, match=r"^save: the name"):
        nd.save(tmp_path / "x", {"\ud800": X})
    assert not list(tmp_path.iterdir())
