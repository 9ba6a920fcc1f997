"""What surrounds a test: the device, environment variables, error output, GPUs, downloads."""

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from gluonish import _core
from gluonish.context import Context, current_context, num_gpus
from gluonish.errors import ArgumentError

__all__ = [
    "assert_exception",
    "default_context",
    "discard_stderr",
    "download",
    "environment",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "retry",
    "set_default_context",
]

T = TypeVar("T", bound=Callable[..., Any])


def default_context() -> Context:
    """The device on which tests make arrays: the current one.

    >>> default_context()
    cpu(0)
    """
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes a device the current one of this thread, outside of ``with`` blocks.

    >>> from gluonish import cpu
    >>> set_default_context(cpu(1))
    >>> default_context()
    cpu(1)
    >>> set_default_context(cpu(0))
    """
    _core.set_current_device(Context(ctx)._index)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """Raises unless a call raises this exception.

    >>> assert_exception(int, ValueError, "x")
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")


def retry(n: int) -> Callable[[T], T]:
    """A decorator for tests of random numbers: one that fails is run again, ``n`` times in all.

    >>> tries = []
    >>> @retry(3)
    ... def test():
    ...     tries.append(1)
    ...     assert len(tries) == 3
    >>> test()
    """
    if n < 1:
        raise ArgumentError(f"retry: n={n} is not valid: expected at least 1")

    def decorate(test: T) -> T:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    continue
            return test(*args, **kwargs)

        return run  # type: ignore[return-value]  # it has the test's signature

    return decorate


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """A scope with other environment variables: a name and a value, or a dict; None removes one.

    Variables of this package are read at import, so they do not change by this.

    >>> with environment("SOME_VARIABLE", "1"):
    ...     os.environ["SOME_VARIABLE"]
    '1'
    >>> "SOME_VARIABLE" in os.environ
    False
    """
    match args:
        case [Mapping() as given]:
            wanted = dict(given)
        case [str(name), value]:
            wanted = {name: value}
        case _:
            raise ArgumentError("environment: a dict is needed, or a name and a value")
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set(wanted)
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, Any]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


@contextmanager
def discard_stderr() -> Iterator[None]:
    """A scope in which nothing reaches the error output, of whatever part of the process.

    >>> with discard_stderr():
    ...     print("unseen", file=sys.stderr)
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        python = sys.stderr
        os.dup2(nothing.fileno(), 2)
        sys.stderr = nothing
        try:
            yield
        finally:
            sys.stderr = python
            os.dup2(kept, 2)
            os.close(kept)


def list_gpus() -> range:
    """The numbers of the GPUs that can be used.

    >>> list(list_gpus())
    []
    """
    return range(num_gpus())


def is_op_runnable() -> bool:
    """Whether ops run on the current device: always, on a processor.

    >>> is_op_runnable()
    True
    """
    return True


def has_tvm_ops() -> bool:
    """Whether there are ops made by TVM: there are none.

    >>> has_tvm_ops()
    False
    """
    return False


def is_cd_run() -> bool:
    """Whether the environment says ``CD_JOB=1``, as a delivery's does.

    >>> with environment("CD_JOB", "1"):
    ...     is_cd_run()
    True
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether this machine is a 64-bit ARM.

    >>> is_aarch64_run() == (platform.machine() in ("aarch64", "arm64"))
    True
    """
    return platform.machine() in {"aarch64", "arm64"}


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Downloads a file unless it is there, and returns its path.

    Parameters
    ----------
    fname
        The name of the file; None: the last part of the address.
    dirname
        The directory, made if it is not there; None: the current one.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "source.txt").write_text("hello")
    >>> path = download((folder / "source.txt").as_uri(), "copy.txt", str(folder))
    >>> pathlib.Path(path).read_text()
    'hello'
    """
    from gluonish.gluon import utils

    name = fname or url.split("?", maxsplit=1)[0].rstrip("/").rsplit("/", 1)[-1]
    path = os.path.join(dirname, name) if dirname else name
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return utils.download(url, path=path, overwrite=overwrite, retries=retries)
