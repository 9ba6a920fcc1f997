"""MXNet's custom operations: forward, backward, states, shapes, and what is refused."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, errors, nd, operator


class Scale(operator.CustomOp):
    """y = factor * x + shift, with a state that counts calls."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.factor + in_data[1])
        if is_train:
            aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
        self.assign(in_grad[1], req[1], out_grad[0])


@operator.register("test_scale")
class ScaleProp(operator.CustomOpProp):
    def __init__(self, factor="1"):
        super().__init__(need_top_grad=True)
        assert isinstance(factor, str), "arguments come as strings, as in MXNet"
        self.factor = float(factor)

    def list_arguments(self):
        return ["data", "shift"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [[1]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        assert isinstance(ctx, mx.Context)
        assert in_shapes == [[2, 3], [2, 3]]
        return Scale(self.factor)


@operator.register("test_parts")
class PartsProp(operator.CustomOpProp):
    """Two outputs of other shapes and types than the input."""

    def list_outputs(self):
        return ["sum", "signs"]

    def infer_shape(self, in_shape):
        return in_shape, [[in_shape[0][0]], in_shape[0]]

    def infer_type(self, in_type):
        return in_type, [in_type[0], np.int8], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        class Parts(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0].sum(axis=1))
                self.assign(out_data[1], req[1], in_data[0].sign())

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], out_grad[0].expand_dims(1).broadcast_to(in_data[0].shape))

        return Parts()


@operator.register("test_softmax")
class SoftmaxProp(operator.CustomOpProp):
    """MXNet's own example: a layer that is a loss, whose gradient is that of the cross-entropy."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        class Softmax(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                x = in_data[0].asnumpy()
                y = np.exp(x - x.max(axis=1, keepdims=True))
                self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True)))

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                assert out_grad == []
                label = in_data[1].asnumpy().astype(int)
                y = out_data[0].asnumpy()
                y[np.arange(len(label)), label] -= 1
                self.assign(in_grad[0], req[0], nd.array(y))

        return Softmax()


def variable(values):
    array = nd.array(values)
    array.attach_grad()
    return array


@pytest.mark.usefixtures("engine")
def test_forward_and_backward():
    x, shift, count = variable(np.arange(6).reshape(2, 3)), variable(np.ones((2, 3))), nd.zeros(1)
    with autograd.record():
        y = nd.Custom(x, shift, count, factor=3, op_type="test_scale") * 2
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), 2 * (3 * x.asnumpy() + 1))
    np.testing.assert_array_equal(x.grad.asnumpy(), 6)
    np.testing.assert_array_equal(shift.grad.asnumpy(), 2)
    assert count.tolist() == [1]
    nd.Custom(x, shift, count, op_type="test_scale")
    assert count.tolist() == [1], "predictions do not count"


def test_inputs_by_name():
    x = nd.ones((2, 3))
    y = nd.Custom(x, count=nd.zeros(1), shift=x, op_type="test_scale", factor="2", name="mine")
    assert (y.asnumpy() == 3).all()


def test_several_outputs():
    x = variable([[1.0, -2.0], [3.0, 4.0]])
    with autograd.record():
        total, signs = nd.Custom(x, op_type="test_parts")
        loss = (total * nd.array([1, 10])).sum()
    loss.backward()
    assert total.tolist() == [-1, 7]
    assert signs.dtype == "int8"
    assert signs.tolist() == [[1, -1], [1, 1]]
    assert x.grad.tolist() == [[1, 1], [10, 10]]


def test_results_can_be_written_to_arrays():
    x, total, signs = nd.ones((2, 3)), nd.zeros(2), nd.zeros((2, 3), dtype="int8")
    made = nd.Custom(x, op_type="test_parts", out=[total, signs])
    assert made[0] is total
    assert (total.tolist(), signs.tolist()) == ([3, 3], [[1, 1, 1]] * 2)
    out = nd.zeros((2, 3))
    assert nd.Custom(x, x, nd.zeros(1), op_type="test_scale", out=out) is out
    assert (out.asnumpy() == 2).all()


def test_a_layer_that_is_a_loss():
    x, label = variable([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), nd.array([2, 0])
    with autograd.record():
        y = nd.Custom(x, label, op_type="test_softmax")
    y.backward()
    wanted = np.exp(x.asnumpy()) / np.exp(x.asnumpy()).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted - np.eye(3)[[2, 0]], atol=1e-6)


def test_inside_a_block():
    class Layer(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(x, op_type="test_parts")[0]

    assert Layer()(nd.ones((2, 3))).tolist() == [3, 3]


def test_an_input_that_was_overwritten_is_noticed():
    x = variable(np.ones((2, 2)))
    with autograd.record():
        z = x * 1
        y = nd.Custom(z, op_type="test_parts")[0]
    z += 1
    with pytest.raises(errors.MXNetError, match="overwritten"):
        y.backward()


def test_what_is_not_needed_is_not_kept():
    kept = []

    @operator.register("test_forgetful")
    class Forgetful(operator.CustomOpProp):
        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return out_grad

        def create_operator(self, ctx, in_shapes, in_dtypes):
            class Double(operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    self.assign(out_data[0], req[0], in_data[0] * 2)

                def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                    kept.append((len(in_data), len(out_data)))
                    self.assign(in_grad[0], req[0], out_grad[0] * 2)

            return Double()

    x = variable([1.0])
    with autograd.record():
        y = nd.Custom(x, op_type="test_forgetful")
    y.backward()
    assert kept == [(0, 0)]
    assert x.grad.tolist() == [2]


@pytest.mark.parametrize(("req", "wanted"), [("write", 3), ("inplace", 3), ("add", 4), ("null", 1)])
def test_assign(req, wanted):
    dst = nd.ones(2)
    operator.CustomOp().assign(dst, req, nd.full((2,), 3.0))
    assert dst.tolist() == [wanted] * 2
    with pytest.raises(ValueError, match="req='other'"):
        operator.CustomOp().assign(dst, "other", dst)


# Misuse.


def test_unknown_operations():
    with pytest.raises(ValueError, match=r"op_type='nothing' is not registered; there are .*test_scale"):
        nd.Custom(nd.ones(1), op_type="nothing")
    with pytest.raises(ValueError, match="op_type=None"):
        nd.Custom(nd.ones(1))
    with pytest.raises(ValueError, match="a CustomOpProp"):
        operator.register("wrong")(int)


def test_inputs_that_do_not_fit():
    x = nd.ones((2, 3))
    with pytest.raises(ValueError, match="inputs data, shift, count are needed, got 2 by position"):
        nd.Custom(x, x, op_type="test_scale")
    with pytest.raises(ValueError, match="and other by name"):
        nd.Custom(x, x, other=x, op_type="test_scale")
    with pytest.raises(errors.ShapeError, match=r"wants inputs of shapes .*\(2,\)"):
        nd.Custom(x, x, op_type="test_softmax")
    with pytest.raises(TypeError, match="NDArrays, got ndarray"):
        nd.Custom(np.ones(2), op_type="test_parts")


def test_properties_that_contradict_themselves():
    @operator.register("test_wrong")
    class Wrong(operator.CustomOpProp):
        def list_outputs(self):
            return ["one", "two"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], []

    with pytest.raises(ValueError, match="2 outputs, but infer_shape gives 1 shapes"):
        nd.Custom(nd.ones(1), op_type="test_wrong")


def test_classes_that_are_not_whole():
    with pytest.raises(NotImplementedError, match="create_operator"):
        operator.CustomOpProp().create_operator(mx.cpu(), [], [])
    with pytest.raises(NotImplementedError, match="forward"):
        operator.CustomOp().forward(True, [], [], [], [])
    with pytest.raises(NotImplementedError, match="backward"):
        operator.CustomOp().backward([], [], [], [], [], [])


def test_defaults_of_properties():
    prop = operator.CustomOpProp()
    assert prop.infer_shape([[2]]) == ([[2]], [[2]], [])
    assert prop.infer_type([np.float32]) == ([np.float32], [np.float32], [])
    assert prop.infer_storage_type(["default"]) == (["default"], ["default"], [])
    assert prop.infer_storage_type_backward(["x"], ["x"], ["x"], ["x"], []) == (["default"],) * 4 + ([],)
    assert prop.declare_backward_dependency([0], [1], [2]) == [0, 1, 2]


def test_the_op_table_as_mxnet_asks_for_it():
    names = operator.get_all_registered_operators()
    assert {"Convolution", "dot"} <= set(names)
    found = operator.get_operator_arguments("FullyConnected")
    assert found.names[:3] == ["data", "weight", "bias"]
    assert found.narg == len(found.names) == len(found.types)
    with pytest.raises(ValueError, match="no op 'nothing'"):
        operator.get_operator_arguments("nothing")
    with pytest.raises(AttributeError, match="symbols"):
        _ = operator.NumpyOp


class Faulty(operator.CustomOp):
    def __init__(self, at):
        self.at = at

    def forward(self, is_train, req, in_data, out_data, aux):
        fail(self.at, "forward")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        fail(self.at, "backward")


def fail(at, here):
    if at == here:
        raise KeyError("the user's")
    if at == f"{here} op":
        nd.ones(2) + nd.ones(3)


@operator.register("faulty")
class FaultyProp(operator.CustomOpProp):
    def __init__(self, at):
        super().__init__()
        self.at = at
        fail(at, "FaultyProp")

    def infer_shape(self, in_shape):
        fail(self.at, "infer_shape")
        return 3 if self.at == "3" else super().infer_shape(in_shape)

    def infer_type(self, in_type):
        fail(self.at, "infer_type")
        return super().infer_type(in_type)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        fail(self.at, "create_operator")
        return None if self.at == "None" else Faulty(self.at)


def run_faulty(at):
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, at=at, op_type="faulty")
    y.backward()


@pytest.mark.parametrize(
    "method", ["FaultyProp", "infer_shape", "infer_type", "create_operator", "forward", "backward"]
)
def test_exceptions_say_which_operation_and_what_it_did(method):
    with pytest.raises(errors.ShapeError, match=rf"cannot broadcast.*\n  in {method} of Custom 'faulty'"):
        run_faulty(f"{method} op")
    with pytest.raises(KeyError, match="the user's") as e:
        run_faulty(method)
    if hasattr(e.value, "add_note"):
        assert f"in {method} of Custom 'faulty'" in e.value.__notes__


def test_methods_that_return_something_else():
    with pytest.raises(errors.ArgumentError, match=r"must return.*got 3\n  in infer_shape of Custom 'faulty'"):
        run_faulty("3")
    with pytest.raises(errors.ArgumentError, match="Custom 'faulty': create_operator must return a CustomOp, got None"):
        run_faulty("None")
