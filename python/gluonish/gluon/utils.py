"""What training loops need beside blocks: parts of a batch, the norm of gradients, downloads, hooks."""

import math
import os
import warnings
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish._types import ArrayLike
from gluonish.autograd import pause
from gluonish.context import Context
from gluonish.errors import ArgumentError, FileError, ShapeError

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "split_and_load",
    "split_data",
]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """A batch in so many parts along an axis, as views. Parts that differ by one row need ``even_split=False``.

    >>> [part.shape for part in split_data(nd.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    if num_slice < 1:
        raise ArgumentError(f"split_data: num_slice={num_slice} is not valid: expected at least 1")
    if not -data.ndim <= batch_axis < data.ndim:
        raise ArgumentError(f"split_data: data of shape {data.shape} has no axis {batch_axis}")
    axis = batch_axis % data.ndim
    size = data.shape[axis]
    if size < num_slice:
        raise ShapeError(
            f"split_data: {size} rows along axis {axis} of shape {data.shape} are too few for {num_slice} parts; take "
            "larger batches or fewer devices"
        )
    if even_split and size % num_slice:
        raise ShapeError(
            f"split_data: {size} rows along axis {axis} of shape {data.shape} cannot be split evenly into {num_slice} "
            f"parts; take a batch size that is a multiple of {num_slice}, or set even_split=False"
        )
    each, more = divmod(size, num_slice)  # the first parts are the larger ones
    ends = [each * part + min(part, more) for part in range(num_slice + 1)]
    before = (slice(None),) * axis
    return [data[(*before, slice(start, end))] for start, end in pairwise(ends)]


def split_and_load(
    data: ArrayLike, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """A batch in as many parts as there are devices, each on its own.

    >>> import gluonish as mx
    >>> [part.ctx for part in split_and_load(nd.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])]
    [cpu(0), cpu(1)]
    """
    if not ctx_list:
        raise ArgumentError("split_and_load: ctx_list is empty: expected at least one device")
    array = data if isinstance(data, NDArray) else nd.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [array.as_in_context(ctx_list[0])]
    parts = split_data(array, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> float | NDArray:
    """Scales arrays in place so that the norm of all together is at most ``max_norm``; returns what it was.

    With ``check_isfinite`` the norm is a Python number, and one that is not finite warns, and leaves NaN; else it is an
    array, and nothing is waited for. Arrays may be on several devices.

    >>> x, y = nd.array([3.0]), nd.array([4.0])
    >>> round(clip_global_norm([x, y], 1.0), 4)
    5.0
    >>> x.tolist(), y.tolist()
    ([0.6...], [0.8...])
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: arrays is empty: expected at least one array")
    if not max_norm > 0:
        raise ArgumentError(f"clip_global_norm: max_norm={max_norm} is not valid: expected a number above 0")
    with pause():
        by_device: dict[Context, list[NDArray]] = {}
        for array in arrays:
            by_device.setdefault(array.ctx, []).append(array)
        home = arrays[0].ctx
        squares = [
            nd.multi_sum_sq(*group, num_arrays=len(group)).sum().as_in_context(home) for group in by_device.values()
        ]
        norm: NDArray = nd.sqrt(nd.add_n(*squares))
        scale = nd.minimum(max_norm / (norm + 1e-8), 1.0)
        for ctx, group in by_device.items():
            factor = scale.as_in_context(ctx)
            for array in group:
                array *= factor.astype(array.dtype, copy=False)
    if not check_isfinite:
        return norm
    value = float(norm)
    if not math.isfinite(value):
        warnings.warn(
            f"clip_global_norm: the norm is {value}, so the arrays are not finite and clipping cannot help",
            UserWarning,
            stacklevel=2,
        )
    return value


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Whether a file has this SHA-1 sum, in hexadecimal digits; at least the first eight.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "wb").close()
    >>> check_sha1(path, "da39a3ee5e6b4b0d3255bfef95601890afd80709"), check_sha1(path, "00000000")
    (True, False)
    """
    import hashlib

    digest = hashlib.sha1(usedforsecurity=False)
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    wanted = sha1_hash.lower()
    if len(wanted) < 8:
        raise ArgumentError(f"check_sha1: sha1_hash={sha1_hash!r} is too short: expected at least 8 digits")
    return digest.hexdigest().startswith(wanted)


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Gives a file the name of another, which it replaces as a whole."""
    os.replace(src, dst)


def download(
    url: str,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetches a file once, and returns its name. It is there as a whole or not at all.

    Parameters
    ----------
    url
        An address (``https://``, ``http://``, ``file://``), or the name of a file of this machine.
    path
        The name for the file, or the folder for it; the current folder if None.
    overwrite
        Fetch it although it is there. A file of another sum than ``sha1_hash`` is always fetched again.
    retries
        How often to try again when the network fails.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> source = os.path.join(folder, "source.txt")
    >>> with open(source, "w") as file:
    ...     _ = file.write("text")
    >>> with open(download("file://" + source, os.path.join(folder, "copy.txt"))) as file:
    ...     file.read()
    'text'
    """
    import tempfile
    from urllib.error import HTTPError, URLError

    if retries < 0:
        raise ArgumentError(f"download: retries={retries} is not valid: expected at least 0")
    target = _target(url, path)
    if not overwrite and os.path.exists(target) and (sha1_hash is None or check_sha1(target, sha1_hash)):
        return target
    folder = os.path.dirname(os.path.abspath(target))
    os.makedirs(folder, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", suffix=".part", dir=folder)
    os.close(handle)
    try:
        for left in range(retries, -1, -1):
            try:
                _fetch(url, part, verify_ssl)
            except (URLError, ConnectionError, TimeoutError) as error:
                refused = isinstance(error, HTTPError) and error.code < 500
                if left and not refused:
                    continue
                raise FileError(f"download: '{url}' cannot be fetched: {error}") from error
            if sha1_hash is None or check_sha1(part, sha1_hash):
                os.replace(part, target)
                return target
        raise FileError(
            f"download: '{url}' does not have the SHA-1 sum {sha1_hash}: the file is damaged, or another one"
        )
    finally:
        if os.path.exists(part):
            os.remove(part)


def _target(url: str, path: str | os.PathLike[str] | None) -> str:
    from urllib.parse import urlsplit

    name = os.path.basename(urlsplit(url).path)
    if path is None or os.path.isdir(os.path.expanduser(path)):
        if not name:
            raise ArgumentError(f"download: the address '{url}' ends in no file name: give a path that does")
        return name if path is None else os.path.join(os.path.expanduser(path), name)
    return os.path.expanduser(path)


def _fetch(url: str, part: str, verify_ssl: bool) -> None:
    import shutil  # what only downloads need would double the time that importing gluon takes
    import ssl
    from urllib.parse import urlsplit
    from urllib.request import urlopen

    scheme = urlsplit(url).scheme
    if len(scheme) < 2:  # a path, of which Windows' begin with a letter
        shutil.copyfile(os.path.expanduser(url), part)
        return
    if scheme not in ("http", "https", "file"):
        raise ArgumentError(f"download: '{url}' is not valid: expected an http, https or file address")
    context = None
    if scheme == "https" and not verify_ssl:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urlopen(url, context=context, timeout=60) as source, open(part, "wb") as file:
        shutil.copyfileobj(source, file)
        wanted = source.headers.get("Content-Length")
        if wanted is not None and wanted.isdecimal() and file.tell() != int(wanted):
            raise ConnectionError(f"{file.tell()} of {wanted} bytes came")


class HookHandle:
    """What ``register_forward_hook`` and its like return: ``detach()``, or the end of a ``with``, takes the hook away.

    >>> hooks = {}
    >>> with HookHandle(hooks, print):
    ...     len(hooks)
    1
    >>> len(hooks)
    0
    """

    _ids = count()

    def __init__(
        self, hooks: dict[int, Any], hook: Callable[..., Any], changed: Callable[[], None] | None = None
    ) -> None:
        self.id = next(self._ids)
        self._hooks: dict[int, Any] | None = hooks
        self._changed = changed
        hooks[self.id] = hook
        if changed is not None:
            changed()

    def detach(self) -> None:
        """Takes the hook away; a second time does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self.id, None)
            self._hooks = None
            if self._changed is not None:
                self._changed()

    remove = detach

    def __enter__(self) -> "HookHandle":  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.detach()
