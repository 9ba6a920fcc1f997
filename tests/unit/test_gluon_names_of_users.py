"""Subclasses may call their attributes and methods what they like, as long as Gluon's blocks do not have the name."""

import copy
import pickle
import warnings

import pytest

from gluonish import autograd, gluon, nd
from gluonish.gluon import contrib, loss, nn, rnn

# What Gluon's own blocks have, in MXNet too: names that subclasses share with their base.
GLUONS = {
    *("_prefix", "_params", "_name", "_empty_prefix", "_children", "_reg_params", "_forward_hooks"),
    *("_forward_pre_hooks", "_alias", "_collect_params_with_prefix"),
}
SHORT = [
    *("_active", "_add", "_adopt", "_apply", "_array", "_arrays", "_backward_hooks", "_buffers", "_by_path"),
    *("_cache", "_call", "_call_guarded", "_check", "_child", "_collect", "_config", "_contained"),
    *("_context", "_copies", "_counters", "_create", "_data", "_device", "_device_of", "_dtype", "_expose"),
    *("_F", "_features", "_forward", "_forward_first", "_free", "_get", "_guard", "_guarded", "_hold"),
    *("_holds", "_hooks", "_id", "_index", "_infer", "_init", "_initialize", "_inputs", "_key", "_keys", "_kids"),
    *("_kind", "_label", "_labels", "_layers", "_length", "_list", "_load", "_loss", "_make", "_map", "_mode"),
    *("_module", "_modules", "_not_compiled", "_own", "_owner", "_parameters", "_parent", "_parts"),
    *("_passing", "_path", "_paths", "_pinned", "_place", "_prepare", "_register", "_register_parameter"),
    *("_relabel", "_reset", "_run", "_save", "_saved", "_settled", "_shape", "_size", "_state", "_states"),
    *("_states_before", "_step", "_torch", "_train", "_training", "_tree", "_type", "_value", "_walk"),
    *("_weight", "_weights"),
]


def private(cls, instance):
    found = {name for base in cls.__mro__ for name in vars(base)} | set(vars(instance))
    return {name for name in found if name[0] == "_" and "__" not in name}  # two lines: Python adds the class


@pytest.mark.parametrize("cls", [gluon.Block, gluon.HybridBlock, nn.Sequential, nn.HybridSequential])
def test_private_names_are_gluons_or_one(cls):
    assert private(cls, cls()) == {*GLUONS, "_gluonish"}


@pytest.mark.parametrize("cls", [rnn.RecurrentCell, rnn.HybridRecurrentCell])
def test_of_cells(cls):
    assert private(cls, cls()) == {*GLUONS, "_gluonish", "_modified"}


# The private names of layers, by the ones that have them: MXNet's layers have these too.
LAYERS = {
    "": [
        *(nn.Concurrent, nn.Flatten, nn.GELU, nn.HybridConcurrent, nn.Identity, nn.PReLU, nn.ReflectionPad2D, nn.SELU),
        *(lambda: nn.Embedding(2, 3), lambda: nn.Lambda("relu"), lambda: nn.HybridLambda("relu")),
        *(lambda: nn.PixelShuffle1D(2), lambda: nn.PixelShuffle2D(2), lambda: nn.PixelShuffle3D(2)),
    ],
    "_kwargs": [
        *(nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D, nn.MaxPool1D, nn.MaxPool2D, nn.MaxPool3D, nn.GlobalAvgPool1D),
        *(nn.GlobalAvgPool2D, nn.GlobalAvgPool3D, nn.GlobalMaxPool1D, nn.GlobalMaxPool2D, nn.GlobalMaxPool3D),
        *(nn.BatchNorm, nn.BatchNormReLU, nn.SyncBatchNorm),
    ],
    "_channels _in_channels _kwargs": [
        *(lambda: nn.Conv1D(1, 1), lambda: nn.Conv2D(1, 1), lambda: nn.Conv3D(1, 1)),
        *(lambda: nn.Conv1DTranspose(1, 1), lambda: nn.Conv2DTranspose(1, 1), lambda: nn.Conv3DTranspose(1, 1)),
    ],
    "_act_type": [lambda: nn.Activation("relu")],
    "_flatten _units": [lambda: nn.Dense(1)],
    "_axes _rate": [lambda: nn.Dropout(0.5)],
    "_alpha": [nn.ELU, lambda: nn.LeakyReLU(0.1)],
    "_beta": [nn.Swish],
    "_epsilon _kwargs _num_groups": [nn.GroupNorm],
    "_axis _epsilon _kwargs": [nn.InstanceNorm, nn.LayerNorm],
    "_dir _dropout _dtype _gates _hidden_size _input_size _layout _mode _num_layers _projection_size _unfuse "
    "_use_sequence_length": [lambda: rnn.RNN(2), lambda: rnn.LSTM(2), lambda: rnn.GRU(2)],
    "_modified _hidden_size _input_size": [lambda: rnn.GRUCell(2)],
    "_modified _hidden_size _input_size _activation": [lambda: rnn.RNNCell(2)],
    "_modified _hidden_size _input_size _activation _recurrent_activation": [lambda: rnn.LSTMCell(2)],
    "_modified _hidden_size _input_size _projection_size": [lambda: contrib.rnn.LSTMPCell(2, 1)],
    "_modified _activation _channel_axis _conv_layout _h2h_dilate _h2h_kernel _h2h_pad _hidden_channels _i2h_dilate "
    "_i2h_kernel _i2h_pad _input_shape _state_shape": [
        lambda: contrib.rnn.Conv1DRNNCell((1, 5), 2, 3, 3),
        lambda: contrib.rnn.Conv2DLSTMCell((1, 5, 5), 2, 3, 3),
        lambda: contrib.rnn.Conv3DGRUCell((1, 5, 5, 5), 2, 3, 3),
    ],
    "_modified": [
        *(rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell, lambda: rnn.ResidualCell(rnn.RNNCell(2))),
        lambda: contrib.rnn.VariationalDropoutCell(rnn.RNNCell(2)),
    ],
    "_modified _output_prefix": [lambda: rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))],
    "_modified _axes _rate": [lambda: rnn.DropoutCell(0.5)],
    "_modified _prev_output": [lambda: rnn.ZoneoutCell(rnn.RNNCell(2))],
    "_batch_axis _weight": [loss.L1Loss, loss.L2Loss, loss.SDMLLoss],
    "_batch_axis _weight _rho": [loss.HuberLoss],
    "_batch_axis _weight _margin": [loss.HingeLoss, loss.SquaredHingeLoss, loss.TripletLoss, loss.CosineEmbeddingLoss],
    "_batch_axis _weight _label_format": [loss.LogisticLoss],
    "_batch_axis _weight _from_sigmoid": [loss.SigmoidBinaryCrossEntropyLoss],
    "_batch_axis _weight _axis _from_logits": [loss.KLDivLoss],
    "_batch_axis _weight _axis _from_logits _sparse_label": [loss.SoftmaxCrossEntropyLoss],
    "_batch_axis _weight _compute_full _from_logits": [loss.PoissonNLLLoss],
    "_batch_axis _weight _layout _label_layout": [loss.CTCLoss],
}


@pytest.mark.parametrize("names", LAYERS)
def test_layers_have_private_names_of_mxnets_alone(names):
    for make in LAYERS[names]:
        layer = make()
        assert private(type(layer), layer) == {*GLUONS, "_gluonish", *names.split()}, type(layer).__name__


def test_subclasses_of_layers():
    """With attributes of names that the layers had for themselves."""

    class Recurrent(rnn.LSTM):
        def __init__(self, *args):
            super().__init__(*args)
            self._packed, self._width, self._clip, self._checked = False, 3, 5, True

    class Cell(rnn.LSTMCell):
        def __init__(self, *args):
            super().__init__(*args)
            self._products = []

    class Loss(loss.SoftmaxCrossEntropyLoss):
        def __init__(self):
            super().__init__()
            self._cost, self._ignore, self._smoothing, self._counted = 0.3, 1, "much", 0

    class Convolution(nn.Conv2DTranspose):
        _axes, _transposed = (2, 3), False

    class Largest(nn.MaxPool2D):
        _type, _axes = "mine", 1

    class Norm(nn.LayerNorm):
        _channelwise = _add_affine = True

    layer, cell, up, norm = Recurrent(4), Cell(4), Convolution(4, 3), Norm()
    for block in (layer, cell, up, norm):
        block.initialize()
    assert layer(nd.ones((2, 3, 5))).shape == (2, 3, 4)
    assert cell(nd.ones((1, 2)), cell.begin_state(1))[0].shape == (1, 4)
    assert Loss()(nd.zeros((2, 1)), nd.zeros(2)).tolist() == [0, 0]
    assert up(nd.ones((1, 2, 5, 5))).shape == (1, 4, 7, 7)
    assert "2 -> 4" in repr(up)
    assert Largest(2)(nd.ones((1, 2, 4, 4))).shape == (1, 2, 2, 2)
    assert norm(nd.ones((2, 3))).shape == (2, 3)


def make_blocks(base, names, as_methods):
    """A network of a class with all of these names, beside what it needs."""

    def refused(*args, **kwargs):
        raise AssertionError("somebody called a method of the user's")

    class Users(base):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            if not as_methods:
                for name in names:
                    setattr(self, name, f"the user's {name}")
            with self.name_scope():
                self.hidden = nn.Dense(4, activation="relu")
                self.output = nn.Dense(2)
            self.scale = gluon.Parameter(shape=(0,), init="ones", allow_deferred_init=True)
            self.register_buffer("calls", [0.0])

        def infer_shape(self, x):
            self.scale.shape = x.shape[-1:]

        def forward(self, x):
            self.calls += 1
            return self.output(self.hidden(x * self.scale.data()))

    if as_methods:
        for name in names:
            setattr(Users, name, refused)
    Users.__qualname__ = f"Users{base.__name__}{as_methods}"
    Users.__module__ = __name__
    globals()[Users.__qualname__] = Users  # where pickle finds it
    return Users


@pytest.mark.parametrize("as_methods", [False, True], ids=["attributes", "methods"])
@pytest.mark.parametrize("base", [gluon.Block, gluon.HybridBlock], ids=lambda base: base.__name__)
def test_every_short_name_is_free(base, as_methods, tmp_path, capsys):
    cls = make_blocks(base, SHORT, as_methods)
    x = nd.ones((3, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = cls(prefix="net_")
        net.initialize()
        net.register_backward_hook(len_of_hook)
        with autograd.record():
            y = net(x)
        y.backward()
        assert net.scale.grad().shape == (5,)
        net.summary(x)
        assert "output" in capsys.readouterr().out
        assert [path for path, _ in net.named_parameters()] == [
            *("scale", "hidden.weight", "hidden.bias", "output.weight", "output.bias")
        ]
        assert "(hidden): Dense" in repr(net)
        net.save_parameters(tmp_path / "w")
        other = cls(prefix="net_")
        other.load_parameters(tmp_path / "w")
        other.load_state_dict(net.state_dict())
        for made in (other, copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
            assert made.eval()(x).tolist() == y.tolist()
            made.train()
        net.apply(lambda block: None)
        net.zero_grad()
        net.setattr("grad_req", "null")
        net.share_parameters(dict(other.named_parameters()))
        net.hybridize(False)
        net.cast("float16")
        net.reset_ctx("cpu(0)")
        assert net(x.astype("float16")).dtype == "float16"
        trainer = gluon.Trainer(net, "sgd")
        trainer.set_learning_rate(0.5)
    with pytest.raises(ValueError, match=r"in block net\.hidden \(Dense\)"):
        net.hidden(nd.ones((3, 4), dtype="float16"))
    if not as_methods:
        assert all(getattr(net, name) == f"the user's {name}" for name in SHORT)


def len_of_hook(block, inputs, outputs):
    assert len(inputs) == len(outputs) == 1


def test_parameters_say_which_names_are_theirs():
    with pytest.raises(TypeError, match="class Placed: Parameter itself has methods called _place"):

        class Placed(gluon.Parameter):
            def _place(self):
                return "here"

    class Assigned(gluon.Parameter):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._place = "here"

    with pytest.raises(TypeError, match="class Assigned: Parameter itself has a method called _place; call the attr"):
        Assigned("weight", shape=(2,))

    class Free(gluon.Parameter):
        def _load(self):
            return "the user's"

        def _reduce(self):
            return super()._reduce() * 2

    parameter = Free("weight", shape=(2,), init="ones")
    parameter.initialize()
    assert (parameter._load(), parameter._reduce().tolist()) == ("the user's", [2, 2])


# Words that blocks have here, and not in MXNet: Gluon's code may have attributes of these names.
WORDS = sorted(
    {name for name in dir(gluon.HybridBlock) if name[0] != "_"}
    - {
        "apply",
        "cast",
        "collect_params",
        "export",
        "forward",
        "hybrid_forward",
        "hybridize",
        "infer_shape",
        "infer_type",
    }
    - {"initialize", "load", "load_parameters", "load_params", "name", "name_scope", "optimize_for", "params", "prefix"}
    - {"register_child", "register_forward_hook", "register_forward_pre_hook", "register_op_hook", "save", "infer_type"}
    - {"save_parameters", "save_params", "summary"}
)


def test_words_that_are_not_mxnets_are_free(tmp_path, capsys):
    class Words(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            for word in WORDS:
                setattr(self, word, f"the user's {word}")
            self.dense = nn.Dense(2)

        def hybrid_forward(self, F, x):
            return self.dense(x)

    x = nd.ones((1, 3))
    net = Words()
    net.initialize()
    net.infer_shape(x)
    net.summary(x)
    assert "Parameters: 8" in capsys.readouterr().out
    net.save_parameters(tmp_path / "w")
    other = Words()
    other.load_parameters(tmp_path / "w")
    assert copy.deepcopy(other)(x).tolist() == net(x).tolist()
    net.cast("float16")
    outer = nn.Sequential()
    outer.add(net)
    outer.eval().train().reset_ctx("cpu(0)")
    outer.zero_grad()
    outer.requires_grad_(False)
    assert list(outer.state_dict()) == ["0.dense.weight", "0.dense.bias"]
    assert all(getattr(net, word) == f"the user's {word}" for word in WORDS)
