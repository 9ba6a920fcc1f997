"""What this build can do, by MXNet's names.

>>> import gluonish as mx
>>> features = mx.runtime.Features()
>>> features.is_enabled("CUDA"), features.is_enabled("PROFILER")
(False, True)
"""

import platform
from collections import OrderedDict
from typing import NamedTuple

from gluonish import _core
from gluonish.errors import MXNetError

__all__ = ["Feature", "Features", "feature_list"]

# What each instruction set has, those below it included.
_X86 = ("CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_AVX", "F16C", "CPU_AVX2")
_ALWAYS = ("LAPACK", "PROFILER", "INT64_TENSOR_SIZE")  # linear algebra, here of our own
_NEVER = (
    *("CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE4A", "OPENMP", "SSE", "JEMALLOC"),
    *("BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "MKLDNN", "OPENCV", "CAFFE", "DIST_KVSTORE"),
    *("CXX14", "SIGNAL_HANDLER", "DEBUG", "TVM_OP"),
)


class Feature(NamedTuple):
    """A feature, and whether it is there.

    >>> Feature("CUDA", False)
    ✖ CUDA
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All features that have a name.

    >>> [feature.enabled for feature in feature_list() if feature.name == "LAPACK"]
    [True]
    """
    x86 = platform.machine().lower() in {"x86_64", "amd64"}
    wide = _core.isa().startswith("avx")
    vectors = [Feature(name, x86 and (wide or name in {"CPU_SSE", "CPU_SSE2"})) for name in _X86]
    features = [*vectors, *(Feature(n, True) for n in _ALWAYS), *(Feature(n, False) for n in _NEVER)]
    return sorted(features)


class Features(OrderedDict[str, Feature]):
    """The features by name.

    >>> Features()["CUDA"].enabled
    False
    """

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there; a name that is none raises.

        >>> Features().is_enabled("cuda")
        False
        """
        found = self.get(feature_name.upper())
        if found is None:
            raise MXNetError(f"{feature_name!r} is not a feature: known are {', '.join(self)}")
        return found.enabled

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.values()))}]"
