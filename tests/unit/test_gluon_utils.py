"""Parts of batches, norms of gradients, downloads, handles."""

import functools
import hashlib
import http.server
import threading

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import FileError
from gluonish.gluon.utils import (
    HookHandle,
    check_sha1,
    clip_global_norm,
    download,
    replace_file,
    split_and_load,
    split_data,
)

TWO = [mx.cpu(0), mx.cpu(1)]


class TestSplit:
    def test_even(self):
        x = nd.arange(12).reshape((6, 2))
        parts = split_data(x, 3)
        assert [part.tolist() for part in parts] == [part.tolist() for part in np.split(x.asnumpy(), 3)]

    @pytest.mark.parametrize(("rows", "parts"), [(5, 2), (7, 3), (8, 3), (3, 3), (10, 4)])
    def test_uneven_differ_by_one_at_most(self, rows, parts):
        x = nd.arange(rows * 2).reshape((2, rows))
        found = split_data(x, parts, batch_axis=1, even_split=False)
        sizes = [part.shape[1] for part in found]
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)
        assert nd.concat(*found, dim=1).tolist() == x.tolist()
        assert [p.shape for p in split_data(x, parts, batch_axis=-1, even_split=False)] == [p.shape for p in found]

    def test_what_does_not_work_is_a_valueerror(self):
        x = nd.ones((5, 2))
        with pytest.raises(ValueError, match="evenly"):
            split_data(x, 2)
        with pytest.raises(ValueError, match="too few"):
            split_data(x, 6, even_split=False)
        with pytest.raises(ValueError, match="num_slice"):
            split_data(x, 0)
        with pytest.raises(ValueError, match="axis 2"):
            split_data(x, 1, batch_axis=2)
        with pytest.raises(ValueError, match="empty"):
            split_and_load(x, [])

    def test_load(self):
        parts = split_and_load(np.arange(8).reshape(4, 2), TWO)
        assert [part.ctx for part in parts] == TWO
        assert parts[1].tolist() == [[4, 5], [6, 7]]
        (whole,) = split_and_load(nd.ones((3, 2)), [mx.cpu(1)])
        assert whole.ctx == mx.cpu(1)


class TestClip:
    def test_norm_of_all_together(self):
        arrays = [np.random.randn(3, 4).astype("float32"), np.random.randn(5).astype("float32")]
        norm = np.sqrt(sum((a.astype("float64") ** 2).sum() for a in arrays))
        ours = [nd.array(a) for a in arrays]
        assert clip_global_norm(ours, 1.5) == pytest.approx(norm, rel=1e-5)
        for a, b in zip(arrays, ours, strict=True):
            np.testing.assert_allclose(b.asnumpy(), a * 1.5 / norm, rtol=1e-4)
        assert clip_global_norm(ours, 1.5) == pytest.approx(1.5, rel=1e-4)

    def test_small_norms_change_nothing(self):
        x = nd.array([0.3, 0.4])
        assert clip_global_norm([x], 1.0) == pytest.approx(0.5)
        assert x.tolist() == nd.array([0.3, 0.4]).tolist()

    def test_several_devices_and_types(self):
        x, y = nd.array([3.0], ctx=mx.cpu(0)), nd.array([4.0], ctx=mx.cpu(1))
        assert clip_global_norm([x, y], 1.0) == pytest.approx(5)
        assert (x.item(), y.item()) == pytest.approx((0.6, 0.8), rel=1e-4)
        half = nd.array([3.0, 4.0], dtype="float16")
        assert clip_global_norm([half], 1.0) == pytest.approx(5)
        assert half.dtype == np.float16

    def test_without_the_check_nothing_is_waited_for(self):
        norm = clip_global_norm([nd.array([3.0, 4.0])], 1.0, check_isfinite=False)
        assert isinstance(norm, nd.NDArray)
        assert norm.item() == pytest.approx(5)

    def test_not_finite_warns(self):
        with pytest.warns(UserWarning, match="nan"):
            assert np.isnan(clip_global_norm([nd.array([np.nan])], 1.0))

    @pytest.mark.parametrize(
        ("arrays", "norm"), [([], 1), ([nd.ones(1)], 0), ([nd.ones(1)], -1), ([nd.ones(1)], np.nan)]
    )
    def test_nonsense(self, arrays, norm):
        with pytest.raises(ValueError, match="clip_global_norm"):
            clip_global_norm(arrays, norm)


class TestFiles:
    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "source" / "file.txt"
        path.parent.mkdir()
        path.write_bytes(b"some text")
        return path

    SUM = hashlib.sha1(b"some text").hexdigest()

    @pytest.fixture
    def server(self, source):
        """An address of the folder; counts the requests, and answers the first ones of /flaky with an error."""

        class Handler(http.server.SimpleHTTPRequestHandler):
            requests = 0

            def do_GET(self):
                Handler.requests += 1
                if self.path.startswith("/flaky"):
                    self.path = "/file.txt"
                    if Handler.requests < 3:
                        return self.send_error(503)
                if self.path == "/short":
                    self.send_response(200)
                    self.send_header("Content-Length", "100")
                    self.end_headers()
                    return self.wfile.write(b"some")
                return super().do_GET()

            def log_message(self, *args):
                return

        running = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(source.parent))
        )
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        running.handler = Handler
        yield running
        running.shutdown()
        thread.join()
        running.server_close()

    def address(self, server, name):
        return f"http://127.0.0.1:{server.server_port}/{name}"

    def test_sums(self, source):
        assert check_sha1(source, self.SUM)
        assert check_sha1(source, self.SUM[:8].upper())
        assert not check_sha1(source, "0" * 40)
        with pytest.raises(ValueError, match="too short"):
            check_sha1(source, "")

    @pytest.mark.parametrize("form", ["{}", "file://{}"])
    def test_from_this_machine(self, tmp_path, source, form):
        name = download(form.format(source), tmp_path / "new" / "copy.txt", sha1_hash=self.SUM)
        assert name == str(tmp_path / "new" / "copy.txt")
        assert (tmp_path / "new" / "copy.txt").read_bytes() == b"some text"

    def test_from_a_server(self, tmp_path, server):
        name = download(self.address(server, "file.txt"), tmp_path, sha1_hash=self.SUM)
        assert name == str(tmp_path / "file.txt")
        download(self.address(server, "file.txt"), tmp_path)
        assert server.handler.requests == 1  # it is there
        download(self.address(server, "file.txt"), tmp_path, overwrite=True)
        assert server.handler.requests == 2
        (tmp_path / "file.txt").write_text("damaged")
        download(self.address(server, "file.txt"), tmp_path, sha1_hash=self.SUM)
        assert (tmp_path / "file.txt").read_bytes() == b"some text"

    def test_tries_again(self, tmp_path, server):
        assert download(self.address(server, "flaky"), tmp_path / "x", retries=2)
        assert server.handler.requests == 3

    @pytest.mark.parametrize(
        ("name", "options", "text"),
        [
            ("nothing", {}, "404"),
            ("short", {"retries": 1}, "4 of 100 bytes"),
            ("file.txt", {"sha1_hash": "0" * 40, "retries": 0}, "SHA-1"),
        ],
    )
    def test_a_failure_leaves_what_was_there(self, tmp_path, server, name, options, text):
        (tmp_path / "x").write_text("old")
        with pytest.raises(FileError, match=text):
            download(self.address(server, name), tmp_path / "x", overwrite=True, **options)
        assert (tmp_path / "x").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "x"]

    def test_nonsense(self, tmp_path):
        for call in (
            lambda: download("ftp://somewhere/file", tmp_path / "x"),
            lambda: download("http://somewhere/", tmp_path),
            lambda: download("x", retries=-1),
        ):
            with pytest.raises(ValueError, match="download"):
                call()
        with pytest.raises(FileNotFoundError):
            download(str(tmp_path / "nothing"), tmp_path / "x")

    def test_replace(self, tmp_path):
        (tmp_path / "a").write_text("new")
        (tmp_path / "b").write_text("old")
        replace_file(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "b").read_text() == "new"
        assert not (tmp_path / "a").exists()


def test_handles():
    hooks, changes = {}, []
    first = HookHandle(hooks, print, lambda: changes.append(len(hooks)))
    second = HookHandle(hooks, print)
    assert len(hooks) == 2
    assert first.id != second.id
    first.detach()
    first.detach()
    assert list(hooks) == [second.id]
    assert changes == [1, 1]
