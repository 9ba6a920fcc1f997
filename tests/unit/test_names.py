"""Names and attributes of symbols, the features of the build, and MXNet's `util`."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gluonish as mx
from gluonish import util


def test_names_count_up_by_hint():
    manager = mx.name.NameManager()
    assert [manager.get(None, h) for h in ("conv", "fc", "conv")] == ["conv0", "fc0", "conv1"]
    assert manager.get("mine", "conv") == "mine"


def test_prefix_and_scopes():
    outermost = mx.name.current()
    with mx.name.Prefix("a_") as a:
        with mx.name.Prefix("b_"):
            assert mx.name.current().get(None, "fc") == "b_fc0"
        assert mx.name.current() is a
        assert [a.get(None, "fc"), a.get("x", "fc"), a.get(None, "fc")] == ["a_fc0", "a_x", "a_fc1"]
        with a:
            assert mx.name.current() is a
    assert mx.name.current() is outermost


def test_scopes_belong_to_their_thread():
    found = []
    with mx.name.Prefix("a_"), mx.AttrScope(x="1"):
        thread = threading.Thread(target=lambda: found.extend([mx.name.current(), mx.attribute.current().get(None)]))
        thread.start()
        thread.join()
    assert not isinstance(found[0], mx.name.Prefix)
    assert found[1] == {}


def test_attributes():
    scope = mx.AttrScope(group="1", data="x")
    assert scope.get({"data": "y"}) == {"group": "1", "data": "y"}
    assert scope.get(None) == {"group": "1", "data": "x"}
    with mx.AttrScope(outer="0", data="z"), scope:
        assert mx.attribute.current().get({"own": "2"}) == {"outer": "0", "group": "1", "data": "x", "own": "2"}
    assert scope.get(None) == {"group": "1", "data": "x"}
    assert mx.attribute.current().get(None) == {}
    with pytest.raises(ValueError, match="group=3 is not valid"):
        mx.AttrScope(group=3)


def test_features():
    features = mx.runtime.Features()
    assert features.is_enabled("cuda") is False
    assert features.is_enabled("PROFILER") is True
    assert features["CUDA"] == ("CUDA", False)
    assert {f.name for f in mx.runtime.feature_list()} == set(features)
    assert "✖ CUDA" in repr(features)
    with pytest.raises(RuntimeError, match=r"'CUDAA' is not a feature: known are .*CUDA"):
        features.is_enabled("CUDAA")


def test_features_are_those_of_mxnet():
    mxnets = """CUDA CUDNN NCCL CUDA_RTC TENSORRT CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A CPU_AVX
        CPU_AVX2 OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK MKLDNN OPENCV CAFFE PROFILER
        DIST_KVSTORE CXX14 INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"""
    assert set(mx.runtime.Features()) == set(mxnets.split())


def test_environment_variables(monkeypatch):
    monkeypatch.delenv("A_TEST", raising=False)
    assert util.getenv("A_TEST") is None
    util.setenv("A_TEST", "1")
    assert util.getenv("A_TEST") == "1"
    util.setenv("A_TEST", None)
    assert util.getenv("A_TEST") is None


def test_gpus():
    assert util.get_gpu_count() == 0
    for call in (util.get_gpu_memory, util.get_cuda_compute_capability):
        with pytest.raises(mx.MXNetError, match="no GPU support"):
            call(0)


def test_switches():
    with util.np_array(True):
        assert util.is_np_array()
        with util.np_array(False):
            assert not util.is_np_array()
        assert util.is_np_array()
    assert not util.is_np_array()
    with util.np_shape():
        assert util.is_np_shape()
    assert util.set_np_shape(True) is True
    for refused in (util.set_np_shape, util.np_shape):
        with pytest.raises(NotImplementedError, match="switched off"):
            refused(False)
    assert util.use_np_shape(len) is util.use_np_array(len) is len


def test_set_module():
    def function():
        return 1

    assert util.set_module("elsewhere")(function).__module__ == "elsewhere"
    assert util.set_module(None)(function).__module__ == "elsewhere"


@pytest.mark.parametrize(
    ("key", "value", "legal"),
    [
        ("where", 3, True),
        ("casting", "safe", True),
        ("casting", "quick", False),
        ("order", "C", True),
        ("order", 1, False),
        ("dtype", "float16", True),
        ("dtype", np.int8, True),
        ("dtype", "complex64", False),
        ("subok", False, True),
        ("subok", 1, False),
        ("axis", 0, False),
    ],
)
def test_options_of_universal_functions(key, value, legal):
    assert util.np_ufunc_legal_option(key, value) is legal


def test_wrapped_functions():
    def negate(x, out=None):
        return -x

    def minus(x1, x2, out=None):
        return x1 - x2

    for call, result in ((lambda **k: util.wrap_np_unary_func(negate)(3, **k), -3),
                         (lambda **k: util.wrap_np_binary_func(minus)(3, 1, **k), 2)):  # fmt: skip
        assert call(where=True, casting="same_kind", order="K", dtype=None, subok=True) == result
        with pytest.raises(TypeError, match="no argument 'axis'"):
            call(axis=1)
        with pytest.raises(NotImplementedError, match="dtype='float16'"):
            call(dtype="float16")
        with pytest.raises(TypeError, match="casting='quick' is not valid"):
            call(casting="quick")
