"""Files of other programs: those that MXNet wrote, and ours in their hands where they are installed.

`PEER_MXNET`, `PEER_SAFETENSORS` and `PEER_NUMPY` name Python interpreters that have these.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gluonish import gluon, nd
from gluonish import np as mnp
from gluonish._dtype import NAMES

GOLDEN = Path(__file__).parent.parent / "golden"
CORPUS = Path(__file__).parent.parent / "corpus" / "files"


def test_every_type():
    loaded = nd.load(GOLDEN / "dtypes.params")
    expected = dict(np.load(GOLDEN / "dtypes_expected.npz"))
    assert len(loaded) == len(expected)
    for name, array in loaded.items():
        wanted = expected[name.replace(":", "__").replace("/", "|")]
        assert array.dtype == wanted.dtype
        np.testing.assert_array_equal(array.asnumpy(), wanted)


def test_no_names():
    first, second = nd.load(GOLDEN / "list_noname.params")
    assert first.tolist() == [0, 1, 2, 3, 4]
    assert second.tolist() == [[1, 1], [1, 1]]


def test_numpy_shapes():
    loaded = nd.load(GOLDEN / "np_shape.params")
    assert loaded["scalar"].shape == ()
    assert loaded["scalar"].item() == 3.25
    assert loaded["empty"].shape == (0, 3)
    assert loaded["bool"].tolist() == [True, False, True]
    assert loaded["m"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_sparse_is_refused_by_name():
    with pytest.raises(ValueError, match=r"sparse\.params: 'csr' is a sparse array \(csr\), which is not supported"):
        nd.load(GOLDEN / "sparse.params")


def test_parameters_of_a_network():
    loaded = nd.load(GOLDEN / "smallnet_gluon.params")
    assert {name: array.shape for name, array in loaded.items()} == {
        "0.weight": (4, 3, 3, 3),
        "0.bias": (4,),
        "1.gamma": (4,),
        "1.beta": (4,),
        "1.running_mean": (4,),
        "1.running_var": (4,),
        "4.weight": (6, 2, 3, 3),
        "9.weight": (5, 6),
        "9.bias": (5,),
    }


def test_old_versions_and_bfloat16():
    assert nd.load(CORPUS / "v0.params")["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [x.tolist() for x in nd.load(CORPUS / "v1.params")] == [[[0, 1, 2], [3, 4, 5]]] * 2
    (x,) = nd.load(CORPUS / "bfloat16.params")
    assert str(x.dtype) == "bfloat16"
    assert x.astype("float32").tolist() == [1, 2.5, -3]


def test_what_mxnet_wrote_is_written_alike(tmp_path):
    for name in ("dtypes.params", "list_noname.params", "smallnet_gluon.params", "np_shape.params"):
        nd.save(tmp_path / name, nd.load(GOLDEN / name))
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


# Ours in their hands.

READERS = {
    "mxnet": """
import numpy, warnings
numpy.bool = bool
import mxnet as mx
if sys.argv[2] == "np":
    mx.npx.set_np()
loaded = mx.nd.load(sys.argv[1]) if sys.argv[2] == "nd" else mx.npx.load(sys.argv[1])
""",
    "mxnet_gluon": """
import numpy
numpy.bool = bool
import mxnet as mx
class Net(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        self.rnn = mx.gluon.rnn.LSTM(3, 2, bidirectional=sys.argv[2] == "both", input_size=4)
        self.norm = mx.gluon.nn.BatchNorm(in_channels=3)
net = Net()
net.load_parameters(sys.argv[1])
loaded = {name: p.data() for name, p in net._collect_params_with_prefix().items()}
""",
    "safetensors": "from safetensors.numpy import load_file; loaded = load_file(sys.argv[1])",
    "numpy": "import numpy; loaded = dict(numpy.load(sys.argv[1]))",
}
SHOW = """
def host(x):
    return x.asnumpy() if hasattr(x, "asnumpy") else x
print(json.dumps({k: [str(host(v).dtype), list(v.shape), host(v).astype("float64").ravel().tolist()]
                  for k, v in loaded.items()}))
"""


def read_by(peer, path, mode=""):
    """What another program finds in a file."""
    package = peer.partition("_")[0]
    python = os.environ.get(f"PEER_{package.upper()}")
    if python is None and importlib.util.find_spec(package) is not None:
        python = sys.executable
    if python is None:
        pytest.skip(f"{package} is not installed here, and PEER_{package.upper()} does not say where it is")
    code = f"import json, sys\n{READERS[peer]}\n{SHOW}"
    done = subprocess.run([python, "-c", code, path, mode], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def samples(types, shapes):
    values = mnp.array(np.arange(24) % 2)
    return {f"{t}:{s}": values[: int(np.prod(s))].reshape(s).astype(t) for t in types for s in shapes}


def agree(found, data):
    assert set(found) == set(data)
    for name, array in data.items():
        kind, shape, values = found[name]
        assert (kind, tuple(shape)) == (str(array.dtype), array.shape)
        assert values == array.asnumpy().astype("float64").ravel().tolist()


MXNET_TYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64"]


def test_mxnet_reads_ours(tmp_path):
    data = samples(MXNET_TYPES, [(24,), (2, 3, 4), (1,)])
    nd.save(tmp_path / "x.params", data)
    agree(read_by("mxnet", tmp_path / "x.params", "nd"), data)


def test_mxnet_reads_ours_with_numpy_shapes(tmp_path):
    data = samples([*MXNET_TYPES, "bool"], [(), (2, 3), (0, 4)])
    nd.save(tmp_path / "x.params", data)
    agree(read_by("mxnet", tmp_path / "x.params", "np"), data)


@pytest.mark.parametrize("ways", ["one", "both"])
def test_mxnet_loads_ours_into_its_layers(tmp_path, ways):
    net = gluon.Block()
    net.rnn = gluon.rnn.LSTM(3, 2, bidirectional=ways == "both", input_size=4)
    net.norm = gluon.nn.BatchNorm(in_channels=3)
    net.initialize()
    net.save_parameters(tmp_path / "net.params")
    data = {name: p.data() for name, p in net._collect_params_with_prefix().items()}
    agree(read_by("mxnet_gluon", tmp_path / "net.params", ways), data)


def test_safetensors_reads_ours(tmp_path):
    data = samples([t for t in NAMES if t != "bfloat16"], [(), (2, 3), (0, 4), (5,)])
    nd.save(tmp_path / "x.safetensors", data, metadata={"a": 'b"ü'})
    agree(read_by("safetensors", tmp_path / "x.safetensors"), data)


def test_numpy_reads_ours(tmp_path):
    data = samples([t for t in NAMES if t != "bfloat16"], [(), (2, 3), (0, 4), (5,)])
    nd.save(tmp_path / "x.npz", data)
    agree(read_by("numpy", tmp_path / "x.npz"), data)
