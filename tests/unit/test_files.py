"""Saving and loading arrays: what comes back, what is refused, and what a failure leaves behind."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import gluonish as mx
from gluonish import errors, nd
from gluonish import np as mnp
from gluonish._dtype import NAMES

SUFFIXES = [".params", ".safetensors", ".npz"]


def same(a, b):
    assert a.shape == b.shape
    assert str(a.dtype) == str(b.dtype)
    np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def arrays(dtype):
    values = mnp.array(np.arange(24).reshape(2, 3, 4)).astype(dtype)
    return {
        "plain": values,
        "view": values[:, ::2, ::-1],
        "transposed": values.T,
        "scalar": values[1, 2, 3],
        "empty": nd.zeros((0, 3), dtype=dtype),
        "names: any/thing.at all, ü": values[:, :1],
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", NAMES)
def test_what_is_saved_is_loaded(tmp_path, suffix, dtype, engine):
    path = tmp_path / f"x{suffix}"
    data = arrays(dtype)
    if dtype == "bfloat16" and suffix == ".npz":
        with pytest.raises(
            errors.FormatError, match=r"bfloat16, for which NumPy has no type; save it as \.safetensors"
        ):
            nd.save(path, data)
        assert not path.exists()
        return
    nd.save(path, data)
    loaded = nd.load(path)
    assert list(loaded) == list(data)
    for name, array in data.items():
        same(loaded[name], array)
    assert list(nd.load_frombuffer(path.read_bytes())) == list(data)
    assert os.listdir(tmp_path) == [path.name]


def test_lists_and_single_arrays(tmp_path):
    path = str(tmp_path / "x")
    nd.save(path, [nd.ones(3), nd.zeros((2, 2))])
    assert [x.shape for x in nd.load(path)] == [(3,), (2, 2)]
    nd.save(path, nd.ones(3))
    (x,) = nd.load(path)
    same(x, nd.ones(3))
    nd.save(path, (nd.ones(1),))
    assert len(nd.load(path)) == 1
    nd.save(path, [])
    assert nd.load(path) == []
    nd.save(path + ".npz", [nd.ones(3), nd.ones(2)])
    assert list(nd.load(path + ".npz")) == ["arr_0", "arr_1"]


def test_paths_and_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ["a", b"b", Path("c"), "ü.params", os.fsdecode(b"\xff.params")]:
        nd.save(path, nd.ones(2))
        assert nd.load(path)[0].shape == (2,)
    with mx.cpu(1):
        assert nd.load("a")[0].context == mx.cpu(1)
    for function in (nd.load, lambda p: nd.save(p, nd.ones(1)), mnp.load, nd.load_metadata):
        with pytest.raises(errors.UnsupportedError, match=r"s3://bucket/x.*is an address"):
            function("s3://bucket/x")
        with pytest.raises(errors.ArgumentError, match="must be a str, bytes or a path, got int"):
            function(3)


def test_utils_is_mxnets_place():
    assert nd.utils.save is nd.save
    assert nd.utils.load is nd.load
    assert nd.utils.load_frombuffer is nd.load_frombuffer
    assert nd.utils.zeros is nd.zeros


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_buffers(tmp_path, buffer):
    nd.save(tmp_path / "x", nd.arange(5))
    (x,) = nd.load_frombuffer(buffer((tmp_path / "x").read_bytes()))
    same(x, nd.arange(5))
    with pytest.raises(errors.ArgumentError, match=r"nd\.load takes the name of a file"):
        nd.load_frombuffer("x")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (np.ones(3), "got ndarray; nd.array makes one of it"),
        ([nd.ones(1), 3.0], "a list of them or a dict of them, got float"),
        ({"x": None}, "got NoneType"),
        ({1: nd.ones(1)}, "the names of arrays are strings, got 1"),
        (None, "got NoneType"),
    ],
)
def test_what_cannot_be_saved(tmp_path, data, says):
    with pytest.raises(errors.ArgumentError, match=says):
        nd.save(tmp_path / "x", data)
    assert os.listdir(tmp_path) == []


def test_metadata(tmp_path):
    path = tmp_path / "x.safetensors"
    nd.save(path, {"x": nd.ones(2)}, metadata={"epoch": "7", "ü": 'a "b" \\'})
    assert nd.load_metadata(path) == {"epoch": "7", "ü": 'a "b" \\'}
    assert list(nd.load(path)) == ["x"]
    with pytest.raises(errors.FormatError, match=r"a \.params file has no place for metadata"):
        nd.save(tmp_path / "x", nd.ones(2), metadata={"a": "b"})
    with pytest.raises(errors.ArgumentError, match="expected a dict of strings"):
        nd.save(path, {"x": nd.ones(2)}, metadata={"epoch": 7})
    assert nd.load_metadata(path)["epoch"] == "7"


def test_content_decides(tmp_path):
    nd.save(tmp_path / "x.npz", {"x": nd.ones(2)})
    (tmp_path / "x.npz").rename(tmp_path / "x.params")
    assert list(nd.load(tmp_path / "x.params")) == ["x"]


def test_pending_work_is_waited_for_and_its_errors_are_raised(tmp_path, queued):
    path = tmp_path / "x"
    x = nd.ones((300, 300))
    for _ in range(5):
        x = nd.dot(x, x) / 300
    nd.save(path, x)
    same(nd.load(path)[0], x)
    old = path.read_bytes()
    bad = mnp.take(nd.ones(3), nd.array([7]))
    with pytest.raises(errors.IndexOutOfRange, match="index 7"):
        nd.save(path, [x, bad])
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["x"]


def test_recorded_arrays(tmp_path):
    w = nd.ones((2, 2))
    w.attach_grad()
    with mx.autograd.record():
        y = (w * 2).T
        nd.save(tmp_path / "x", {"w": w, "y": y})
        loss = y.sum()
    loss.backward()
    assert w.grad.asnumpy().tolist() == [[2, 2], [2, 2]]
    assert nd.load(tmp_path / "x")["y"].asnumpy().tolist() == [[2, 2], [2, 2]]


# Replacing files.


def test_missing_and_forbidden_files(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        nd.load(tmp_path / "missing")
    assert isinstance(caught.value, mx.base.MXNetError)
    assert (caught.value.errno, caught.value.filename) == (2, str(tmp_path / "missing"))
    with pytest.raises(OSError, match="directory"):
        nd.load(tmp_path)
    with pytest.raises(OSError, match="directory"):
        nd.save(tmp_path, nd.ones(1))
    with pytest.raises(FileNotFoundError):
        nd.save(tmp_path / "no" / "folder", nd.ones(1))
    assert os.listdir(tmp_path) == []


def test_links_modes_and_new_files(tmp_path):
    (tmp_path / "real").mkdir()
    target, link, chain = tmp_path / "real" / "x", tmp_path / "link", tmp_path / "chain"
    link.symlink_to("real/x")
    chain.symlink_to(link)
    nd.save(chain, nd.ones(1))  # the target does not exist yet
    assert link.is_symlink()
    assert chain.is_symlink()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(0o640)
    nd.save(link, nd.ones(2))
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert nd.load(chain)[0].shape == (2,)
    assert os.listdir(tmp_path / "real") == ["x"]
    link.unlink()
    link.symlink_to(link.name)
    with pytest.raises(OSError, match="links"):
        nd.save(link, nd.ones(1))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_what_may_not_be_written_stays(tmp_path):
    path = tmp_path / "x"
    nd.save(path, nd.ones(1))
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        nd.save(path, nd.ones(2))
    path.chmod(0o644)
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="a new file is needed in its folder"):
        nd.save(path, nd.ones(2))
    tmp_path.chmod(0o755)
    assert nd.load(path)[0].shape == (1,)


def test_a_device_is_written_as_it_is():
    nd.save("/dev/null", nd.ones(3))
    assert not Path("/dev/null").is_file()
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            nd.save("/dev/full", nd.ones(100_000))


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.FormatError, match="not a regular file"):
        nd.load(tmp_path / "pipe")


def child(code, *args):
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]


def test_a_full_disk_loses_nothing(tmp_path):
    """A limit on the size of files fails as a full disk does: in the midst of a write."""
    path = tmp_path / "x"
    nd.save(path, nd.ones(3))
    code = """
        import resource, signal, sys
        from gluonish import nd
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        x = nd.ones((1000, 1000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            nd.save(sys.argv[1], x)
        except OSError as error:
            print(error.errno)
    """
    done = subprocess.run(child(code, path), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["27"]
    assert os.listdir(tmp_path) == ["x"]
    assert nd.load(path)[0].shape == (3,)


def test_a_killed_process_loses_nothing(tmp_path):
    """Killed while it writes, a process leaves the old file; what else it left is gone after the next save."""
    path = tmp_path / "x"
    nd.save(path, nd.ones(3))
    code = """
        import sys
        from gluonish import nd
        x = nd.ones((5000, 5000))
        x.wait_to_read()
        print("ready", flush=True)
        while True:
            nd.save(sys.argv[1], x)
    """
    with subprocess.Popen(child(code, tmp_path / "x"), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]:
            pass
        process.send_signal(signal.SIGKILL)
    assert nd.load(path)[0].shape in {(3,), (5000, 5000)}
    nd.save(path, nd.ones(4))
    assert os.listdir(tmp_path) == ["x"]


def test_many_writers_of_one_file(tmp_path):
    """Whoever is last wins as a whole."""
    path = tmp_path / "x"

    def work(i):
        for _ in range(20):
            nd.save(path, nd.full((50, i + 1), i))
            assert np.unique(nd.load(path)[0].asnumpy()).size == 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    x = nd.load(path)[0]
    assert x.shape == (50, int(x[0, 0].item()) + 1)
    assert os.listdir(tmp_path) == ["x"]


# NumPy's functions.


def test_np_save_and_load(tmp_path):
    x = mnp.arange(6).reshape(2, 3)
    mnp.save(tmp_path / "x", x)
    assert os.listdir(tmp_path) == ["x.npy"]
    same(mnp.load(tmp_path / "x.npy"), x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x.asnumpy())
    mnp.savez(tmp_path / "y", x, b=[1.0, 2.0])
    with mnp.load(tmp_path / "y.npz") as archive:
        assert archive.files == ["b", "arr_0"]
        same(archive["arr_0"], x)
    with pytest.raises(errors.ArgumentError, match="arr_0 is also the name"):
        mnp.savez(tmp_path / "y", x, arr_0=x)
    with pytest.raises(errors.ArgumentError, match="they can run code"):
        mnp.load(tmp_path / "x.npy", allow_pickle=True)


def test_np_open_files(tmp_path):
    with open(tmp_path / "x", "wb") as file:
        mnp.savez(file, x=mnp.ones(3))
    with open(tmp_path / "x", "rb") as file:
        same(mnp.load(file)["x"], mnp.ones(3))


def test_np_archives_that_numpy_wrote(tmp_path):
    given = {
        "fortran": np.asfortranarray(np.arange(24, dtype="i4").reshape(2, 3, 4)),
        "big": np.arange(5, dtype=">f8"),
        "bool": np.array([True, False]),
        "scalar": np.array(2.5, "f2"),
        "big_fortran": np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
    }
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "x.npz", **given)
        loaded = nd.load(tmp_path / "x.npz")
        for name, array in given.items():
            assert str(loaded[name].dtype) == array.dtype.name
            np.testing.assert_array_equal(loaded[name].asnumpy(), array)
