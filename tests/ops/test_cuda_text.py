"""CUDA C of every elementwise row, compiled to PTX where NVIDIA's run-time compiler can be had."""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ops.driver import NAMES, TABLE, core

ROWS = [n for n in NAMES if TABLE[n]["elementwise"]]
DTYPES = ("float32", "float64", "int32")
OPTIONS = (b"--gpu-architecture=compute_70", b"--fmad=false")


def text_of(name, dtype):
    """The text, or None where the formula has no meaning for the type."""
    try:
        return core.cuda_text(name, dtype)
    except core.DTypeError:
        return None


class Nvrtc:
    """The few functions of NVRTC that compiling takes."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _do(self, function, *args):
        code = getattr(self.lib, function)(*args)
        return None if code == 0 else f"{function}: {self.lib.nvrtcGetErrorString(code).decode()}"

    def compile(self, source):
        """(PTX, None) or (None, what the compiler said)."""
        program = ctypes.c_void_p()
        failed = self._do("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"row.cu", 0, None, None)
        if failed:
            return None, failed
        options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
        failed = self._do("nvrtcCompileProgram", program, len(OPTIONS), options)
        kind = "ProgramLog" if failed else "PTX"
        size = ctypes.c_size_t()
        self._do(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._do(f"nvrtcGet{kind}", program, text)
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        said = text.value.decode(errors="replace")
        return (None, f"{failed}\n{said}") if failed else (said, None)


@pytest.fixture(scope="module")
def nvrtc():
    """NVIDIA's compiler from its wheel, kept under the temporary directory."""
    where = Path(tempfile.gettempdir()) / f"gluonish-nvrtc-py{sys.version_info.major}{sys.version_info.minor}"
    found = sorted(where.rglob("libnvrtc.so*"))
    if not found:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--target",
        ]
        try:
            got = subprocess.run(
                [*pip, str(where), "nvidia-cuda-nvrtc-cu12"], capture_output=True, text=True, timeout=240, check=False
            )
            said = got.stderr.strip()
        except subprocess.TimeoutExpired:
            said = "pip took too long"
        found = sorted(where.rglob("libnvrtc.so*"))
        if not found:
            reason = f"the NVRTC wheel cannot be had: {said.splitlines()[-1] if said else 'no library in it'}"
            print(reason)
            pytest.skip(reason)
    try:
        return Nvrtc(found[0])
    except OSError as e:
        pytest.skip(f"NVRTC does not load: {e}")


@pytest.mark.parametrize("name", ROWS)
def test_text(name):
    texts = {d: text_of(name, d) for d in DTYPES}
    if texts["float32"] is None:  # only integers have bits
        assert texts["float64"] is None
        assert texts["int32"]
    else:
        assert texts["float64"]
        assert texts["float32"] != texts["float64"]
    for text in filter(None, texts.values()):
        assert "__global__" in text
        assert text.count("{") == text.count("}")


def test_what_has_no_text():
    with pytest.raises(core.MXNetError, match="sum"):
        core.cuda_text("sum", "float32")
    with pytest.raises(core.MXNetError, match="no_such_op"):
        core.cuda_text("no_such_op", "float32")
    with pytest.raises(core.MXNetError, match="int7"):
        core.cuda_text("exp", "int7")


@pytest.mark.parametrize("name", ROWS)
def test_compiles(name, nvrtc):
    for dtype in DTYPES:
        text = text_of(name, dtype)
        if text is not None:
            ptx, wrong = nvrtc.compile(text)
            assert wrong is None, f"{name} {dtype}: {wrong}\n{text}"
            assert ".entry" in ptx
