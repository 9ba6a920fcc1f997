"""Files that lie: each is refused in words, and none makes the process allocate what it merely claims."""

import io
import json
import pickle
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib

import numpy as np
import pytest

from gluonish import errors, nd

V2 = 0xF993FAC9


def params(body, count=1, names=b"\0" * 8):
    return struct.pack("<QQQ", 0x112, 0, count) + body + names


def dense(*shape, magic=V2, kind=0, flag=0, rank=None, data=b""):
    head = struct.pack("<IiI", magic, kind, len(shape) if rank is None else rank)
    return head + struct.pack(f"<{len(shape)}q", *shape) + struct.pack("<iii", 1, 0, flag) + data


def named(*names):
    return struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(n)) + n for n in names)


FOUR = dense(1, data=b"\0" * 4)

PARAMS = {
    "count": (params(b"", count=2**63, names=b""), "ends inside array 0"),
    "dimension": (params(dense(2**62)), "cannot exist: negative, or larger than any memory"),
    "negative": (params(dense(-4)), "cannot exist: negative"),
    "product": (params(dense(2**31, 2**31, 2**31)), "cannot exist"),
    "product of nothing": (params(dense(0, 2**62, 2**62)), "cannot exist"),
    "size": (params(dense(10**12)), "4000000000000 bytes are needed at byte 56, and 8 are left"),
    "rank": (params(dense(rank=33)), "has 33 dimensions; at most 12 are possible"),
    "no rank": (params(dense(rank=0)), "array 0 has no shape"),
    "unknown rank": (params(dense(rank=2**32 - 1)), "array 0 has no shape"),
    "type": (params(dense(1, flag=13)), "array 0 has the unknown element type 13"),
    "negative type": (params(dense(1, flag=-1)), "unknown element type -1"),
    "storage": (params(dense(1, kind=9)), "array 0 has the unknown storage type 9"),
    "magic": (params(struct.pack("<I", 0xDEADBEEF)), "array 0 starts with 0xdeadbeef"),
    "two names": (params(FOUR, names=named(b"a", b"b")), "1 arrays but 2 names"),
    "name length": (params(FOUR, names=struct.pack("<QQ", 1, 2**63)), "ends inside name 0: 9223372036854775808 bytes"),
    "name bytes": (params(FOUR, names=named(b"\xff")), "name 0 is not UTF-8"),
    "same name": (params(FOUR * 2, 2, named(b"w", b"w")), "two arrays are called 'w'"),
    "more": (params(FOUR) + b"\0", "1 bytes are left over after the names"),
}


def tensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


SAFETENSORS = {
    "header of 2^60": (tensors({}, length=2**60), "claims 1152921504606846976 bytes"),
    "header of 2^64": (tensors({}, length=2**64 - 1), "claims 18446744073709551615 bytes"),
    "overlap": (
        tensors({"a": tensor(), "b": tensor(shape=(2,), offsets=(2, 10))}, b"\0" * 10),
        "'b' starts at byte 2 of the data, which overlaps another array",
    ),
    "same place": (tensors({"a": tensor(), "b": tensor()}, b"\0" * 4), "overlaps another array"),
    "gap": (tensors({"a": tensor(offsets=(4, 8))}, b"\0" * 8), "which leaves a gap before it"),
    "rest": (tensors({"a": tensor()}, b"\0" * 8), "the arrays take 4 bytes, and the file has 8"),
    "cut": (tensors({"a": tensor()}, b"\0" * 3), "the arrays take 4 bytes, and the file has 3"),
    "backwards": (tensors({"a": tensor(offsets=(4, 0))}, b"\0" * 4), "its offsets are 4 and 0"),
    "huge offsets": (tensors({"a": tensor(offsets=(2**64 - 4, 2**64))}), r"a whole number below 2\^64"),
    "far": (tensors({"a": tensor(offsets=(2**64 - 5, 2**64 - 1))}, b"\0" * 4), "its offsets are"),
    "size": (tensors({"a": tensor(shape=(2,))}, b"\0" * 4), "which takes 8 bytes, but its offsets are 0 and 4"),
    "overflow": (tensors({"a": tensor(shape=(2**40, 2**40))}, b"\0" * 4), "cannot exist"),
    "dimension": (tensors({"a": tensor(shape=(2**63,))}, b"\0" * 4), "a dimension of 9223372036854775808"),
    "rank": (tensors({"a": tensor(shape=(1,) * 13)}, b"\0" * 4), "more than 12 dimensions"),
    "type": (tensors({"a": tensor(dtype="F8_E4M3")}, b"\0" * 4), "the element type 'F8_E4M3'"),
    "lacks": (tensors({"a": {"dtype": "F32", "shape": [1]}}, b"\0" * 4), "lacks one of dtype, shape"),
    "three": (tensors({"a": tensor(offsets=(0, 4, 8))}, b"\0" * 4), "more than two offsets"),
    "same name": (
        tensors(
            b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
        ),
        "two arrays are called 'a'",
    ),
    "number": (tensors({"a": 1}), "is not valid JSON"),
    "nesting": (tensors(b'{"a":{"x":' + b"[" * 100_000), "less nesting"),
    "text": (tensors(b'{"a\xff"}'), "is not UTF-8"),
    "more": (tensors(b"{} x"), "where the end is expected"),
    "metadata": (tensors({"__metadata__": {"a": 1}}), "is not valid JSON"),
}


def npy(header, data=b"", version=1, length=None):
    text = header if isinstance(header, bytes) else repr(header).encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def described(descr="<f4", shape=(1,), fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([print], dtype=object), allow_pickle=True)
    return file.getvalue()


NPY = {
    "objects": (pickled(), "holds pickled Python objects, which are not read: loading them could run code"),
    "version": (npy(described(), version=9), "has version 9"),
    "header": (npy(described(), version=2, length=2**32 - 1), "claims 4294967295 bytes"),
    "short": (npy(described(), length=1000), "ends inside its header"),
    "size": (npy(described(shape=(2**40,))), "which takes 4398046511104 bytes, and has 0"),
    "overflow": (npy(described(shape=(2**40, 2**40))), "cannot exist"),
    "dimension": (npy(described(shape=(2**70,))), "a dimension of '1180591620717411303424'"),
    "negative": (npy(described(shape=(-1,))), "a dimension of '-1'"),
    "rank": (npy(described(shape=(1,) * 13), b"\0" * 4), "more than 12 dimensions"),
    "type": (npy(described("<c8"), b"\0" * 8), "the element type '<c8'"),
    "void": (npy(described("|V2"), b"\0" * 2), "bfloat16 has no place in npz"),
    "no type": (npy(described("")), "the element type ''"),
    "structure": (npy(described([("a", "<f4")]), b"\0" * 4), "is a structured array"),
    "code": (npy(b"__import__('os').abort()"), "is not what NumPy writes"),
    "code inside": (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (abs(1),)}"), r"a dimension of 'abs\(1'"),
    "key": (npy({"a": 1}), "is not what NumPy writes"),
    "lacks": (npy({"descr": "<f4"}), "is not what NumPy writes"),
    "more": (npy(described(), b"\0" * 5), "which takes 4 bytes, and has 5"),
}

ARRAY = npy(described(shape=(2,)), b"\0" * 8)


def archive(members=None, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as z:
        for name, data in (members or {"x.npy": ARRAY}).items():
            z.writestr(name, data)
    return bytearray(file.getvalue())


def changed(file, *edits):
    """A copy with numbers written over: from the directory's entry (positive) or the end record (negative)."""
    file = bytearray(file)
    directory, end = file.index(b"PK\1\2"), file.index(b"PK\5\6")
    for at, form, value in edits:
        struct.pack_into(form, file, directory + at if at >= 0 else end - at, value)
    return bytes(file)


def with_data(change):
    """An archive whose one member's packed bytes are changed."""
    file = archive()
    start = 30 + len("x.npy")
    size = struct.unpack_from("<I", file, file.index(b"PK\1\2") + 20)[0]
    file[start : start + size] = change(bytes(file[start : start + size]))
    return bytes(file)


def bomb():
    """Ten members that all unpack the same megabyte of zeros."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packed.compress(b"\0" * 10**6) + packed.flush()
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, 0, len(data), 10**6, 5, 0) + b"x.npy" + data
    entries = b"".join(
        struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, 0, len(data), 10**6, 5, 0, 0, 0, 0, 0, 0)
        + f"{i}.npy".encode()
        for i in range(10)
    )
    return local + entries + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 10, 10, len(entries), len(local), 0)


NPZ = {
    "checksum": (changed(archive(), (16, "<I", 7)), "the checksum is [0-9a-f]{8}, not 00000007"),
    "garbage": (with_data(lambda data: b"\xff" * len(data)), "packed bytes of an array"),
    "flip": (with_data(lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]), "checksum|packed bytes|more bytes"),
    "larger": (changed(archive(), (24, "<I", 2**32 - 2)), "claims that [0-9]+ bytes unpack to 4294967294"),
    "larger by a little": (changed(archive(), (24, "<I", 200)), "which takes 8 bytes, and has"),
    "stored larger": (changed(archive(method=0), (24, "<I", 200)), "unpack to 200, which is not possible"),
    "packed larger": (changed(archive(), (20, "<I", 5000)), "ends inside 'x.npy'"),
    "elsewhere": (changed(archive(), (42, "<I", 1)), "is not where the archive's directory says"),
    "beyond": (changed(archive(), (42, "<I", 2**31)), "beyond the archive's members"),
    "method": (changed(archive(), (10, "<H", 12)), "packed by method 12"),
    "encrypted": (changed(archive(), (8, "<H", 1)), "is encrypted"),
    "members": (changed(archive(), (-10, "<H", 9)), "says that it has 9 members, and lists 1"),
    "directory": (changed(archive(), (-12, "<I", 2**31)), "beyond its end"),
    "wide": (changed(archive(), (-16, "<I", 2**32 - 1)), "beyond its end"),
    "comment": (bytes(archive()) + b"x", "its end is missing"),
    "no array": (bytes(archive({"notes.txt": b"hello"})), "the member 'notes.txt' of the archive is no npy array"),
    "torch": (bytes(archive({"archive/data.pkl": b""})), "files of PyTorch are not read"),
    "empty member": (bytes(archive({"x.npy": b""})), "'x' ends inside its header"),
    "objects": (bytes(archive({"x.npy": pickled()})), "pickled Python objects"),
    "overlap": (bomb(), "members of the archive overlap"),
}

OTHERS = {
    "nothing": (b"", "it is empty"),
    "text": (b"hello", "this is no file of arrays"),
    "pickle": (pickle.dumps([1.0] * 10), "a Python pickle, which is not read"),
    "page": (b"<!DOCTYPE html><html>", "looks like a web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 20, "it is HDF5"),
}

CASES = {
    f"{group}: {name}": case
    for group, cases in zip(
        ["params", "safetensors", "npy", "npz", "others"], [PARAMS, SAFETENSORS, NPY, NPZ, OTHERS], strict=True
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused_in_words(name, tmp_path):
    data, says = CASES[name]
    with pytest.raises(errors.FormatError, match=says) as caught:
        nd.load_frombuffer(data)
    assert isinstance(caught.value, ValueError)
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(errors.FormatError, match=says) as caught:
        nd.load(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value)


def test_the_suffix_is_a_hint(tmp_path):
    for suffix, says in [
        (".params", "is no .params file: it starts with"),
        (".npz", "not a whole npz"),
        (".npy", "does not start as an npy array does"),
        (".safetensors", "claims [0-9]+ bytes"),
    ]:
        (tmp_path / f"x{suffix}").write_bytes(b"neither this nor that")
        with pytest.raises(errors.FormatError, match=says):
            nd.load(tmp_path / f"x{suffix}")


def test_a_whole_archive_is_read():
    """The cases above differ from these by what they change."""
    assert nd.load_frombuffer(bytes(archive()))["x"].shape == (2,)
    assert nd.load_frombuffer(ARRAY)[0].shape == (2,)
    assert nd.load_frombuffer(params(FOUR, names=named(b"w")))["w"].shape == (1,)
    assert nd.load_frombuffer(tensors({"a": tensor()}, b"\0" * 4))["a"].shape == (1,)
    assert nd.load_frombuffer(bytes(archive(method=0)))["x"].shape == (2,)


def test_claims_are_not_allocated(tmp_path):
    """All of it again in a process that may have little more memory than it has when it begins."""
    path = tmp_path / "cases"
    path.write_bytes(pickle.dumps([data for data, _ in CASES.values()]))
    code = """
        import pickle, resource, sys
        from gluonish import errors, nd
        nd.ones(3).asnumpy()
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        cases = pickle.loads(open(sys.argv[1], "rb").read())
        resource.setrlimit(resource.RLIMIT_AS, (now + (64 << 20),) * 2)
        for data in cases:
            try:
                nd.load_frombuffer(data)
            except errors.FormatError:
                continue
            raise SystemExit("it was read")
        print(len(cases))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == (str(len(CASES)), "")
