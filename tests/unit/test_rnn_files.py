"""Files that MXNet wrote of recurrent layers, whose parameters have other names there."""

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
