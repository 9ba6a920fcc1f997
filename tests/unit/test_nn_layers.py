"""What holds for every layer of gluon.nn, driven by the samples of nn_driver."""

import copy
import pickle

import numpy as np
import pytest
from unit.nn_driver import SAMPLES, call, numeric_gradients, started, values

import gluonish as mx
from gluonish import autograd, gluon
from gluonish.gluon import nn

EVERY = pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.layer.__name__)
LAYERS = [
    name
    for name in nn.__all__
    if isinstance(getattr(nn, name), type) and name not in {"Block", "HybridBlock", "SymbolBlock"}
]


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_has_a_sample(name):
    assert any(s.layer is getattr(nn, name) for s in SAMPLES), f"nn.{name} has no sample: add it to nn_driver.py"


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_documented_with_an_example(name):
    layer = getattr(nn, name)
    assert ">>>" in layer.__doc__
    if layer.__module__ != "gluonish.gluon.nn.container":
        assert any(word in layer.__doc__ for word in ("Input", "hape", "``("))


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.given], ids=lambda s: s.layer.__name__)
def test_sizes_taken_from_the_input_or_given_make_the_same_layer(sample, tmp_path):
    deferred = started(sample)
    deferred.save_parameters(tmp_path / "layer.params")
    given = sample.make(**sample.given)
    given.initialize()
    assert all(0 not in p.shape for p in given.collect_params().values())
    given.load_parameters(tmp_path / "layer.params")
    np.testing.assert_array_equal(values(given, sample.arrays()), values(deferred, sample.arrays()))
    assert [p.shape for p in given.collect_params().values()] == [p.shape for p in deferred.collect_params().values()]


@EVERY
@pytest.mark.parametrize("suffix", ["safetensors", "params"])
def test_saved_and_loaded(sample, suffix, tmp_path):
    layer, file = started(sample), tmp_path / f"layer.{suffix}"
    layer.save_parameters(file)
    other = sample.make()
    other.load_parameters(file)
    np.testing.assert_array_equal(values(other, sample.arrays()), values(layer, sample.arrays()))


@EVERY
def test_pickled_and_copied(sample):
    layer = started(sample)
    wanted = values(layer, sample.arrays())
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        for parameter in layer.collect_params().values():
            before = parameter.data().copy()
            parameter.set_data(before * 0)
            np.testing.assert_array_equal(values(other, sample.arrays()), wanted)
            parameter.set_data(before)
        assert repr(other) == repr(layer)


@EVERY
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_cast(sample, dtype):
    layer = started(sample)
    wanted = values(layer, sample.arrays())
    layer.cast(dtype)
    inputs = [mx.nd.array(a, dtype=a.dtype) for a in sample.arrays()]
    inputs = [x.astype(dtype) if "float" in str(x.dtype) else x for x in inputs]
    result = layer(*inputs)
    assert str(result.dtype) == dtype
    near = {"float64": 1e-5, "float16": 0.02, "bfloat16": 0.1}[dtype]
    np.testing.assert_allclose(result.astype("float32").asnumpy(), wanted, rtol=near, atol=near * np.abs(wanted).max())


@EVERY
def test_text(sample):
    layer = sample.make()
    assert repr(layer).startswith(type(layer).__name__)
    assert repr(started(sample)).startswith(type(layer).__name__)


@EVERY
def test_two_devices_compute_the_same(sample):
    devices = [mx.cpu(0), mx.cpu(1)]
    layer = started(sample, ctx=devices)
    results = [call(layer, sample.arrays(), ctx) for ctx in devices]
    assert [y.context for y in results] == devices
    np.testing.assert_array_equal(results[0].asnumpy(), results[1].asnumpy())


@EVERY
def test_training_and_prediction(sample):
    layer = started(sample)
    predicted = values(layer, sample.arrays())
    np.testing.assert_array_equal(values(layer, sample.arrays()), predicted)
    with autograd.train_mode():
        trained = values(layer, sample.arrays())
    assert (trained == predicted).all() == (not (sample.draws or sample.batch))
    if sample.draws:
        with autograd.train_mode():
            assert (values(layer, sample.arrays()) != trained).any()
    with autograd.train_mode():
        layer.eval()
        again = values(layer, sample.arrays())
    if not sample.batch:
        np.testing.assert_array_equal(again, predicted)


@EVERY
def test_gradients(sample):
    numeric_gradients(started(sample, dtype="float64"), sample.arrays("float64"))


@EVERY
def test_parameters_are_shared_with_another_layer(sample):
    layer = started(sample)
    if sample.layer in {nn.Lambda, nn.HybridLambda} or hasattr(sample.make, "__code__"):
        return  # a function has no parameters, and what stands in others is shared by itself
    other = sample.make(params=layer.collect_params())
    assert [*map(id, other.collect_params().values())] == [*map(id, layer.collect_params().values())]
    np.testing.assert_array_equal(values(other, sample.arrays()), values(layer, sample.arrays()))


@EVERY
def test_summary(sample, capsys):
    layer = started(sample)
    before = values(layer, sample.arrays())
    layer.summary(*(mx.nd.array(a, dtype=a.dtype) for a in sample.arrays()))
    assert type(layer).__name__ in capsys.readouterr().out
    np.testing.assert_array_equal(values(layer, sample.arrays()), before)


@EVERY
def test_an_empty_batch(sample):
    layer = started(sample)
    wanted = values(layer, sample.arrays()).shape
    empty = values(layer, [a[:0] for a in sample.arrays()])
    assert empty.shape == (0, *wanted[1:])


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="did you mean Dense"):
        nn.Desne
    with pytest.raises(AttributeError, match="symbols"):
        nn.SymbolBlock
    assert nn.Concatenate is nn.Concurrent
    assert nn.HybridConcatenate is nn.HybridConcurrent


@EVERY
def test_hybrid_layers_say_that_they_are_not_compiled_yet(sample):
    layer = sample.make()
    if isinstance(layer, gluon.HybridBlock):
        with pytest.raises(mx.errors.UnsupportedError, match="compil"):
            layer.hybridize()


@EVERY
def test_an_empty_batch_tells_sizes(sample):
    layer = sample.make()
    layer.initialize()
    y = call(layer, [a[:0] for a in sample.arrays()])
    assert y.shape[0] == 0
    assert all(0 not in p.shape for p in layer.collect_params().values())
