"""Densities: what MXNet gives, what is outside of a distribution's range, integration to 1, gradients of counts."""

import math

import numpy as np
import pytest

from gluonish import autograd, errors, nd


def test_as_mxnet():
    """Values that MXNet 1.9 gives; beta of the gamma density is a rate."""
    x = nd.array([[1, 2]])
    two, half = nd.array([2]), nd.array([0.5])
    for got, want in (
        (nd.random_pdf_gamma(x, two, nd.array([3])), [[0.44808364, 0.04461754]]),
        (nd.random_pdf_generalized_negative_binomial(x, two, half), [[0.25, 0.1875]]),
        (nd.random_pdf_negative_binomial(x, two, half), [[0.25, 0.1875]]),
        (nd.random_pdf_uniform(x, nd.array([0]), two), [[0.5, 0.5]]),
        (nd.random_pdf_poisson(nd.array([[-1, 1.5]]), two), [[0, 0.28795183]]),
    ):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)
    shares = nd.array([[[0.3, 0.7], [0.5, 0.5]]])
    assert nd.random_pdf_dirichlet(shares, nd.array([[1, 2]])).shape == (1, 2)
    assert nd.random_pdf_normal(nd.array([1, 2]), nd.zeros(2), nd.ones(2)).shape == (2,)
    whole = nd.array([[1, 2]], dtype="int32")
    np.testing.assert_allclose(nd.random_pdf_poisson(whole, two).asnumpy(), [[2 * math.exp(-2)] * 2], rtol=1e-5)


def test_outside():
    x = nd.array([[-1, 0.5, 9]])
    assert nd.random_pdf_uniform(x, nd.array([0]), nd.array([2])).tolist() == [[0, 0.5, 0]]
    assert nd.random_pdf_uniform(x, nd.array([0]), nd.array([2]), is_log=True).tolist()[0][0] == -math.inf
    one = nd.ones(1)
    for f, parameters in (
        (nd.random_pdf_exponential, (one,)),
        (nd.random_pdf_gamma, (one, one)),
        (nd.random_pdf_poisson, (one,)),
        (nd.random_pdf_negative_binomial, (one, one / 2)),
        (nd.random_pdf_generalized_negative_binomial, (one, one)),
    ):
        density = f(x, *parameters).tolist()[0]
        assert density[0] == 0
        assert density[1] > 0
        x.attach_grad()
        with autograd.record():
            y = f(x, *parameters)
        y.backward()
        gradient = x.grad.tolist()[0]
        assert gradient[0] == 0
        assert all(map(math.isfinite, gradient))


def test_densities_add_up_to_one():
    x = nd.arange(0.0005, 60, 0.001, dtype="float64").reshape(1, -1)
    p = {k: nd.array([v], dtype="float64") for k, v in (("one", 1.3), ("two", 2.4), ("half", 0.5))}
    for density in (
        nd.random_pdf_exponential(x, p["one"]),
        nd.random_pdf_gamma(x, p["two"], p["one"]),
        nd.random_pdf_normal(x, p["one"] * 20, p["two"]),
        nd.random_pdf_uniform(x, p["one"], p["two"]),
    ):
        assert abs(density.sum().item() * 0.001 - 1) < 2e-3
    k = nd.arange(0, 300, dtype="float64").reshape(1, -1)
    for probability in (
        nd.random_pdf_poisson(k, p["two"]),
        nd.random_pdf_negative_binomial(k, p["two"], p["half"]),
        nd.random_pdf_generalized_negative_binomial(k, p["two"], p["half"]),
    ):
        assert abs(probability.sum().item() - 1) < 1e-9


def test_shapes_that_do_not_fit():
    with pytest.raises(errors.ShapeError, match=r"random_pdf_normal: parameters of shape \(3,\).*\(2, 3\)"):
        nd.random_pdf_normal(nd.ones((2, 3)), nd.ones(3), nd.ones(3))
