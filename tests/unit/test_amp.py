"""Mixed precision: what is cast, losses that are scaled, steps that are skipped, blocks that are converted."""

import copy
import inspect
import pickle
import threading

import numpy as np
import pytest

import gluonish as mx
from gluonish import amp, autograd, errors, gluon, nd
from gluonish import np as gnp
from gluonish.amp import LossScaler
from gluonish.gluon import Trainer, nn

DTYPES = ["float16", "bfloat16"]
X = nd.array(np.random.default_rng(0).normal(size=(4, 3, 8, 8)))


def convnet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(5))
    net.initialize(mx.init.Xavier())
    return net


def kind(array):
    return str(array.dtype)


# What is cast.


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_narrow_and_sums_are_wide(dtype):
    a = nd.ones((2, 2))
    with amp.init(dtype):
        assert kind(nd.dot(a, a)) == kind(gnp.dot(a, a)) == kind(gnp.matmul(a, a)) == dtype
        assert kind(nd.linalg.gemm2(a, a)) == kind(nd.linalg_gemm2(a, a)) == dtype
        narrow = nd.dot(a, a)
        assert kind(nd.softmax(narrow)) == kind(nd.mean(narrow)) == kind(gnp.exp(narrow)) == "float32"
        assert kind(nd.relu(narrow)) == dtype
        assert kind(narrow + a) == "float32"
        assert kind(nd.Activation(narrow, act_type="softrelu")) == "float32"
        assert kind(nd.LeakyReLU(narrow, act_type="elu")) == "float32"
        assert kind(nd.LeakyReLU(narrow, act_type="leaky")) == kind(nd.Activation(narrow, act_type="relu")) == dtype
        assert nd.dot(nd.ones((2, 2), dtype="float64"), nd.ones((2, 2), dtype="float64")).dtype == "float64"
        assert nd.sum(nd.ones(3, dtype="int32")).dtype == "int64"


def test_everything_is_as_before_when_it_is_off():
    before = nd.dot, nd.softmax, gnp.exp, nd.linalg.gemm2
    with amp.init("bfloat16"):
        assert nd.dot is not before[0]
        assert inspect.signature(nd.dot) == inspect.signature(before[0])
        assert nd.dot.__doc__ == before[0].__doc__
        with amp.init("float16"):
            assert nd.dot(nd.ones((1, 1)), nd.ones((1, 1))).dtype == "float16"
        assert kind(nd.dot(nd.ones((1, 1)), nd.ones((1, 1)))) == "bfloat16"
    assert (nd.dot, nd.softmax, gnp.exp, nd.linalg.gemm2) == before


def test_out_is_not_cast():
    out = nd.zeros((2, 2))
    with amp.init("bfloat16"):
        assert nd.dot(nd.ones((2, 2)), nd.ones((2, 2)), out=out) is out
    assert out.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_networks_train_near_float32(dtype):
    """Parameters and their gradients stay float32, deferred shapes are found, and the gradient is that of float32."""
    plain, mixed = convnet(), convnet()
    plain(X)
    with amp.init(dtype):
        assert kind(mixed(X)) == dtype
    for ours, theirs in zip(mixed.collect_params().values(), plain.collect_params().values(), strict=True):
        ours.set_data(theirs.data())
    gradients = []
    for net, scope in ((plain, None), (mixed, dtype)):
        with autograd.record():
            if scope is None:
                loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(X), nd.array([0, 1, 2, 3]))
            else:
                with amp.init(scope):
                    loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(X), nd.array([0, 1, 2, 3]))
        assert kind(loss) == "float32"
        loss.backward()
        gradients.append(net[0].weight.grad())
    assert kind(gradients[1]) == kind(mixed[0].weight.data()) == "float32"
    wanted = gradients[0].asnumpy()
    np.testing.assert_allclose(gradients[1].asnumpy(), wanted, atol=0.05 * np.abs(wanted).max())
    assert (gradients[1].asnumpy() != wanted).any()


def test_losses_are_wide():
    pred, label = nd.ones((2, 3), dtype="float16"), nd.array([0, 2])
    losses = [gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.SoftmaxCELoss(axis=1)]
    with amp.init("float16"):
        assert {kind(loss(pred, label)) for loss in losses} == {"float32"}
        assert kind(gluon.loss.L2Loss()(pred, pred)) == "float32"
    assert {kind(loss(pred, label)) for loss in losses} == {"float16"}


def test_lists_can_be_changed():
    a = nd.ones((2, 2))
    with amp.init("bfloat16", target_precision_ops=["relu"], fp32_ops=["dot"]):
        assert kind(nd.relu(a)) == "bfloat16"
        assert kind(nd.dot(nd.relu(a), a)) == "float32"
    with amp.init("bfloat16", conditional_fp32_ops=[("Activation", "act_type", ["tanh"])]):
        assert kind(nd.Activation(a.astype("bfloat16"), act_type="tanh")) == "float32"


def test_lists():
    assert "Convolution" in amp.list_lp16_ops("float16")
    assert "log_softmax" in amp.list_fp32_ops("bfloat16")
    assert "relu" in amp.list_lp16_fp32_ops("float16")
    assert ("Activation", "act_type", ["softrelu"]) in amp.list_conditional_fp32_ops("float16")
    assert amp.list_widest_type_cast("float16") == []
    assert "SoftmaxOutput" in amp.list_loss_output_functions("float16")
    assert "BatchNorm" in amp.list_lp16_use_fp32_params("float16")
    groups = [amp.list_lp16_ops(), amp.list_fp32_ops(), amp.list_lp16_fp32_ops()]
    assert sum(map(len, groups)) == len(set().union(*groups)), "a function is in one list"


def test_every_name_in_the_lists_is_a_function():
    from gluonish.amp.casts import Casts

    Casts("float16", low=amp.list_lp16_ops())
    Casts("float16", float32=amp.list_fp32_ops())


@pytest.mark.parametrize("name", ["float32", "int8", 3, None])
def test_other_types_are_refused(name):
    with pytest.raises(ValueError, match="expected 'float16' or 'bfloat16'"):
        amp.init(name)


def test_wrong_lists_are_refused_and_change_nothing():
    before = nd.dot
    with pytest.raises(ValueError, match="no function 'dott'"):
        amp.init("float16", target_precision_ops=["dott"])
    with pytest.raises(ValueError, match="both precisions"):
        amp.init("float16", target_precision_ops=["relu"], fp32_ops=["relu"])
    assert nd.dot is before


# Losses that are scaled.


def scaled_step(trainer, weight, factor=1.0):
    with autograd.record():
        loss = (weight.data() * factor).sum()
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(1)


def one_weight(ctx=None, **options):
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize(ctx=ctx)
    trainer = Trainer([weight], "sgd", {"learning_rate": 0.5, **options})
    with amp.init("float16"):
        amp.init_trainer(trainer)
    return weight, trainer


def test_a_step_takes_the_factor_away_again():
    weight, trainer = one_weight()
    scaled_step(trainer, weight)
    assert weight.grad().tolist() == [65536, 65536]
    assert weight.data().tolist() == [0.5, 0.5]


def test_a_step_without_a_scaled_loss_is_a_plain_one():
    weight, trainer = one_weight()
    scaled_step(trainer, weight)
    weight.grad()[:] = 1
    trainer.step(1)
    assert weight.data().tolist() == [0, 0]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
@pytest.mark.parametrize(("ctx", "on_store"), [(None, None), ([mx.cpu(0), mx.cpu(1)], True),
                                               ([mx.cpu(0), mx.cpu(1)], False)])  # fmt: skip
def test_steps_that_overflow_are_skipped(bad, ctx, on_store):
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize(ctx=ctx)
    trainer = Trainer([weight], "sgd", {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.1}, update_on_kvstore=on_store)
    with amp.init("float16"):
        amp.init_trainer(trainer)
    for gradient in weight.list_grad():
        gradient[:] = 1
    weight.list_grad()[-1][1] = bad
    trainer.step(1)
    assert all(data.tolist() == [1, 1] for data in weight.list_data())
    assert trainer._amp_loss_scaler.loss_scale == 2.0**15
    for gradient in weight.list_grad():
        gradient[:] = 1
    trainer.step(1)
    wanted = 1 - 0.5 * (len(weight.list_ctx()) + 0.1)
    for data in weight.list_data():
        np.testing.assert_allclose(data.asnumpy(), wanted, rtol=1e-6)


def test_the_factor_follows_the_rule():
    """Against the same rule in Python: halves, never below 1; doubles after the window, up to 2 ** 24."""
    scaler, scale, good = LossScaler(init_scale=2.0**22, scale_window=3), 2.0**22, 0
    for step in range(60):
        finite = step % 11 < 9 if step < 40 else False
        scaler.settle([nd.ones(3), nd.array([1.0 if finite else np.inf])])
        if finite:
            good += 1
            if good == 3:
                scale, good = min(scale * 2, 2.0**24), 0
        else:
            scale, good = max(scale / 2, 1.0), 0
        assert scaler.loss_scale == scale, step
    assert scale == 16


def test_nobody_waits_for_the_flag():
    """The gradient comes from a function that waits for this test; the step, and the next loss, do not wait for it."""
    weight, trainer = one_weight()
    go = threading.Event()
    if mx.engine.is_naive():
        go.set()

    def late(inputs, outputs):
        assert go.wait(60)
        outputs[0][:] = np.inf

    (made,) = mx.operator.callback(late, [nd.ones(2)], [((2,), "float32")])
    weight.grad()[:] = made
    trainer.step(1)
    with autograd.record(), amp.scale_loss(weight.data().sum(), trainer) as scaled:
        pass
    go.set()
    assert weight.data().tolist() == [1, 1]
    assert float(scaled) == 2 * 2.0**15


def test_losses_of_several_devices():
    ctx = [mx.cpu(0), mx.cpu(1)]
    weight, trainer = one_weight(ctx)
    with autograd.record():
        losses = [weight.data(one).sum() for one in ctx]
        with amp.scale_loss(losses, trainer) as scaled:
            autograd.backward(scaled)
    assert [one.ctx for one in scaled] == ctx
    trainer.step(2)
    assert weight.data(ctx[1]).tolist() == [0.5, 0.5]


def test_unscaled_gradients_can_be_clipped():
    weight, trainer = one_weight()
    with autograd.record():
        loss = (weight.data() * 3).sum()
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    amp.unscale(trainer)
    assert weight.grad().tolist() == [3, 3]
    gluon.utils.clip_global_norm([weight.grad()], 1.0)
    trainer.step(1)
    np.testing.assert_allclose(weight.data().asnumpy(), 1 - 0.5 * 0.5**0.5, rtol=1e-5)


def test_unscale_makes_no_stale_gradient_new():
    _, trainer = one_weight()
    with amp.scale_loss(nd.ones(1), trainer):
        amp.unscale(trainer)
    with pytest.raises(UserWarning, match="backward"):
        trainer.step(1)


def test_bfloat16_needs_no_factor():
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = Trainer([weight], "sgd", {"learning_rate": 0.5})
    with amp.init("bfloat16"):
        amp.init_trainer(trainer)
    for _ in range(3):
        scaled_step(trainer, weight)
    assert trainer._amp_loss_scaler.loss_scale == 1
    assert weight.data().tolist() == [-0.5, -0.5]


def test_gradients_are_unscaled_once():
    weight, trainer = one_weight()
    with autograd.record(), amp.scale_loss((weight.data() * 3).sum(), trainer) as scaled:
        autograd.backward(scaled)
    amp.unscale(trainer)
    with pytest.raises(AssertionError, match=r"no scale_loss\(\)"):
        amp.unscale(trainer)
    assert weight.grad().tolist() == [3, 3]


def test_batches_that_add_up_are_unscaled_before_the_last_step():
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = Trainer([weight], "sgd", {"learning_rate": 0.5}, accumulate=2)
    with amp.init("float16"):
        amp.init_trainer(trainer)
    for last in (False, True):
        with autograd.record(), amp.scale_loss((weight.data() * 3).sum(), trainer) as scaled:
            autograd.backward(scaled)
        if last:
            amp.unscale(trainer)
            assert weight.grad().tolist() == [6, 6]
        else:
            with pytest.raises(AssertionError, match="batch 1 of 2"):
                amp.unscale(trainer)
        trainer.step(1)
    assert weight.data().tolist() == [1 - 0.5 * 3] * 2


def test_scaled_losses_that_add_up():
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = Trainer([weight], "sgd", {"learning_rate": 0.5}, accumulate=2)
    with amp.init("float16"):
        amp.init_trainer(trainer)
    for _ in range(2):
        scaled_step(trainer, weight)
    assert weight.data().tolist() == [0.5, 0.5]


def test_misuse():
    weight = gluon.Parameter("weight", shape=(2,))
    weight.initialize()
    trainer = Trainer([weight], "sgd")
    with pytest.raises(AssertionError, match=r"amp\.init\(\)"):
        amp.init_trainer(trainer)
    with pytest.raises(AssertionError, match="init_trainer"), amp.scale_loss(nd.ones(1), trainer):
        pass
    with pytest.raises(AssertionError, match="init_trainer"):
        amp.unscale(trainer)
    for function in (amp.init_trainer, amp.unscale):
        with pytest.raises(TypeError, match="a Trainer is needed, got str"):
            function("sgd")
    for wrong in ({"init_scale": 0}, {"scale_factor": 0.5}, {"scale_window": 0}, {"init_scale": 2.0**30}):
        with pytest.raises(ValueError, match="LossScaler"):
            LossScaler(**wrong)


# Blocks that are converted.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cast", [False, True])
def test_converted_blocks(dtype, cast):
    net = convnet()
    wanted = net(X).asnumpy()
    converted = amp.convert_hybrid_block(net, dtype, cast_optional_params=cast)
    made = converted(X)
    assert kind(made) == dtype
    np.testing.assert_allclose(made.astype("float32").asnumpy(), wanted, atol=0.05 * np.abs(wanted).max())
    assert kind(converted[0].weight.data()) == (dtype if cast else "float32")
    assert kind(converted[1].gamma.data()) == "float32"
    assert kind(net(X)) == kind(net[0].weight.data()) == "float32"
    for other in (copy.deepcopy(converted), pickle.loads(pickle.dumps(converted))):
        np.testing.assert_array_equal(other(X).astype("float32").asnumpy(), made.astype("float32").asnumpy())


def test_converted_blocks_train():
    net = convnet()
    net(X)
    converted = amp.convert_hybrid_block(net, "bfloat16")
    trainer = Trainer(converted, "sgd")
    before = converted[0].weight.data().asnumpy()
    with autograd.record():
        loss = converted(X).sum()
    loss.backward()
    trainer.step(4)
    assert (converted[0].weight.data().asnumpy() != before).any()


def test_blocks_can_be_left_out():
    net = convnet()
    net(X)
    converted = amp.convert_hybrid_block(net, "bfloat16", excluded_sym_names=[net[3].name])
    assert kind(converted(X)) == "float32"
    with pytest.raises(ValueError, match="no block 'nothing' to exclude"):
        amp.convert_hybrid_block(net, "bfloat16", excluded_sym_names=["nothing"])


def test_conversion_moves_to_a_device():
    net = convnet()
    net(X)
    converted = amp.convert_hybrid_block(net, "bfloat16", ctx=mx.cpu(1))
    assert converted(X.as_in_context(mx.cpu(1))).ctx == mx.cpu(1)
    assert net[0].weight.list_ctx() == [mx.cpu(0)]


def test_what_cannot_be_converted():
    with pytest.raises(TypeError, match="a HybridBlock is needed, got Sequential"):
        amp.convert_hybrid_block(nn.Sequential())
    net = convnet()
    with pytest.raises(gluon.DeferredInitializationError):
        amp.convert_hybrid_block(net)
    with pytest.raises(errors.UnsupportedError, match="symbols"):
        _ = amp.convert_model


def test_names():
    assert mx.contrib.amp is mx.amp
    with pytest.raises(AttributeError, match="quantization"):
        _ = mx.contrib.quantization
