"""Parameters to files and back."""

import numpy as np
import pytest
from unit.gluon_layers import Dense, Net

import gluonish as mx
from gluonish import gluon, nd
from gluonish.errors import FormatError
from gluonish.gluon import DeferredInitializationError, nn
from gluonish.gluon._walk import saved

TWO = [mx.cpu(0), mx.cpu(1)]
X = nd.ones((2, 3))


def trained(**kwargs):
    net = Net(**kwargs)
    net.initialize()
    net(X)
    return net


def state(net):
    return {path: parameter.data().tolist() for path, parameter in net.named_parameters()}


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "begins"),
        [("w.safetensors", None), ("w.params", b"\x12\x01"), ("w.npz", b"PK"), ("w", None), ("w.bin", None)],
    )
    def test_the_name_decides_and_loading_looks_inside(self, tmp_path, name, begins):
        net = trained()
        net.save_parameters(tmp_path / name)
        data = (tmp_path / name).read_bytes()
        assert data.startswith(begins) if begins else data[8:9] == b"{"
        renamed = tmp_path / "other.params"
        (tmp_path / name).rename(renamed)
        other = Net()
        other.load_parameters(str(renamed))
        assert other(X).tolist() == net(X).tolist()

    def test_names_are_attribute_paths(self, tmp_path):
        trained(prefix="net_").save_parameters(tmp_path / "w.safetensors")
        assert set(nd.load(tmp_path / "w.safetensors")) == {
            *("hidden.weight", "hidden.bias", "scale.factor", "output.weight", "output.bias")
        }

    def test_types(self, tmp_path):
        for dtype in ("float16", "bfloat16", "float64"):
            net = trained()
            net.cast(dtype)
            net.save_parameters(tmp_path / "w")
            other = Net()
            other.cast(dtype)
            other.load_parameters(tmp_path / "w")
            assert state(other) == state(net)

    def test_buffers_and_constants_are_saved(self, tmp_path):
        def make(value):
            net = gluon.Block()
            net.register_buffer("steps", [value])
            net.register_buffer("cache", [value], persistent=False)
            net.scale = gluon.Constant("scale", [value])
            net.initialize()
            return net

        make(5).save_parameters(tmp_path / "w")
        other = make(0)
        other.load_parameters(tmp_path / "w")
        assert (other.steps.item(), other.cache.item(), other.scale.data().item()) == (5, 0, 5)
        other.load_parameters(tmp_path / "w", ctx=TWO)
        assert [ctx.device_id for p in saved(other).values() for ctx in p.list_ctx()] == [0, 1, 0, 1]


class TestLoading:
    @pytest.fixture
    def saved(self, tmp_path):
        net = trained()
        net.save_parameters(tmp_path / "w.params")
        net.path = tmp_path / "w.params"
        return net

    def test_needs_no_initialize_and_tells_shapes(self, saved):
        other = Net()
        other.load_parameters(saved.path, ctx=TWO)
        assert other.hidden.weight.shape == (4, 3)
        assert other.hidden.weight.list_ctx() == TWO
        assert other.hidden.weight.grad(mx.cpu(1)).shape == (4, 3)

    def test_deferred_ones_go_where_they_were_promised(self, saved):
        other = Net()
        other.initialize(ctx=TWO)
        other.load_parameters(saved.path)
        assert other.hidden.weight.list_ctx() == TWO
        assert other.hidden.weight.data().tolist() == saved.hidden.weight.data().tolist()

    def test_other_devices_are_refused(self, saved):
        other = trained()
        with pytest.raises(AssertionError, match=r"of file .*cpu\(1\).*cpu\(0\)"):
            other.load_parameters(saved.path, ctx=mx.cpu(1))
        other.load_parameters(saved.path, ctx=mx.cpu(0))

    def test_arrays_stay_the_same_objects(self, saved):
        other = trained()
        before = other.hidden.weight.data()
        other.load_parameters(saved.path)
        assert other.hidden.weight.data() is before

    def test_missing(self, saved):
        other = nn.Sequential()
        other.hidden, other.more = Dense(4), Dense(1, in_units=1)
        other.initialize("zeros")
        with pytest.raises(AssertionError, match=r"'more\.weight', 'more\.bias' is missing.*allow_missing=True"):
            other.load_parameters(saved.path, ignore_extra=True)
        with pytest.raises(DeferredInitializationError):
            other.hidden.weight.data()  # nothing was loaded
        other.load_parameters(saved.path, ignore_extra=True, allow_missing=True)
        assert other.more.weight.data().item() == 0
        assert other.hidden.weight.data().tolist() == saved.hidden.weight.data().tolist()

    def test_extra(self, saved):
        other = nn.Sequential()
        other.hidden = Dense(4)
        with pytest.raises(ValueError, match=r"'scale\.factor'.*ignore_extra=True"):
            other.load_parameters(saved.path)
        with pytest.raises(RuntimeError):
            other.hidden.weight.data()

    def test_shape(self, saved):
        other = trained()
        other.output = Dense(5, in_units=4)
        other.output.initialize()
        before = state(other)
        with pytest.raises(
            AssertionError, match=r"'output\.weight' of file .*w\.params' has shape \(2, 4\), which .* \(5, 4\)"
        ):
            other.load_parameters(saved.path)
        assert state(other) == before

    def test_dtype(self, saved):
        other = trained()
        other.cast("float16")
        before = state(other)
        with pytest.raises(AssertionError, match=r"'hidden\.weight' of file .*float32.*float16.*cast_dtype=True"):
            other.load_parameters(saved.path)
        assert state(other) == before
        other.load_parameters(saved.path, cast_dtype=True)
        assert other.hidden.weight.dtype == np.float16
        np.testing.assert_allclose(
            other.hidden.weight.data().asnumpy(), saved.hidden.weight.data().asnumpy(), rtol=1e-3, atol=1e-4
        )
        other.load_parameters(saved.path, cast_dtype=True, dtype_source="saved")
        assert other.hidden.weight.dtype == np.float32
        assert state(other) == state(saved)
        with pytest.raises(AssertionError, match="dtype_source"):
            other.load_parameters(saved.path, cast_dtype=True, dtype_source="both")

    def test_saved_types_that_have_no_gradient_change_nothing(self, saved):
        arrays = nd.load(saved.path)
        arrays["output.bias"] = nd.zeros(2, dtype="int32")
        nd.save(saved.path, arrays)
        other = trained()
        before = state(other)
        with pytest.raises(TypeError, match="int32"):
            other.load_parameters(saved.path, cast_dtype=True, dtype_source="saved")
        assert state(other) == before
        other.load_parameters(saved.path, cast_dtype=True)
        assert other.output.bias.dtype == np.float32

    def test_no_elements(self, saved):
        nd.save(saved.path, {"weight": nd.zeros((4, 0)), "bias": nd.zeros(4)})
        other = Dense(4)
        with pytest.raises(AssertionError, match="no elements"):
            other.load_parameters(saved.path)

    def test_deferred_cannot_be_saved_and_leave_the_old_file(self, saved):
        before = saved.path.read_bytes()
        other = Net()
        with pytest.raises(RuntimeError, match="has not been initialized"):
            other.save_parameters(saved.path)
        other.initialize()
        with pytest.raises(DeferredInitializationError):
            other.save_parameters(saved.path)
        assert saved.path.read_bytes() == before

    def test_empty(self, tmp_path):
        gluon.Block().save_parameters(tmp_path / "w")
        gluon.Block().load_parameters(tmp_path / "w")


class TestForeign:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"not a file of arrays",
            b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00",
            b"\x12\x01" + b"\xff" * 60,
            b"\xff\xff\xff\xff\xff\xff\xff\x7f{}",
        ],
    )
    def test_damaged_files_leave_the_net_as_it_was(self, tmp_path, data):
        net = trained()
        before = state(net)
        (tmp_path / "w.params").write_bytes(data)
        with pytest.raises(FormatError):
            net.load_parameters(tmp_path / "w.params")
        assert state(net) == before

    def test_cut_off(self, tmp_path):
        net = trained()
        before = state(net)
        for name in ("w.params", "w.safetensors", "w.npz"):
            net.save_parameters(tmp_path / name)
            data = (tmp_path / name).read_bytes()
            (tmp_path / name).write_bytes(data[: len(data) * 2 // 3])
            with pytest.raises(FormatError):
                net.load_parameters(tmp_path / name)
        assert state(net) == before

    def test_arrays_without_names(self, tmp_path):
        nd.save(tmp_path / "list.params", [nd.ones(2)])
        with pytest.raises(FormatError, match="without names"):
            trained().load_parameters(tmp_path / "list.params")

    def test_no_file(self):
        with pytest.raises(FileNotFoundError):
            trained().load_parameters("/nowhere/w.params")

    def test_one_wrong_array_among_right_ones_changes_nothing(self, tmp_path):
        net = trained()
        net.save_parameters(tmp_path / "w.params")
        arrays = {name: array + 1 for name, array in nd.load(tmp_path / "w.params").items()}
        arrays["output.bias"] = nd.ones((7,))
        nd.save(tmp_path / "w.params", arrays)
        before = state(net)
        with pytest.raises(AssertionError):
            net.load_parameters(tmp_path / "w.params")
        assert state(net) == before


class TestShared:
    def make(self):
        net = gluon.Block()
        net.a = Dense(2, in_units=2)
        net.b = Dense(2, in_units=2, params=net.a.params)
        net.initialize()
        return net

    def test_under_every_path_or_the_last(self, tmp_path):
        net = self.make()
        net.save_parameters(tmp_path / "all")
        assert set(nd.load(tmp_path / "all")) == {"a.weight", "a.bias", "b.weight", "b.bias"}
        net.save_parameters(tmp_path / "once", deduplicate=True)
        assert set(nd.load(tmp_path / "once")) == {"b.weight", "b.bias"}
        for name in ("all", "once"):
            other = self.make()
            other.load_parameters(tmp_path / name)
            assert other.a.weight.data().tolist() == net.a.weight.data().tolist()


class TestOldNames:
    def test_a_lone_layer(self, tmp_path):
        layer = Dense(2, in_units=2, prefix="first_")
        layer.initialize()
        layer.save_parameters(tmp_path / "w.params")
        assert set(nd.load(tmp_path / "w.params")) == {"weight", "bias"}
        other = Dense(2, prefix="second_")
        other.load_parameters(tmp_path / "w.params")
        assert other.weight.data().tolist() == layer.weight.data().tolist()

    def test_full_names_with_and_without_the_prefix(self, tmp_path):
        net = trained(prefix="net_")
        net.collect_params().save(tmp_path / "full.params")
        net.collect_params().save(tmp_path / "stripped.params", strip_prefix="net_")
        assert "net_dense0_weight" in nd.load(tmp_path / "full.params")
        assert "dense0_weight" in nd.load(tmp_path / "stripped.params")
        for name in ("full", "stripped"):
            other = Net(prefix="net_")
            other.load_parameters(tmp_path / f"{name}.params")
            assert state(other) == state(net)
        other = Net(prefix="other_")
        other.load_parameters(tmp_path / "stripped.params")
        assert state(other) == state(net)

    def test_marks_of_exported_models(self, tmp_path):
        net = trained(prefix="net_")
        arrays = {f"arg:{name}": p.data() for name, p in net.collect_params().items()}
        nd.save(tmp_path / "w.params", arrays)
        for load in (lambda n: n.load_parameters, lambda n: n.collect_params().load):
            other = Net(prefix="net_")
            load(other)(tmp_path / "w.params")
            assert state(other) == state(net)

    def test_two_names_for_one(self, tmp_path):
        net = trained(prefix="net_")
        bias = net.output.bias.data()
        nd.save(tmp_path / "w.params", {"arg:net_dense1_bias": bias, "net_dense1_bias": bias})
        with pytest.raises(AssertionError, match="mean the same parameter"):
            net.load_parameters(tmp_path / "w.params", allow_missing=True)

    def test_deprecated_words(self, tmp_path):
        net = trained(prefix="net_")
        with pytest.warns(DeprecationWarning, match="save_parameters"):
            net.save_params(tmp_path / "w.params")
        other = Net(prefix="other_")
        with pytest.warns(DeprecationWarning, match="load_parameters"):
            other.load_params(tmp_path / "w.params")
        assert state(other) == state(net)


class TestNamesOfTorch:
    """What torch calls the parameters of norms, and a count that it keeps."""

    def torchs(self, norms):
        """The state of networks of a convolution and a norm, as torch has it."""
        rng = np.random.default_rng(0)
        made = {"0.weight": rng.normal(size=(4, 3, 3, 3)), "0.bias": rng.normal(size=4)}
        made |= {f"1.{part}": rng.uniform(1, 2, size=4) for part in norms}
        return {name: nd.array(value) for name, value in made.items()}

    @pytest.mark.parametrize("norm", [nn.BatchNorm, nn.GroupNorm, nn.InstanceNorm])
    def test_norms(self, tmp_path, norm):
        statistics = ["running_mean", "running_var"] if norm is nn.BatchNorm else []
        arrays = self.torchs(["weight", "bias", *statistics])
        counted = {"1.num_batches_tracked": nd.array(np.int64(7), dtype="int64")} if statistics else {}
        nd.save(tmp_path / "torch.safetensors", {**arrays, **counted})
        net = nn.HybridSequential()
        net.add(nn.Conv2D(4, 3), norm())
        net.load_parameters(tmp_path / "torch.safetensors")
        ours = {"weight": "gamma", "bias": "beta"}
        for name, array in arrays.items():
            layer, part = name.split(".")
            part = ours[part] if layer == "1" and part in ours else part
            assert getattr(net[int(layer)], part).data().tolist() == array.tolist()

    def test_counts_of_nothing_are_too_much(self):
        net = nn.Dense(1, in_units=1)
        arrays = {"weight": nd.ones((1, 1)), "bias": nd.ones(1), "num_batches_tracked": nd.ones(1)}
        with pytest.raises(AssertionError, match="'num_batches_tracked' of the dict is no parameter"):
            net.load_dict(arrays)

    def test_names_of_both_kinds(self):
        net = nn.LayerNorm(in_channels=1)
        with pytest.raises(AssertionError, match="'gamma' and 'weight' of the dict mean the same parameter, 'gamma'"):
            net.load_dict({"gamma": nd.ones(1), "weight": nd.ones(1), "beta": nd.ones(1)})


class TestParameterDict:
    def test_save_and_load(self, tmp_path):
        net = trained(prefix="net_")
        net.collect_params().save(tmp_path / "w", strip_prefix="net_")
        other = Net(prefix="other_")
        other.collect_params().load(tmp_path / "w", restore_prefix="other_", ctx=mx.cpu(1))
        other.reset_ctx(mx.cpu(0))
        assert state(other) == state(net)

    def test_errors_are_assertions(self, tmp_path):
        net = trained(prefix="net_")
        params = net.collect_params()
        params.save(tmp_path / "w")
        with pytest.raises(ValueError, match="'wrong_'"):
            params.save(tmp_path / "w", strip_prefix="wrong_")
        with pytest.raises(AssertionError, match="'wrong_'"):
            params.load(tmp_path / "w", restore_prefix="wrong_")
        with pytest.raises(AssertionError, match="ignore_extra"):
            net.hidden.collect_params().load(tmp_path / "w")
        net.hidden.collect_params().save(tmp_path / "part")
        with pytest.raises(AssertionError, match="allow_missing"):
            params.load(tmp_path / "part")
        params.load(tmp_path / "part", allow_missing=True)

    def test_dicts(self):
        net = trained(prefix="net_")
        arrays = {name: p.data() * 2 for name, p in net.collect_params().items()}
        expected = {name: array.tolist() for name, array in arrays.items()}
        net.collect_params().load_dict(arrays)
        assert {name: p.data().tolist() for name, p in net.collect_params().items()} == expected
        with pytest.raises(TypeError, match="ndarray"):
            net.collect_params().load_dict({name: a.asnumpy() for name, a in arrays.items()})
        net.load_dict({path: p.data() for path, p in net.named_parameters()})
