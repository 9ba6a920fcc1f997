"""Parameters, constants and their dicts."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.errors import ArgumentError, DTypeError, MXNetError, UnsupportedError
from gluonish.gluon.parameter import (
    Constant,
    DeferredInitializationError,
    NotInitializedError,
    Parameter,
    ParameterDict,
    ParameterError,
)

TWO = [mx.cpu(0), mx.cpu(1)]


def made(**kwargs):
    parameter = Parameter("weight", **{"shape": (2, 3), **kwargs})
    parameter.initialize()
    return parameter


class TestInitialize:
    def test_default_is_uniform_of_007(self):
        values = Parameter("weight", shape=(100, 100))
        values.initialize()
        found = values.data().asnumpy()
        assert found.dtype == np.float32
        assert 0.069 < np.abs(found).max() <= 0.07
        assert abs(found.mean()) < 0.002

    def test_own_initializer_wins_over_the_default_and_an_explicit_one_over_both(self):
        own = Parameter("bias", shape=(2,), init="ones")
        own.initialize(default_init="zeros")
        assert own.data().tolist() == [1, 1]
        own.initialize(init=mx.init.Constant(5), force_reinit=True)
        assert own.data().tolist() == [5, 5]

    def test_the_name_does_not_matter(self):
        parameter = Parameter("some_bias", shape=(2,))
        parameter.initialize(default_init=mx.init.Constant(7))
        assert parameter.data().tolist() == [7, 7]

    def test_twice_warns_and_changes_nothing(self):
        parameter = made(init="ones")
        with pytest.warns(UserWarning, match="already initialized, ignoring"):
            parameter.initialize(init="zeros")
        assert parameter.data().sum().item() == 6

    def test_unknown_shape_without_deferral_raises_valueerror(self):
        with pytest.raises(ValueError, match=r"'w'.*\(0, 3\)"):
            Parameter("w", shape=(0, 3)).initialize()

    def test_an_initializer_that_fails_leaves_the_values(self):
        parameter = made(shape=(3,), init="ones")
        with pytest.raises(ValueError):
            parameter.initialize(init="xavier", force_reinit=True)
        assert parameter.data().tolist() == [1, 1, 1]

    def test_an_unknown_initializer_is_refused_at_once(self):
        parameter = Parameter("w", shape=(0,), allow_deferred_init=True)
        with pytest.raises(ValueError, match="xavire"):
            parameter.initialize("xavire")

    def test_initializers_know_the_one_for_all(self):
        seen = []

        class Own(mx.init.Initializer):
            def _init_weight(self, name, arr):
                seen.append((str(name), name.global_init))

        parameter = Parameter("w", shape=(1,), init=Own())
        parameter.initialize(default_init="ones")
        assert seen == [("w", mx.init.One())]

    def test_several_devices_have_the_same_values(self):
        parameter = Parameter("w", shape=(3, 3))
        parameter.initialize(ctx=TWO)
        first, second = parameter.list_data()
        assert (first.ctx, second.ctx) == (mx.cpu(0), mx.cpu(1))
        assert first.tolist() == second.tolist()
        assert parameter.list_ctx() == TWO

    def test_the_seed_decides(self):
        mx.random.seed(3)
        first = made().data().tolist()
        mx.random.seed(3)
        assert made().data().tolist() == first

    @pytest.mark.parametrize("ctx", [[], [mx.cpu(0), mx.cpu(0)], 5])
    def test_devices_that_are_none(self, ctx):
        with pytest.raises(ArgumentError, match="ctx"):
            Parameter("w", shape=(1,)).initialize(ctx=ctx)

    def test_device_is_ctx(self):
        parameter = Parameter("w", shape=(1,))
        parameter.initialize(device=mx.cpu(1))
        assert parameter.list_device() == [mx.cpu(1)]
        with pytest.raises(ArgumentError, match="mean the same"):
            parameter.reset_ctx(mx.cpu(0), device=mx.cpu(1))

    def test_not_recorded(self):
        with autograd.record():
            parameter = made()
        with autograd.record():
            loss = parameter.data().sum()
        loss.backward()
        assert parameter.grad().tolist() == np.ones((2, 3)).tolist()


class TestData:
    def test_never_initialized_is_a_runtimeerror_but_not_deferred(self):
        for call in (Parameter.data, Parameter.grad, Parameter.list_data, Parameter.list_grad, Parameter.list_ctx):
            with pytest.raises(RuntimeError, match="'weight' has not been initialized") as e:
                call(Parameter("weight", shape=(2,)))
            assert type(e.value) is NotInitializedError
            assert not isinstance(e.value, DeferredInitializationError)

    def test_deferred_says_which_dimension_and_how_to_give_it(self):
        parameter = Parameter("w", shape=(4, 0), allow_deferred_init=True)
        parameter.initialize(ctx=TWO)
        for call in (parameter.data, parameter.grad, parameter.list_data):
            with pytest.raises(DeferredInitializationError, match=r"'w'.*dimension 1 of its shape \(4, 0\).*in_units"):
                call()
        assert parameter.list_ctx() == TWO
        assert issubclass(DeferredInitializationError, MXNetError)

    def test_other_device_raises_and_names_those_that_are(self):
        with pytest.raises(RuntimeError, match=r"cpu\(1\).*only on cpu\(0\)"):
            made().data(mx.cpu(1))

    def test_current_device_among_several(self):
        parameter = Parameter("w", shape=(1,))
        parameter.initialize(ctx=TWO)
        assert parameter.data().ctx == mx.cpu(0)
        with mx.cpu(1):
            assert parameter.data().ctx == mx.cpu(1)
        with mx.cpu(2), pytest.raises(RuntimeError, match=r"cpu\(2\).*cpu\(0\), cpu\(1\)"):
            parameter.data()

    def test_same_array_each_time(self):
        parameter = made()
        assert parameter.data() is parameter.data()


class TestSetData:
    def test_writes_every_copy_and_keeps_the_arrays(self):
        parameter = Parameter("w", shape=(2,))
        parameter.initialize(ctx=TWO)
        before = parameter.list_data()
        parameter.set_data(nd.array([1, 2]))
        assert all(a is b for a, b in zip(before, parameter.list_data(), strict=True))
        assert [x.tolist() for x in parameter.list_data()] == [[1, 2], [1, 2]]

    def test_uninitialized_is_an_assertionerror(self):
        with pytest.raises(AssertionError, match="'w' has not been initialized"):
            Parameter("w", shape=(2,)).set_data(nd.ones(2))

    def test_no_elements(self):
        parameter = Parameter("w", shape=(0, 3), allow_deferred_init=True)
        parameter.initialize()
        with pytest.raises(AssertionError, match=r"\(0, 3\) has no elements"):
            parameter.set_data(nd.zeros((0, 3)))
        constant = Constant("c", nd.zeros((0, 3)))
        constant.initialize()
        with pytest.raises(AssertionError, match="does not fit"):
            constant.set_data(nd.zeros((2, 3)))

    def test_wrong_shape_changes_nothing(self):
        parameter = made(init="zeros")
        with pytest.raises(AssertionError, match=r"\(3, 2\) does not fit its shape \(2, 3\)"):
            parameter.set_data(nd.ones((3, 2)))
        assert parameter.data().sum().item() == 0

    def test_deferred_keeps_the_value_until_the_first_forward(self):
        parameter = Parameter("w", shape=(2, 0), allow_deferred_init=True)
        parameter.initialize()
        value = nd.ones((2, 3))
        parameter.set_data(value)
        value[:] = 9  # set_data took a copy
        with pytest.raises(DeferredInitializationError):
            parameter.data()
        parameter._finish_deferred_init()
        assert parameter.shape == (2, 3)
        assert parameter.data().tolist() == [[1, 1, 1], [1, 1, 1]]


class TestShape:
    def test_only_unknown_dimensions_can_be_set(self):
        parameter = Parameter("w", shape=(4, 0, -1))
        assert parameter.shape == (4, 0, 0)
        parameter.shape = (4, 3, 0)
        parameter.shape = (4, 0, 2)
        assert parameter.shape == (4, 3, 2)
        for wrong in [(5, 3, 2), (4, 3), 4]:
            with pytest.raises(AssertionError, match="does not fit"):
                parameter.shape = wrong

    def test_a_number_is_one_dimension(self):
        assert Parameter("w", shape=5).shape == (5,)

    @pytest.mark.parametrize("shape", [(-2,), "two", (1.5,)])
    def test_no_shapes(self, shape):
        with pytest.raises(ArgumentError, match="shape"):
            Parameter("w", shape=shape)

    def test_scalars(self):
        parameter = Parameter("w", shape=(), init="ones")
        parameter.initialize()
        assert parameter.data().shape == ()
        parameter.set_data(5)
        assert parameter.data().item() == 5


class TestGradient:
    def test_write_and_add(self):
        for req, expected in [("write", 3), ("add", 9)]:
            parameter = made(grad_req=req)
            for _ in range(3):
                with autograd.record():
                    loss = (parameter.data() * 3).sum()
                loss.backward()
            assert parameter.grad().asnumpy().max() == expected
            parameter.zero_grad()
            assert parameter.grad().sum().item() == 0

    def test_null_has_none(self):
        parameter = made(grad_req="null")
        with pytest.raises(RuntimeError, match="grad_req='null'"):
            parameter.grad()
        parameter.zero_grad()

    def test_changing_the_request_makes_and_drops_it(self):
        parameter = made(grad_req="null")
        array = parameter.data()
        parameter.grad_req = "write"
        assert parameter.grad().shape == (2, 3)
        parameter.grad_req = "null"
        assert array.grad is None
        assert parameter.data() is array

    def test_unknown_request(self):
        with pytest.raises(AssertionError, match="'sometimes'"):
            Parameter("w", grad_req="sometimes")
        parameter = made()
        with pytest.raises(AssertionError):
            parameter.grad_req = None
        assert parameter.grad_req == "write"

    def test_not_differentiable(self):
        parameter = made(differentiable=False)
        assert parameter.grad_req == "null"
        parameter.grad_req = "write"
        assert parameter.grad_req == "null"

    def test_integers_have_none(self):
        with pytest.raises(DTypeError, match=r"'weight'.*int32.*grad_req='null'"):
            made(dtype="int32", init="zeros")
        assert made(dtype="int32", init="zeros", grad_req="null").data().dtype == np.int32

    def test_each_device_has_its_own(self):
        parameter = Parameter("w", shape=(1,), init="ones")
        parameter.initialize(ctx=TWO)
        with autograd.record():
            losses = [parameter.data(ctx) * (i + 1) for i, ctx in enumerate(TWO)]
        autograd.backward(losses)
        assert [g.item() for g in parameter.list_grad()] == [1, 2]
        parameter.zero_grad()
        assert [g.item() for g in parameter.list_grad()] == [0, 0]


class TestChanges:
    def test_cast_takes_values_and_gradients_along(self):
        parameter = made(init="ones", grad_req="add")
        for dtype in ("float16", "float64", "bfloat16", "float32"):
            parameter.cast(dtype)
            assert str(parameter.data().dtype) == str(parameter.grad().dtype) == str(parameter.dtype) == dtype
            with autograd.record():
                loss = parameter.data().sum()
            loss.backward()
        assert parameter.grad().tolist() == [[4] * 3] * 2
        parameter.dtype = "float16"
        assert parameter.data().dtype == np.float16

    def test_cast_before_values(self):
        parameter = Parameter("w", shape=(2,))
        parameter.cast("float16")
        parameter.initialize()
        assert parameter.data().dtype == np.float16

    def test_cast_to_integers_needs_no_gradient(self):
        parameter = made()
        with pytest.raises(DTypeError):
            parameter.cast("int8")
        assert parameter.dtype == np.float32
        assert parameter.grad().dtype == np.float32

    def test_reset_ctx_averages_copies_that_differ(self):
        parameter = Parameter("w", shape=(1,))
        parameter.initialize(ctx=TWO)
        for value, array in enumerate(parameter.list_data()):
            array[:] = value
        parameter.reset_ctx(mx.cpu(2))
        assert parameter.list_ctx() == [mx.cpu(2)]
        assert parameter.data().tolist() == [0.5]
        assert parameter.grad().ctx == mx.cpu(2)

    def test_reset_ctx_of_a_deferred_one(self):
        parameter = Parameter("w", shape=(0,), allow_deferred_init=True)
        parameter.initialize()
        parameter.reset_ctx(TWO)
        assert parameter.list_ctx() == TWO

    def test_reset_ctx_uninitialized_is_a_valueerror(self):
        with pytest.raises(ValueError, match="not been initialized"):
            Parameter("w", shape=(1,)).reset_ctx(mx.cpu(1))

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
    def test_copies_have_the_values_and_a_gradient_of_their_own(self, copied):
        parameter = Parameter("w", shape=(2,), lr_mult=0.5, init="ones")
        parameter.initialize(ctx=TWO)
        other = copied(parameter)
        other.set_data([3, 4])
        assert (other.name, other.lr_mult, other.list_ctx()) == ("w", 0.5, TWO)
        assert parameter.data().tolist() == [1, 1]
        with autograd.record():
            loss = other.data().sum()
        loss.backward()
        assert other.grad().tolist() == [1, 1]
        assert parameter.grad().tolist() == [0, 0]
        assert other.data() is other.data()

    def test_copies_of_deferred_ones_stay_deferred(self):
        parameter = Parameter("w", shape=(0,), allow_deferred_init=True)
        parameter.initialize("ones")
        other = pickle.loads(pickle.dumps(parameter))
        other.shape = (2,)
        other._finish_deferred_init()
        assert other.data().tolist() == [1, 1]


def test_text():
    assert repr(Parameter("dense0_weight", shape=(4, 3))) == "Parameter dense0_weight (shape=(4, 3), dtype=float32)"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda p: p.var(), "symbols"),
        (lambda p: p.row_sparse_data(nd.ones(1)), "sparse arrays"),
        (lambda p: p.list_row_sparse_data(nd.ones(1)), "sparse arrays"),
        (lambda p: Parameter("w", stype="row_sparse"), "sparse arrays"),
        (lambda p: Parameter("w", grad_stype="row_sparse"), "sparse arrays"),
    ],
)
def test_what_is_not_built_says_what_it_waits_for(call, what):
    with pytest.raises(UnsupportedError, match=what):
        call(made())


class TestConstant:
    def test_has_a_value_and_no_gradient(self):
        constant = Constant("c", [[1, 2]])
        constant.initialize(ctx=TWO)
        assert [x.tolist() for x in constant.list_data()] == [[[1, 2]], [[1, 2]]]
        assert constant.grad_req == "null"

    def test_another_request_warns_and_is_ignored(self):
        constant = Constant("c", [1])
        with pytest.warns(UserWarning, match="'write' is ignored"):
            constant.grad_req = "write"
        assert constant.grad_req == "null"

    def test_keeps_types_and_shapes_of_arrays(self):
        constant = Constant(nd.zeros((0, 2), dtype="int32"))
        constant.initialize()
        assert constant.data().shape == (0, 2)
        assert constant.data().dtype == np.int32

    def test_values_are_its_own(self):
        value = nd.ones(2)
        constant = Constant("c", value)
        constant.initialize()
        constant.data()[:] = 5
        assert value.tolist() == [1, 1]


class TestParameterDict:
    def test_get_makes_once(self):
        params = ParameterDict("net_")
        weight = params.get("weight", shape=(2, 0))
        assert weight.name == "net_weight"
        assert params.get("weight", shape=(0, 3)) is weight
        assert weight.shape == (2, 3)
        assert list(params.items()) == [("net_weight", weight)]

    def test_get_with_other_arguments_is_an_assertionerror(self):
        params = ParameterDict()
        params.get("w", shape=(2, 3), dtype="float16", init="ones")
        params.get("w", shape=(2, 3), dtype=np.float16, init="ones", grad_req=None)
        for other in ({"shape": (3, 2)}, {"dtype": "float32"}, {"init": "zeros"}, {"grad_req": "add"}):
            with pytest.raises(AssertionError, match="'w'"):
                params.get("w", **other)

    def test_shared_parameters_keep_their_names(self):
        first = ParameterDict("first_")
        weight = first.get("weight", shape=(2,))
        second = ParameterDict("first_", first)
        assert second.get("weight") is weight
        assert list(second) == ["first_weight"]

    def test_unknown_name(self):
        params = ParameterDict()
        params.get("weight", shape=(1,))
        with pytest.raises(KeyError, match="did you mean weight"):
            params["wieght"]

    def test_constants(self):
        params = ParameterDict("p_")
        constant = params.get_constant("c", [1, 2])
        assert params.get_constant("c") is params.get_constant("c", np.array([1, 2])) is constant
        with pytest.raises(AssertionError, match="another value"):
            params.get_constant("c", [1, 3])
        with pytest.raises(KeyError, match="p_d"):
            params.get_constant("d")
        params.get("w", shape=(1,))
        with pytest.raises(AssertionError, match="not a constant"):
            params.get_constant("w", [1])

    def test_one_name_for_two_is_an_assertionerror(self):
        one, two = ParameterDict(), ParameterDict()
        one.get("w", shape=(1,))
        two.get("w", shape=(1,))
        with pytest.raises(AssertionError, match="two parameters are called 'w'"):
            one.update(two)

    def test_all_at_once(self):
        params = ParameterDict()
        w, b = params.get("w", shape=(2,)), params.get("b", shape=(2,), init="zeros", grad_req="add")
        frozen = params.get("f", shape=(1,), grad_req="null")
        params.initialize("ones", ctx=TWO)
        assert (w.data().tolist(), b.data().tolist(), frozen.data().tolist()) == ([1, 1], [0, 0], [1])
        with autograd.record():
            losses = [(w.data(ctx) * 2 + b.data(ctx)).sum() for ctx in TWO]
        autograd.backward(losses)
        assert [g.tolist() for g in w.list_grad()] == [[2, 2], [2, 2]]
        params.zero_grad()
        assert all(g.tolist() == [0, 0] for p in (w, b) for g in p.list_grad())
        params.reset_ctx(mx.cpu(1))
        assert params.list_ctx() == [mx.cpu(1)]
        params.setattr("grad_req", "null")
        assert w.grad_req == "null"
        with pytest.raises(AttributeError, match="learning_rate"):
            params.setattr("learning_rate", 1)

    def test_verbose_tells(self, caplog):
        params = ParameterDict()
        params.get("w", shape=(2,))
        with caplog.at_level("INFO"):
            params.initialize(mx.init.One(), verbose=True)
        assert "w" in caplog.text

    def test_text(self):
        params = ParameterDict("a_")
        params.get("w", shape=(2,))
        assert repr(params) == "a_ (\n  Parameter a_w (shape=(2,), dtype=float32)\n)"

    def test_errors_are_what_users_catch(self):
        assert issubclass(ParameterError, AssertionError | ValueError | MXNetError)
        assert gluon.DeferredInitializationError is DeferredInitializationError


def test_initialize_once_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made()
