"""Files of recurrent layers, whose parameters have other names in MXNet and torch."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import gluon, nd
from gluonish.gluon import rnn


class Net(gluon.Block):
    def __init__(self, bidirectional):
        super().__init__()
        self.rnn = rnn.LSTM(3, 2, bidirectional=bidirectional, input_size=4)
        self.cell = rnn.GRUCell(3, input_size=2)


def in_mxnets_words(path, bidirectional):
    """`rnn._unfused.0.l_cell.i2h_weight` for `rnn.l0_i2h_weight`; without the cell where there is one direction."""
    block, _, name = path.rpartition(".")
    if block == "cell":
        return path
    side, layer, part = name[0], name[1], name[3:]
    words = [block, "_unfused", layer, f"{side}_cell" if bidirectional else "", part]
    return ".".join(word for word in words if word)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_names_of_mxnet(tmp_path, bidirectional, alone):
    made = [Net(bidirectional) for _ in range(2)]
    one, other = [net.rnn if alone else net for net in made]
    one.initialize(mx.init.Normal(1))
    arrays = {in_mxnets_words(path, bidirectional): p.data() for path, p in one.named_parameters()}
    assert any("_unfused.1." in name for name in arrays)
    nd.save(tmp_path / "net.params", arrays)
    other.load_parameters(tmp_path / "net.params")
    for a, b in zip(one.collect_params().values(), other.collect_params().values(), strict=True):
        np.testing.assert_array_equal(a.data().asnumpy(), b.data().asnumpy())


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_files_for_mxnet_have_its_names(tmp_path, bidirectional, alone):
    net = Net(bidirectional)
    one = net.rnn if alone else net
    one.initialize()
    wanted = [in_mxnets_words(path, bidirectional) for path, _ in one.named_parameters()]
    one.save_parameters(tmp_path / "net.params")
    assert list(nd.load(tmp_path / "net.params")) == list(one._collect_params_with_prefix()) == wanted
    one.save_parameters(tmp_path / "net.safetensors")
    assert sorted(nd.load(tmp_path / "net.safetensors")) == sorted(path for path, _ in one.named_parameters())


def test_names_of_projections(tmp_path):
    """The order, and the names in files, that MXNet 1.9.1 has."""
    layer = rnn.LSTM(3, projection_size=2, input_size=4, prefix="lstm_")
    parts = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight"]
    assert list(layer.collect_params()) == [f"lstm_l0_{part}" for part in parts]
    layer.initialize()
    layer.save_parameters(tmp_path / "lstm.params")
    assert list(nd.load(tmp_path / "lstm.params")) == [f"_unfused.0.{part}" for part in parts]
    cell = gluon.contrib.rnn.LSTMPCell(3, 2, prefix="cell_")
    assert list(cell.collect_params()) == [
        *("cell_i2h_weight", "cell_h2h_weight", "cell_h2r_weight", "cell_i2h_bias", "cell_h2h_bias")
    ]


# What torch calls the parameters, in its order: of two layers in two directions, with a projection.
TORCH = [
    f"{part}_l{layer}{direction}"
    for layer in (0, 1)
    for direction in ("", "_reverse")
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
]


def test_names_of_torch():
    layer = rnn.LSTM(3, 2, bidirectional=True, projection_size=2, input_size=4)
    layer.initialize(mx.init.Normal(1))
    other = rnn.LSTM(3, 2, bidirectional=True, projection_size=2, input_size=4)
    order = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight"]
    ours = [f"{direction}{n}_{part}" for n in (0, 1) for direction in "lr" for part in order]
    values = layer.state_dict()
    other.load_state_dict({name: values[own] for name, own in zip(TORCH, ours, strict=True)})
    x = nd.random.normal(shape=(5, 2, 4))
    np.testing.assert_array_equal(layer(x).asnumpy(), other(x).asnumpy())
    cell, another = rnn.GRUCell(3, input_size=4), rnn.GRUCell(3, input_size=4)
    cell.initialize(mx.init.Normal(1))
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    another.load_state_dict(dict(zip(names, cell.state_dict().values(), strict=True)))
    begin = cell.begin_state(batch_size=2)
    np.testing.assert_array_equal(cell(x[0], begin)[0].asnumpy(), another(x[0], begin)[0].asnumpy())


@pytest.mark.parametrize(("kind", "how"), [("LSTM", {}), ("GRU", {}), ("RNN", {"nonlinearity": "tanh"})])
def test_weights_of_torch_mean_the_same(kind, how):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, kind)(4, 3, num_layers=2, bidirectional=True, **how)
    activation = {"activation": "tanh"} if kind == "RNN" else {}
    ours = getattr(rnn, kind)(3, 2, bidirectional=True, input_size=4, **activation)
    ours.load_state_dict({name: nd.array(t.numpy()) for name, t in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(5, 2, 4)).astype("float32")
    expected = theirs(torch.from_numpy(x))[0].detach().numpy()
    np.testing.assert_allclose(ours(nd.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_what_is_missing_is_told_beside_the_names_of_the_file():
    layer = rnn.LSTM(2, input_size=3)
    with pytest.raises(AssertionError, match=r"'l0_i2h_bias'.* missing in the dict, which has 'weight_ih_l0'"):
        layer.load_dict({"weight_ih_l0": nd.zeros((8, 3)), "weight_hh_l0": nd.zeros((8, 2))})
