"""The native module. Its users are the modules of this package; everybody else takes the names from those."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy.typing as npt

from gluonish._types import ArrayLike, DTypeLike, Face, Number, ProfilerEvent, Setting, Shape
from gluonish.context import Context

class MXNetError(RuntimeError): ...
class ShapeError(MXNetError, ValueError): ...
class DTypeError(MXNetError, TypeError): ...
class IndexOutOfRange(MXNetError, IndexError): ...
class LinAlgError(MXNetError, ValueError): ...
class FormatError(MXNetError, ValueError): ...
class FileError(MXNetError, OSError): ...
class FileNotFound(MXNetError, FileNotFoundError): ...
class FileDenied(MXNetError, PermissionError): ...
class OutOfMemory(MXNetError, MemoryError): ...
class DeviceError(MXNetError): ...
class GradientError(MXNetError): ...
class ArgumentError(MXNetError, TypeError, ValueError): ...
class NumberOverflow(MXNetError, OverflowError, ValueError): ...
class UnsupportedError(MXNetError, NotImplementedError): ...

class NDArray(ArrayOps):
    """An array on a device. Functions of `nd` and `np` make one; its values may still be on their way."""

    @property
    def shape(self) -> Shape: ...
    @property
    def dtype(self) -> Any:
        """A numpy.dtype, or the string "bfloat16"."""
    @property
    def size(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def strides(self) -> Shape:
        """In bytes."""
    @property
    def grad(self) -> NDArray | None: ...
    @property
    def T(self) -> NDArray: ...
    @property
    def _device(self) -> int: ...

    # Attached by gluonish/_array.
    @property
    def context(self) -> Context: ...
    @property
    def ctx(self) -> Context: ...
    @property
    def device(self) -> Context: ...
    @property
    def stype(self) -> str: ...
    def asnumpy(self) -> npt.NDArray[Any]: ...
    def asscalar(self) -> Any: ...
    def item(self, *index: int) -> Number: ...
    def tolist(self) -> Any: ...
    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray: ...
    def copy(self) -> NDArray: ...
    def copyto(self, other: NDArray | Context | str) -> NDArray: ...
    def as_in_context(self, context: Context | str) -> NDArray: ...
    def as_in_ctx(self, context: Context | str) -> NDArray: ...
    def to_device(self, context: Context | str) -> NDArray: ...
    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None: ...
    def backward(
        self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None: ...
    def detach(self) -> NDArray: ...
    def register_hook(self, hook: Callable[[NDArray], NDArray | None]) -> Any: ...
    def wait_to_read(self) -> None: ...
    def wait_to_write(self) -> None: ...
    def reshape(self, *shape: int | Sequence[int] | None, **kwargs: Any) -> NDArray: ...
    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> NDArray | list[NDArray]: ...
    def transpose(self, *axes: int | Sequence[int] | None, **kwargs: Any) -> NDArray: ...
    def slice_assign(
        self, rhs: NDArray, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None] = ()
    ) -> NDArray: ...
    def slice_assign_scalar(
        self, value: Number, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None] = ()
    ) -> NDArray: ...
    def tostype(self, stype: str) -> NDArray: ...
    def as_np_ndarray(self) -> NDArray: ...
    def as_nd_ndarray(self) -> NDArray: ...
    @property
    def data(self) -> memoryview: ...
    def to_dlpack_for_read(self) -> Any: ...
    def to_dlpack_for_write(self) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __getstate__(self) -> tuple[npt.NDArray[Any], str, str]: ...
    def __setstate__(self, state: tuple[npt.NDArray[Any], str, str]) -> None: ...

    def __add__(self, other: ArrayLike) -> NDArray: ...
    def __radd__(self, other: ArrayLike) -> NDArray: ...
    def __iadd__(self, other: ArrayLike) -> NDArray: ...
    def __sub__(self, other: ArrayLike) -> NDArray: ...
    def __rsub__(self, other: ArrayLike) -> NDArray: ...
    def __isub__(self, other: ArrayLike) -> NDArray: ...
    def __mul__(self, other: ArrayLike) -> NDArray: ...
    def __rmul__(self, other: ArrayLike) -> NDArray: ...
    def __imul__(self, other: ArrayLike) -> NDArray: ...
    def __truediv__(self, other: ArrayLike) -> NDArray: ...
    def __rtruediv__(self, other: ArrayLike) -> NDArray: ...
    def __itruediv__(self, other: ArrayLike) -> NDArray: ...
    def __floordiv__(self, other: ArrayLike) -> NDArray: ...
    def __rfloordiv__(self, other: ArrayLike) -> NDArray: ...
    def __ifloordiv__(self, other: ArrayLike) -> NDArray: ...
    def __mod__(self, other: ArrayLike) -> NDArray: ...
    def __rmod__(self, other: ArrayLike) -> NDArray: ...
    def __imod__(self, other: ArrayLike) -> NDArray: ...
    def __pow__(self, other: ArrayLike) -> NDArray: ...
    def __rpow__(self, other: ArrayLike) -> NDArray: ...
    def __ipow__(self, other: ArrayLike) -> NDArray: ...
    def __matmul__(self, other: ArrayLike) -> NDArray: ...
    def __rmatmul__(self, other: ArrayLike) -> NDArray: ...
    def __imatmul__(self, other: ArrayLike) -> NDArray: ...
    def __divmod__(self, other: ArrayLike) -> tuple[NDArray, NDArray]: ...
    def __rdivmod__(self, other: ArrayLike) -> tuple[NDArray, NDArray]: ...
    def __and__(self, other: ArrayLike) -> NDArray: ...
    def __rand__(self, other: ArrayLike) -> NDArray: ...
    def __iand__(self, other: ArrayLike) -> NDArray: ...
    def __or__(self, other: ArrayLike) -> NDArray: ...
    def __ror__(self, other: ArrayLike) -> NDArray: ...
    def __ior__(self, other: ArrayLike) -> NDArray: ...
    def __xor__(self, other: ArrayLike) -> NDArray: ...
    def __rxor__(self, other: ArrayLike) -> NDArray: ...
    def __ixor__(self, other: ArrayLike) -> NDArray: ...
    def __lshift__(self, other: ArrayLike) -> NDArray: ...
    def __rlshift__(self, other: ArrayLike) -> NDArray: ...
    def __ilshift__(self, other: ArrayLike) -> NDArray: ...
    def __rshift__(self, other: ArrayLike) -> NDArray: ...
    def __rrshift__(self, other: ArrayLike) -> NDArray: ...
    def __irshift__(self, other: ArrayLike) -> NDArray: ...
    def __invert__(self) -> NDArray: ...
    def __neg__(self) -> NDArray: ...
    def __pos__(self) -> NDArray: ...
    def __abs__(self) -> NDArray: ...
    def __eq__(self, other: ArrayLike) -> NDArray: ...  # type: ignore[override]
    def __ne__(self, other: ArrayLike) -> NDArray: ...  # type: ignore[override]
    def __lt__(self, other: ArrayLike) -> NDArray: ...
    def __le__(self, other: ArrayLike) -> NDArray: ...
    def __gt__(self, other: ArrayLike) -> NDArray: ...
    def __ge__(self, other: ArrayLike) -> NDArray: ...
    def __getitem__(self, key: Any) -> NDArray: ...
    def __setitem__(self, key: Any, value: ArrayLike) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray]: ...
    def __contains__(self, value: object) -> bool: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __round__(self, ndigits: int | None = None) -> NDArray: ...
    def __hash__(self) -> int: ...

# Ops.
def faces() -> dict[str, dict[str, Face]]: ...
def op_table() -> list[dict[str, Any]]: ...
def invoke(
    name: str, inputs: Sequence[ArrayLike], attrs: dict[str, Any], out: Any = None, device: int | None = None
) -> Any: ...
def cuda_text(op: str, dtype: str) -> str: ...
def conv_lanes() -> int: ...
def conv_choice(
    images: Sequence[int],
    filters: Sequence[int],
    stride: tuple[int, int] = (1, 1),
    dilate: tuple[int, int] = (1, 1),
    pad: tuple[int, int] = (0, 0),
    groups: int = 1,
    pass_: str = "result",
    blocked: bool = False,
) -> str: ...

# Arrays.
def from_buffer(obj: Any, dtype: str, shape: Shape, device: int) -> NDArray: ...
def to_numpy(x: NDArray, bits: bool = False) -> npt.NDArray[Any]: ...
def to_dlpack(x: NDArray, versioned: bool, copy: bool | None, write: bool) -> Any: ...
def from_dlpack(capsule: Any, copy: bool | None) -> NDArray: ...

class Memory:
    def __new__(cls, array: NDArray) -> Memory: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def item(x: NDArray) -> Number: ...
def empty(shape: Shape, dtype: str, device: int) -> NDArray: ...
def full(shape: Shape, value: Number, dtype: str, device: int) -> NDArray: ...
def arange(start: Number, step: Number, count: int, dtype: str, device: int) -> NDArray: ...
def copy_to_device(x: NDArray, device: int) -> NDArray: ...
def copy_into(dst: NDArray, src: NDArray | Number) -> None: ...
def commit_into(state: NDArray, value: NDArray, told: bool) -> None: ...

# Files.
def save_file(
    path: str, format: str, names: list[str] | None, arrays: list[NDArray], metadata: list[tuple[str, str]]
) -> None: ...
def save_bytes(
    format: str, names: list[str] | None, arrays: list[NDArray], metadata: list[tuple[str, str]]
) -> bytes: ...
def load_file(path: str, device: int) -> tuple[str, list[str] | None, list[NDArray], dict[str, str]]: ...
def load_bytes(data: bytes, device: int) -> tuple[str, list[str] | None, list[NDArray], dict[str, str]]: ...
def file_metadata(path: str) -> dict[str, str]: ...

# Gradients.
def set_recording(on: bool) -> bool: ...
def is_recording() -> bool: ...
def set_training(on: bool) -> bool: ...
def is_training() -> bool: ...
def attach_grad(x: NDArray, req: str) -> None: ...
def mark_variable(x: NDArray, grad: NDArray, req: str) -> None: ...
def grad_req(x: NDArray) -> str: ...
def detach(x: NDArray) -> NDArray: ...
def backward(
    heads: list[NDArray],
    head_grads: list[NDArray | None],
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
    detect_anomaly: bool,
) -> None: ...
def gradients(
    heads: list[NDArray],
    variables: list[NDArray],
    head_grads: list[NDArray | None],
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
    detect_anomaly: bool,
) -> list[NDArray]: ...
def record_function(
    name: str,
    backward: Callable[[list[NDArray]], list[NDArray | None]],
    inputs: list[NDArray],
    outputs: list[NDArray],
) -> None: ...
def add_hook(x: NDArray, fn: Callable[[NDArray], NDArray | None]) -> int: ...
def remove_hook(x: NDArray, id: int) -> None: ...
def is_tracked(x: NDArray) -> bool: ...
def is_leaf(x: NDArray) -> bool: ...
def kept_bytes(x: NDArray) -> int: ...

# Random numbers.
def seed(seed: int, device: int | None) -> None: ...

# Waiting, devices, engine.
def wait(x: NDArray) -> None: ...
def wait_all() -> None: ...
def raise_left_out() -> None: ...
def drain() -> None: ...
def set_package_directory(path: str) -> None: ...
def current_device() -> int: ...
def set_current_device(device: int) -> int: ...
def device_name(device: int) -> str: ...
def set_naive(on: bool) -> bool: ...
def is_naive() -> bool: ...
def set_inline(limit_ns: int | None) -> int: ...
def set_num_threads(count: int) -> int: ...
def num_threads() -> int: ...
def set_inflight_bytes(count: int) -> int: ...
def engine_stats() -> dict[str, int]: ...
def isa() -> str: ...
def limit_isa(name: str) -> str: ...
def shutdown() -> bool: ...
def version(x: NDArray) -> int: ...
def training_step() -> int: ...
def sum_over_devices(x: NDArray, key: str, devices: int, step: int) -> NDArray: ...
def callback(
    name: str,
    fn: Callable[[list[NDArray], list[NDArray]], object],
    inputs: list[NDArray],
    outputs: list[tuple[Shape, str]],
) -> list[NDArray]: ...
def block_enter(name: str) -> int: ...
def block_exit(previous: int) -> None: ...

# Memory, profiler, settings.
def memory_stats() -> dict[str, int]: ...
def memory_release() -> int: ...
def memory_reset_peak() -> None: ...
def set_memory_limit(count: int) -> int: ...
def profiler_enable(on: bool) -> bool: ...
def profiler_trace(clear: bool) -> str: ...
def profiler_events(clear: bool) -> list[ProfilerEvent]: ...
def settings() -> list[Setting]: ...
def setting_problems() -> list[str]: ...

# ---- Below: made from the op table by tools/gen_stubs.py (`make stubs`). Do not edit. ----

class NdOps:
    @staticmethod
    def Activation(
        data: ArrayLike,
        act_type: Literal["relu", "sigmoid", "log_sigmoid", "mish", "silu", "softrelu", "softsign", "tanh"],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """An elementwise activation, by its name."""

    @staticmethod
    def BatchNorm(
        data: ArrayLike,
        gamma: ArrayLike,
        beta: ArrayLike,
        moving_mean: NDArray,
        moving_var: NDArray,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        axis: int = 1,
        cudnn_off: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        *,
        out: tuple[NDArray, NDArray, NDArray] | None = None,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Channels brought to mean 0 and deviation 1, times gamma, plus beta. In training the statistics are those of the batch, and the running ones become `momentum * running + (1 - momentum) * batch` (with the biased variance); otherwise the running ones are used. A batch of no values leaves them as they are."""

    @staticmethod
    def BatchNorm_v1(
        data: ArrayLike,
        gamma: ArrayLike,
        beta: ArrayLike,
        moving_mean: NDArray,
        moving_var: NDArray,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        *,
        out: tuple[NDArray, NDArray, NDArray] | None = None,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """As BatchNorm, along axis 1."""

    @staticmethod
    def CTCLoss(
        data: ArrayLike,
        label: ArrayLike,
        data_lengths: ArrayLike | None = None,
        label_lengths: ArrayLike | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = 'first',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """How unlikely the softmax of frames (frames, batch, classes) is to spell the labels (batch, length), over all ways in which it can; infinity, with a gradient of 0, where there is none."""

    @staticmethod
    def Cast(data: ArrayLike, dtype: DTypeLike, *, out: NDArray | None = None) -> NDArray:
        """The values in another type."""

    @staticmethod
    def Concat(*data: ArrayLike, dim: int = 1, out: NDArray | None = None) -> NDArray:
        """Arrays joined along an axis."""

    @staticmethod
    def Convolution(
        data: ArrayLike,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilate: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        num_filter: int,
        num_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        cudnn_tune: Literal["off", "limited_workspace", "fastest"] | None = None,
        cudnn_off: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Filters slide over images: `sum(data * weight) + bias` at every place."""

    @staticmethod
    def Convolution_v1(
        data: ArrayLike,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilate: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        num_filter: int,
        num_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        cudnn_tune: Literal["off", "limited_workspace", "fastest"] | None = None,
        cudnn_off: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Filters slide over images: `sum(data * weight) + bias` at every place."""

    @staticmethod
    def Deconvolution(
        data: ArrayLike,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilate: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        adj: int | Sequence[int] | None = None,
        target_shape: int | Sequence[int] | None = None,
        num_filter: int,
        num_group: int = 1,
        workspace: int = 512,
        no_bias: bool = True,
        cudnn_tune: Literal["off", "limited_workspace", "fastest"] | None = None,
        cudnn_off: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """The transpose of a convolution: each value lays down its filter."""

    @staticmethod
    def Dropout(
        data: ArrayLike,
        p: float = 0.5,
        mode: Literal["always", "training"] = 'training',
        axes: int | Sequence[int] | None = None,
        cudnn_off: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """In training, values become 0 with probability `p` and the others are divided by `1 - p`; otherwise nothing happens."""

    @staticmethod
    def ElementWiseSum(*args: ArrayLike, out: NDArray | None = None) -> NDArray:
        """The sum of any number of arrays of one shape, in one pass."""

    @staticmethod
    def Embedding(
        data: ArrayLike,
        weight: ArrayLike,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = 'float32',
        sparse_grad: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Row `data[...]` of `weight` for each index; one that is not from 0 to `input_dim - 1` is an error."""

    @staticmethod
    def Flatten(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """A matrix: the first axis stays, the others become one."""

    @staticmethod
    def FullyConnected(
        data: ArrayLike,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        out: NDArray | None = None,
    ) -> NDArray:
        """`data @ weight.T + bias`."""

    @staticmethod
    def GroupNorm(
        data: ArrayLike,
        gamma: ArrayLike,
        beta: ArrayLike,
        num_groups: int = 1,
        eps: float = 1e-05,
        output_mean_var: bool = False,
        *,
        out: tuple[NDArray, NDArray, NDArray] | None = None,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Each group of channels of an image brought to mean 0 and deviation 1, then channels (or groups) times gamma, plus beta."""

    @staticmethod
    def IdentityAttachKLSparseReg(
        data: ArrayLike,
        moving_avg: NDArray,
        sparseness_target: float = 0.1,
        penalty: float = 0.001,
        momentum: float = 0.9,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The input itself; to its gradient comes that of a penalty, which pulls the running mean of each unit to `sparseness_target`."""

    @staticmethod
    def InstanceNorm(
        data: ArrayLike,
        gamma: ArrayLike,
        beta: ArrayLike,
        eps: float = 0.001,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Each channel of an image brought to mean 0 and deviation 1, times gamma, plus beta."""

    @staticmethod
    def L2Normalization(
        data: ArrayLike,
        eps: float = 1e-10,
        mode: Literal["channel", "instance", "spatial"] = 'instance',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Values divided by the root of a sum of squares, plus eps."""

    @staticmethod
    def LRN(
        data: ArrayLike,
        alpha: float = 0.0001,
        beta: float = 0.75,
        knorm: float = 2.0,
        *,
        nsize: int,
        out: NDArray | None = None,
    ) -> NDArray:
        """Values divided by `(knorm + alpha / nsize * sum(x ** 2)) ** beta`, the sum going over neighbouring channels."""

    @staticmethod
    def LayerNorm(
        data: ArrayLike,
        gamma: ArrayLike,
        beta: ArrayLike,
        axis: int = -1,
        eps: float = 1e-05,
        output_mean_var: bool = False,
        *,
        out: tuple[NDArray, NDArray, NDArray] | None = None,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Values along an axis brought to mean 0 and deviation 1, times gamma, plus beta."""

    @staticmethod
    def LeakyReLU(
        data: ArrayLike,
        gamma: ArrayLike | None = None,
        act_type: Literal["elu", "gelu", "gelu_tanh", "leaky", "prelu", "rrelu", "selu"] = 'leaky',
        slope: float = 0.25,
        lower_bound: float = 0.125,
        upper_bound: float = 0.334,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """An activation that does not end below 0, by its name."""

    @staticmethod
    def LinearRegressionOutput(
        data: ArrayLike,
        label: ArrayLike,
        grad_scale: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The input itself; its gradient is that of half the squared distance from the label, divided by the values of a row."""

    @staticmethod
    def LogisticRegressionOutput(
        data: ArrayLike,
        label: ArrayLike,
        grad_scale: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`sigmoid(data)`; the gradient is that of the cross-entropy with the label, divided by the values of a row."""

    @staticmethod
    def MAERegressionOutput(
        data: ArrayLike,
        label: ArrayLike,
        grad_scale: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The input itself; its gradient is that of the distance from the label, divided by the values of a row."""

    @staticmethod
    def MakeLoss(
        data: ArrayLike,
        grad_scale: float = 1.0,
        valid_thresh: float = 0.0,
        normalization: Literal["batch", "null", "valid"] = 'null',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The input itself; its gradient is `grad_scale`, whatever comes in."""

    @staticmethod
    def Pad(
        data: ArrayLike,
        mode: Literal["constant", "edge", "reflect"],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The array with a margin."""

    @staticmethod
    def Pooling(
        data: ArrayLike,
        kernel: int | Sequence[int] | None = None,
        pool_type: Literal["max", "avg", "sum", "lp"] = 'max',
        global_pool: bool = False,
        cudnn_off: bool = False,
        pooling_convention: Literal["valid", "full", "same"] = 'valid',
        stride: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        p_value: int | None = None,
        count_include_pad: bool = True,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Windows slide over images; each becomes one value."""

    @staticmethod
    def Pooling_v1(
        data: ArrayLike,
        kernel: int | Sequence[int] | None = None,
        pool_type: Literal["max", "avg", "sum"] = 'max',
        global_pool: bool = False,
        pooling_convention: Literal["valid", "full"] = 'valid',
        stride: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """As Pooling; means count what is outside of the images."""

    @staticmethod
    def RMSNorm(
        data: ArrayLike,
        gamma: ArrayLike,
        axis: int = -1,
        eps: float = 1e-06,
        *,
        out: tuple[NDArray, NDArray, NDArray] | None = None,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Values along an axis divided by the root of their mean square, times gamma."""

    @staticmethod
    def RNN(
        data: ArrayLike,
        parameters: ArrayLike,
        state: ArrayLike,
        state_cell: ArrayLike | None = None,
        sequence_length: ArrayLike | None = None,
        *,
        state_size: int,
        num_layers: int,
        bidirectional: bool = False,
        mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"],
        p: float = 0.0,
        state_outputs: bool = False,
        projection_size: int | None = None,
        lstm_state_clip_min: float | None = None,
        lstm_state_clip_max: float | None = None,
        lstm_state_clip_nan: bool = False,
        use_sequence_length: bool = False,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Recurrent layers: data (steps, batch, width); parameters in one vector, for each layer and direction the weights of input and state (and of the projection), then in the same order both biases; the gates are (input, forget, new, output) or (reset, update, new)."""

    @staticmethod
    def Reshape(
        data: ArrayLike,
        shape: int | Sequence[int] | None = None,
        reverse: bool = False,
        target_shape: int | Sequence[int] | None = None,
        keep_highest: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The same values in another shape; 0 keeps a dimension, -1 is what is left, -2 keeps the rest, -3 joins two, -4 splits one."""

    @staticmethod
    def SVMOutput(
        data: ArrayLike,
        label: ArrayLike,
        margin: float = 1.0,
        regularization_coefficient: float = 1.0,
        use_linear: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The input itself; its gradient is that of a hinge loss, squared or not, of each class against the others. A label that is not a class stands for none."""

    @staticmethod
    def SequenceLast(
        data: ArrayLike,
        sequence_length: ArrayLike | None = None,
        use_sequence_length: bool = False,
        axis: int = 0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The last step of each sequence; lengths from 1 to the number of steps are allowed."""

    @staticmethod
    def SequenceMask(
        data: ArrayLike,
        sequence_length: ArrayLike | None = None,
        use_sequence_length: bool = False,
        value: float = 0.0,
        axis: int = 0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The sequences with a value in place of what is behind their ends; a length beyond the steps is refused."""

    @staticmethod
    def SequenceReverse(
        data: ArrayLike,
        sequence_length: ArrayLike | None = None,
        use_sequence_length: bool = False,
        axis: int = 0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Each sequence backwards; what is behind its end stays. A length beyond the steps is refused."""

    @staticmethod
    def SliceChannel(
        data: ArrayLike,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Equal parts along an axis."""

    @staticmethod
    def Softmax(
        data: ArrayLike,
        label: ArrayLike,
        grad_scale: float = 1.0,
        ignore_label: float = -1.0,
        multi_output: bool = False,
        use_ignore: bool = False,
        preserve_shape: bool = False,
        normalization: Literal["batch", "null", "valid"] = 'null',
        out_grad: bool = False,
        smooth_alpha: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The old name of SoftmaxOutput."""

    @staticmethod
    def SoftmaxActivation(
        data: ArrayLike,
        mode: Literal["instance", "channel"] = 'instance',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`softmax` along the last axis, or along axis 1."""

    @staticmethod
    def SoftmaxOutput(
        data: ArrayLike,
        label: ArrayLike,
        grad_scale: float = 1.0,
        ignore_label: float = -1.0,
        multi_output: bool = False,
        use_ignore: bool = False,
        preserve_shape: bool = False,
        normalization: Literal["batch", "null", "valid"] = 'null',
        out_grad: bool = False,
        smooth_alpha: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`softmax` of the classes; the gradient is that of the cross-entropy with the label. A label that is not a class stands for none."""

    @staticmethod
    def SwapAxis(data: ArrayLike, dim1: int = 0, dim2: int = 0, *, out: NDArray | None = None) -> NDArray:
        """Two axes exchanged."""

    @staticmethod
    def UpSampling(
        *data: ArrayLike,
        scale: int,
        num_filter: int = 0,
        sample_type: Literal["nearest", "bilinear"],
        multi_input_mode: Literal["concat", "sum"] = 'concat',
        num_args: int | None = None,
        workspace: int = 512,
        out: NDArray | None = None,
    ) -> NDArray:
        """Images enlarged by a whole number; several become one, each enlarged to the size of the first."""

    @staticmethod
    def abs(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Absolute value."""

    @staticmethod
    def adam_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mean: NDArray,
        var: NDArray,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`weight - lr * mean / (sqrt(var) + epsilon)`, with running means of the gradient and its square."""

    @staticmethod
    def add(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs + rhs`."""

    @staticmethod
    def add_n(*args: ArrayLike, out: NDArray | None = None) -> NDArray:
        """The sum of any number of arrays of one shape, in one pass."""

    @staticmethod
    def amp_cast(data: ArrayLike, dtype: DTypeLike, *, out: NDArray | None = None) -> NDArray:
        """The values in another floating type; integers and float64 stay as they are."""

    @staticmethod
    def amp_multicast(
        *data: ArrayLike,
        num_outputs: int,
        cast_narrow: bool = False,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Several arrays in the widest of their floating types; integers and float64 stay as they are."""

    @staticmethod
    def arccos(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse cosine, in radians."""

    @staticmethod
    def arccosh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic cosine."""

    @staticmethod
    def arcsin(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse sine, in radians."""

    @staticmethod
    def arcsinh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic sine."""

    @staticmethod
    def arctan(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse tangent, in radians."""

    @staticmethod
    def arctanh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic tangent."""

    @staticmethod
    def argmax(
        data: ArrayLike,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Position of the largest value along an axis, or in the flattened array."""

    @staticmethod
    def argmax_channel(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Position of the largest value along the last axis."""

    @staticmethod
    def argmin(
        data: ArrayLike,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Position of the smallest value along an axis, or in the flattened array."""

    @staticmethod
    def argsort(
        data: ArrayLike,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The positions of the elements of an axis in order. Equal ones keep their order, NaN comes last."""

    @staticmethod
    def batch_dot(
        lhs: ArrayLike,
        rhs: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The products of the matrices of two batches."""

    @staticmethod
    def batch_take(a: ArrayLike, indices: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """One element of each row, by its position in the row."""

    @staticmethod
    def broadcast_add(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs + rhs`."""

    @staticmethod
    def broadcast_axes(
        data: ArrayLike,
        axis: int | Sequence[int],
        size: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The values repeated along axes of size 1, without a copy."""

    @staticmethod
    def broadcast_axis(
        data: ArrayLike,
        axis: int | Sequence[int],
        size: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The values repeated along axes of size 1, without a copy."""

    @staticmethod
    def broadcast_div(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs`, as real numbers."""

    @staticmethod
    def broadcast_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs == rhs`."""

    @staticmethod
    def broadcast_greater(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs > rhs`."""

    @staticmethod
    def broadcast_greater_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs >= rhs`."""

    @staticmethod
    def broadcast_hypot(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`sqrt(lhs ** 2 + rhs ** 2)`, without overflow."""

    @staticmethod
    def broadcast_lesser(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs < rhs`."""

    @staticmethod
    def broadcast_lesser_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs <= rhs`."""

    @staticmethod
    def broadcast_like(
        lhs: ArrayLike,
        rhs: ArrayLike,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The first array repeated over the shape of the second, or over some of its axes, without a copy."""

    @staticmethod
    def broadcast_logical_and(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether both are not 0."""

    @staticmethod
    def broadcast_logical_or(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether one of the two is not 0."""

    @staticmethod
    def broadcast_logical_xor(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether exactly one of the two is not 0."""

    @staticmethod
    def broadcast_maximum(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The larger of two; NaN if either is."""

    @staticmethod
    def broadcast_minimum(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smaller of two; NaN if either is."""

    @staticmethod
    def broadcast_minus(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs - rhs`."""

    @staticmethod
    def broadcast_mod(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The remainder, with the sign of `rhs`."""

    @staticmethod
    def broadcast_mul(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs * rhs`."""

    @staticmethod
    def broadcast_not_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs != rhs`."""

    @staticmethod
    def broadcast_plus(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs + rhs`."""

    @staticmethod
    def broadcast_power(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs ** rhs`; of integers an integer."""

    @staticmethod
    def broadcast_sub(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs - rhs`."""

    @staticmethod
    def broadcast_to(data: ArrayLike, shape: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The values repeated over a larger shape, without a copy; 0 keeps a dimension."""

    @staticmethod
    def cast(data: ArrayLike, dtype: DTypeLike, *, out: NDArray | None = None) -> NDArray:
        """The values in another type."""

    @staticmethod
    def cbrt(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Cube root."""

    @staticmethod
    def ceil(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smallest integer not below `x`."""

    @staticmethod
    def choose_element_0index(
        data: ArrayLike,
        index: ArrayLike,
        axis: int = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap", "raise"] = 'clip',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """One element of each row along an axis, by its position."""

    @staticmethod
    def clip(data: ArrayLike, a_min: ArrayLike, a_max: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` held between two bounds."""

    @staticmethod
    def col2im(
        data: ArrayLike,
        output_size: int | Sequence[int],
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilate: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Columns added up where their patches lie in images: the gradient of im2col."""

    @staticmethod
    def concat(*data: ArrayLike, dim: int = 1, out: NDArray | None = None) -> NDArray:
        """Arrays joined along an axis."""

    @staticmethod
    def cos(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Cosine of an angle in radians."""

    @staticmethod
    def cosh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic cosine."""

    @staticmethod
    def crop(
        data: ArrayLike,
        begin: int | Sequence[int | None] | None,
        end: int | Sequence[int | None] | None,
        step: int | Sequence[int | None] | None = (),
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A part of the array: from begin up to end in steps, along each axis; None as in Python's slices."""

    @staticmethod
    def ctc_loss(
        data: ArrayLike,
        label: ArrayLike,
        data_lengths: ArrayLike | None = None,
        label_lengths: ArrayLike | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = 'first',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """How unlikely the softmax of frames (frames, batch, classes) is to spell the labels (batch, length), over all ways in which it can; infinity, with a gradient of 0, where there is none."""

    @staticmethod
    def cumsum(
        a: ArrayLike,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Running sums along an axis, or of the flattened array."""

    @staticmethod
    def degrees(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Radians to degrees."""

    @staticmethod
    def depth_to_space(data: ArrayLike, block_size: int, *, out: NDArray | None = None) -> NDArray:
        """Channels laid out as blocks of the image: (n, c * b * b, h, w) becomes (n, c, h * b, w * b)."""

    @staticmethod
    def diag(data: ArrayLike, k: int = 0, axis1: int = 0, axis2: int = 1, *, out: NDArray | None = None) -> NDArray:
        """A diagonal of two axes, as the last axis; of a vector, the matrix that has it on a diagonal."""

    @staticmethod
    def digamma(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The slope of `gammaln`."""

    @staticmethod
    def divide(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs`, as real numbers."""

    @staticmethod
    def dot(
        lhs: ArrayLike,
        rhs: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The product over the last axis of the left and the first of the right array."""

    @staticmethod
    def elemwise_add(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs + rhs` of arrays of one shape."""

    @staticmethod
    def elemwise_div(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs` of arrays of one shape."""

    @staticmethod
    def elemwise_mul(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs * rhs` of arrays of one shape."""

    @staticmethod
    def elemwise_sub(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs - rhs` of arrays of one shape."""

    @staticmethod
    def equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs == rhs`."""

    @staticmethod
    def erf(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The error function."""

    @staticmethod
    def erfinv(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The inverse of `erf`, from (-1, 1) to the real numbers."""

    @staticmethod
    def exp(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`e ** x`."""

    @staticmethod
    def expand_dims(data: ArrayLike, axis: int, *, out: NDArray | None = None) -> NDArray:
        """A new axis of size 1."""

    @staticmethod
    def expm1(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`exp(x) - 1`, accurate near 0."""

    @staticmethod
    def fill_element_0index(lhs: ArrayLike, mhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs` with element `rhs` of each row replaced by `mhs`."""

    @staticmethod
    def fix(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    @staticmethod
    def flatten(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """A matrix: the first axis stays, the others become one."""

    @staticmethod
    def flip(data: ArrayLike, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The elements of some axes in reverse order."""

    @staticmethod
    def floor(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The largest integer not above `x`."""

    @staticmethod
    def ftml_update(
        weight: ArrayLike,
        grad: ArrayLike,
        d: NDArray,
        v: NDArray,
        z: NDArray,
        lr: float,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        *,
        t: int,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_grad: float = -1.0,
        out: NDArray | None = None,
    ) -> NDArray:
        """Follow the moving leader."""

    @staticmethod
    def ftrl_update(
        weight: ArrayLike,
        grad: ArrayLike,
        z: NDArray,
        n: NDArray,
        lr: float,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Follow the regularised leader, which makes small weights 0."""

    @staticmethod
    def gamma(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The gamma function: `(n - 1)!` at `n`; NaN at the negative integers."""

    @staticmethod
    def gammaln(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The logarithm of the magnitude of the gamma function."""

    @staticmethod
    def gather_nd(data: ArrayLike, indices: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Elements or slices by coordinates: `indices` has a row for each of the first axes."""

    @staticmethod
    def gelu(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` times the normal distribution function of `x`."""

    @staticmethod
    def greater(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs > rhs`."""

    @staticmethod
    def greater_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs >= rhs`."""

    @staticmethod
    def hard_sigmoid(data: ArrayLike, alpha: float = 0.2, beta: float = 0.5, *, out: NDArray | None = None) -> NDArray:
        """`alpha * x + beta`, held between 0 and 1."""

    @staticmethod
    def identity(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """A fresh contiguous array with the same values."""

    @staticmethod
    def im2col(
        data: ArrayLike,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilate: int | Sequence[int] | None = None,
        pad: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The patches of images as columns: (batch, channels * taps, places)."""

    @staticmethod
    def isnan(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is not a number."""

    @staticmethod
    def khatri_rao(*args: ArrayLike, out: NDArray | None = None) -> NDArray:
        """The Kronecker products of the columns of matrices."""

    @staticmethod
    def lamb_update_phase1(
        weight: ArrayLike,
        grad: ArrayLike,
        mean: NDArray,
        var: NDArray,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        *,
        t: int,
        bias_correction: bool = True,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | None = None,
    ) -> NDArray:
        """The direction of LAMB: `mean / (sqrt(var) + epsilon) + wd * weight`."""

    @staticmethod
    def lamb_update_phase2(
        weight: ArrayLike,
        g: ArrayLike,
        r1: ArrayLike,
        r2: ArrayLike,
        lr: float,
        lower_bound: float = -1.0,
        upper_bound: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`weight - lr * r1 / r2 * g`, with the norms of weight and direction."""

    @staticmethod
    def lesser(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs < rhs`."""

    @staticmethod
    def lesser_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs <= rhs`."""

    @staticmethod
    def linalg_det(A: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The determinant of each matrix."""

    @staticmethod
    def linalg_extractdiag(A: ArrayLike, offset: int = 0, *, out: NDArray | None = None) -> NDArray:
        """A diagonal of each matrix, as a view."""

    @staticmethod
    def linalg_extracttrian(
        A: ArrayLike,
        offset: int = 0,
        lower: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A triangle of each matrix as a vector: the lower one by rows, the upper one by columns."""

    @staticmethod
    def linalg_gelqf(A: ArrayLike, *, out: tuple[NDArray, NDArray] | None = None) -> tuple[NDArray, NDArray]:
        """`A = L Q` for each matrix: a lower triangle and orthonormal rows. Gives Q and L."""

    @staticmethod
    def linalg_gemm(
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`alpha op(A) op(B) + beta C` for each matrix of a batch."""

    @staticmethod
    def linalg_gemm2(
        A: ArrayLike,
        B: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`alpha op(A) op(B)` for each matrix of a batch."""

    @staticmethod
    def linalg_inverse(A: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The inverse of each matrix; a singular one is an error."""

    @staticmethod
    def linalg_makediag(A: ArrayLike, offset: int = 0, *, out: NDArray | None = None) -> NDArray:
        """Square matrices with vectors on a diagonal."""

    @staticmethod
    def linalg_maketrian(A: ArrayLike, offset: int = 0, lower: bool = True, *, out: NDArray | None = None) -> NDArray:
        """Square matrices with vectors in a triangle: the lower one by rows, the upper one by columns."""

    @staticmethod
    def linalg_potrf(A: ArrayLike, lower: bool = True, *, out: NDArray | None = None) -> NDArray:
        """The Cholesky factor of symmetric positive definite matrices."""

    @staticmethod
    def linalg_potri(A: ArrayLike, lower: bool = True, *, out: NDArray | None = None) -> NDArray:
        """The inverse of symmetric positive definite matrices from their Cholesky factors."""

    @staticmethod
    def linalg_slogdet(A: ArrayLike, *, out: tuple[NDArray, NDArray] | None = None) -> tuple[NDArray, NDArray]:
        """The sign of each determinant and the logarithm of its absolute value."""

    @staticmethod
    def linalg_sumlogdiag(A: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The sum of the logarithms of each matrix's diagonal."""

    @staticmethod
    def linalg_syevd(A: ArrayLike, *, out: tuple[NDArray, NDArray] | None = None) -> tuple[NDArray, NDArray]:
        """`A = U^T diag(L) U` for each symmetric matrix: rows of U are eigenvectors, L ascends. Only the lower triangle is read."""

    @staticmethod
    def linalg_syrk(
        A: ArrayLike,
        transpose: bool = False,
        alpha: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`alpha A A^T` for each matrix of a batch."""

    @staticmethod
    def linalg_trmm(
        A: ArrayLike,
        B: ArrayLike,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The product of a triangular matrix and a matrix."""

    @staticmethod
    def linalg_trsm(
        A: ArrayLike,
        B: ArrayLike,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Solves a triangular system of equations."""

    @staticmethod
    def log(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Natural logarithm; -inf at 0, NaN below."""

    @staticmethod
    def log10(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 10."""

    @staticmethod
    def log1p(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`log(1 + x)`, accurate near 0."""

    @staticmethod
    def log2(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 2."""

    @staticmethod
    def log_sigmoid(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`log(sigmoid(x))`, without underflow."""

    @staticmethod
    def log_softmax(
        data: ArrayLike,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`x - log(sum(exp(x)))` along an axis."""

    @staticmethod
    def logical_and(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether both are not 0."""

    @staticmethod
    def logical_not(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is 0."""

    @staticmethod
    def logical_or(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether one of the two is not 0."""

    @staticmethod
    def logical_xor(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether exactly one of the two is not 0."""

    @staticmethod
    def make_loss(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The input itself; its gradient is 1, whatever comes in."""

    @staticmethod
    def masked_log_softmax(
        data: ArrayLike,
        mask: ArrayLike,
        axis: int = -1,
        temperature: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`log_softmax` of the values whose mask is not 0; the others give -inf."""

    @staticmethod
    def masked_softmax(
        data: ArrayLike,
        mask: ArrayLike,
        axis: int = -1,
        temperature: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`softmax` of the values whose mask is not 0; the others give 0, and a row without values gives zeros."""

    @staticmethod
    def max(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes; NaN if there is one."""

    @staticmethod
    def max_axis(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes; NaN if there is one."""

    @staticmethod
    def maximum(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The larger of two; NaN if either is."""

    @staticmethod
    def mean(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Arithmetic mean over axes."""

    @staticmethod
    def min(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes; NaN if there is one."""

    @staticmethod
    def min_axis(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes; NaN if there is one."""

    @staticmethod
    def minimum(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smaller of two; NaN if either is."""

    @staticmethod
    def mish(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x * tanh(log(1 + exp(x)))`."""

    @staticmethod
    def modulo(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The remainder, with the sign of `rhs`."""

    @staticmethod
    def moveaxis(
        tensor: ArrayLike,
        source: int | Sequence[int],
        destination: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Some axes at other places; the rest keep their order."""

    @staticmethod
    def mp_lamb_update_phase1(
        weight: ArrayLike,
        grad: ArrayLike,
        mean: NDArray,
        var: NDArray,
        weight32: ArrayLike,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        *,
        t: int,
        bias_correction: bool = True,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | None = None,
    ) -> NDArray:
        """`lamb_update_phase1` of a narrow weight that has a copy in float32."""

    @staticmethod
    def mp_lamb_update_phase2(
        weight: ArrayLike,
        g: ArrayLike,
        r1: ArrayLike,
        r2: ArrayLike,
        weight32: NDArray,
        lr: float,
        lower_bound: float = -1.0,
        upper_bound: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`lamb_update_phase2` of a narrow weight that has a copy in float32."""

    @staticmethod
    def mp_nag_mom_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mom: NDArray,
        weight32: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`nag_mom_update` of a narrow weight that has a copy in float32."""

    @staticmethod
    def mp_sgd_mom_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mom: NDArray,
        weight32: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`sgd_mom_update` of a narrow weight that has a copy in float32."""

    @staticmethod
    def mp_sgd_update(
        weight: ArrayLike,
        grad: ArrayLike,
        weight32: NDArray,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`sgd_update` of a narrow weight that has a copy in float32."""

    @staticmethod
    def multi_lars(
        lrs: ArrayLike,
        weights_sum_sq: ArrayLike,
        grads_sum_sq: ArrayLike,
        wds: ArrayLike,
        eta: float,
        eps: float,
        rescale_grad: float = 1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Learning rates of layers, by the norms of their weights and gradients."""

    @staticmethod
    def multi_sum_sq(*data: ArrayLike, num_arrays: int, out: NDArray | None = None) -> NDArray:
        """The sum of the squares of each array, as a vector of float32."""

    @staticmethod
    def multiply(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs * rhs`."""

    @staticmethod
    def nag_mom_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mom: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`sgd_mom_update` with Nesterov's momentum: the gradient's step is made once more ahead."""

    @staticmethod
    def nanprod(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes, NaN taken as 1."""

    @staticmethod
    def nansum(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes, NaN taken as 0."""

    @staticmethod
    def negative(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`-x`."""

    @staticmethod
    def norm(
        data: ArrayLike,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The Euclidean norm over axes, or with `ord=1` the sum of the absolute values."""

    @staticmethod
    def normal(
        loc: float = 0.0,
        scale: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Normally distributed random numbers."""

    @staticmethod
    def not_equal(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs != rhs`."""

    @staticmethod
    def one_hot(
        indices: ArrayLike,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = 'float32',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Rows that are `on_value` at the given position and `off_value` elsewhere."""

    @staticmethod
    def ones_like(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Ones of the input's shape and type."""

    @staticmethod
    def pad(
        data: ArrayLike,
        mode: Literal["constant", "edge", "reflect"],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The array with a margin."""

    @staticmethod
    def pick(
        data: ArrayLike,
        index: ArrayLike,
        axis: int = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap", "raise"] = 'clip',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """One element of each row along an axis, by its position."""

    @staticmethod
    def power(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs ** rhs`; of integers an integer."""

    @staticmethod
    def preloaded_multi_mp_sgd_mom_update(
        *data: ArrayLike,
        num_weights: int = 1,
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """`mp_sgd_mom_update` of many weights; the last two arrays are their learning rates and decays."""

    @staticmethod
    def preloaded_multi_mp_sgd_update(
        *data: ArrayLike,
        num_weights: int = 1,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """`mp_sgd_update` of many weights; the last two arrays are their learning rates and decays."""

    @staticmethod
    def preloaded_multi_sgd_mom_update(
        *data: ArrayLike,
        num_weights: int = 1,
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """`sgd_mom_update` of many weights; the last two arrays are their learning rates and decays."""

    @staticmethod
    def preloaded_multi_sgd_update(
        *data: ArrayLike,
        num_weights: int = 1,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """`sgd_update` of many weights; the last two arrays are their learning rates and decays."""

    @staticmethod
    def prod(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes."""

    @staticmethod
    def radians(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Degrees to radians."""

    @staticmethod
    def random_exponential(
        lam: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Exponentially distributed random numbers."""

    @staticmethod
    def random_gamma(
        alpha: float = 1.0,
        beta: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Gamma distributed random numbers; their mean is alpha times beta."""

    @staticmethod
    def random_generalized_negative_binomial(
        mu: float = 1.0,
        alpha: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Negative binomial random numbers by their mean and dispersion: the variance is mu + alpha mu**2."""

    @staticmethod
    def random_negative_binomial(
        k: float = 1.0,
        p: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """How many trials fail before k succeed."""

    @staticmethod
    def random_normal(
        loc: float = 0.0,
        scale: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Normally distributed random numbers."""

    @staticmethod
    def random_pdf_dirichlet(
        sample: ArrayLike,
        alpha: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Density of the Dirichlet distribution over the last axis."""

    @staticmethod
    def random_pdf_exponential(
        sample: ArrayLike,
        lam: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Density of the exponential distribution with rate lam."""

    @staticmethod
    def random_pdf_gamma(
        sample: ArrayLike,
        alpha: ArrayLike,
        beta: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Density of the gamma distribution with shape alpha and rate beta."""

    @staticmethod
    def random_pdf_generalized_negative_binomial(
        sample: ArrayLike,
        mu: ArrayLike,
        alpha: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Probability of counts of the negative binomial distribution with mean mu and dispersion alpha."""

    @staticmethod
    def random_pdf_negative_binomial(
        sample: ArrayLike,
        k: ArrayLike,
        p: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Probability of so many failures before k successes of probability p."""

    @staticmethod
    def random_pdf_normal(
        sample: ArrayLike,
        mu: ArrayLike,
        sigma: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Density of the normal distribution with mean mu and standard deviation sigma."""

    @staticmethod
    def random_pdf_poisson(
        sample: ArrayLike,
        lam: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Probability of counts of the Poisson distribution with mean lam."""

    @staticmethod
    def random_pdf_uniform(
        sample: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        is_log: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Density of the uniform distribution from low to high."""

    @staticmethod
    def random_poisson(
        lam: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Poisson distributed random numbers."""

    @staticmethod
    def random_randint(
        low: int,
        high: int,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'int32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Random integers of [low, high), all equally likely."""

    @staticmethod
    def random_uniform(
        low: float = 0.0,
        high: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Uniform random numbers of [low, high)."""

    @staticmethod
    def ravel_multi_index(data: ArrayLike, shape: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The numbers, in row-major order, of elements given by coordinates: one row for each axis."""

    @staticmethod
    def rcbrt(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`1 / cbrt(x)`."""

    @staticmethod
    def reciprocal(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`1 / x`."""

    @staticmethod
    def relu(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`max(x, 0)`."""

    @staticmethod
    def repeat(data: ArrayLike, repeats: int, axis: int | None = None, *, out: NDArray | None = None) -> NDArray:
        """Each element repeated."""

    @staticmethod
    def reset_arrays(
        *data: ArrayLike,
        num_arrays: int = 1,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Makes all arrays 0, and gives them."""

    @staticmethod
    def reshape(
        data: ArrayLike,
        shape: int | Sequence[int] | None = None,
        reverse: bool = False,
        target_shape: int | Sequence[int] | None = None,
        keep_highest: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The same values in another shape; 0 keeps a dimension, -1 is what is left, -2 keeps the rest, -3 joins two, -4 splits one."""

    @staticmethod
    def reshape_like(
        lhs: ArrayLike,
        rhs: ArrayLike,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The values of the first array in the shape of the second, or with a range of its dimensions replaced by one of the second's."""

    @staticmethod
    def reverse(data: ArrayLike, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The elements of some axes in reverse order."""

    @staticmethod
    def rint(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The nearest integer, halves to even."""

    @staticmethod
    def rmsprop_update(
        weight: ArrayLike,
        grad: ArrayLike,
        n: NDArray,
        lr: float,
        gamma1: float = 0.95,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        clip_weights: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`weight - lr * grad / sqrt(n + epsilon)`, with the running mean `n` of the gradient's square."""

    @staticmethod
    def rmspropalex_update(
        weight: ArrayLike,
        grad: ArrayLike,
        n: NDArray,
        g: NDArray,
        delta: NDArray,
        lr: float,
        gamma1: float = 0.95,
        gamma2: float = 0.9,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        clip_weights: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`rmsprop_update` by the deviation of the gradient, with momentum."""

    @staticmethod
    def round(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The nearest integer, halves away from 0."""

    @staticmethod
    def rsqrt(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`1 / sqrt(x)`."""

    @staticmethod
    def sample_exponential(
        lam: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Exponentially distributed random numbers for rates that are arrays."""

    @staticmethod
    def sample_gamma(
        alpha: ArrayLike,
        beta: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Gamma distributed random numbers for shapes and scales that are arrays."""

    @staticmethod
    def sample_generalized_negative_binomial(
        mu: ArrayLike,
        alpha: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Negative binomial random numbers by means and dispersions that are arrays."""

    @staticmethod
    def sample_multinomial(
        data: ArrayLike,
        shape: int | Sequence[int] | None = None,
        get_prob: bool = False,
        dtype: DTypeLike = 'int32',
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Categories by the probabilities of the last axis, and if asked for the logarithms of those."""

    @staticmethod
    def sample_negative_binomial(
        k: ArrayLike,
        p: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """How many trials fail before k succeed, for arrays of both parameters."""

    @staticmethod
    def sample_normal(
        mu: ArrayLike,
        sigma: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Normally distributed random numbers for means and deviations that are arrays."""

    @staticmethod
    def sample_poisson(
        lam: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Poisson distributed random numbers for means that are arrays."""

    @staticmethod
    def sample_uniform(
        low: ArrayLike,
        high: ArrayLike,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Uniform random numbers of [low, high) for bounds that are arrays."""

    @staticmethod
    def scatter_nd(
        data: ArrayLike,
        indices: ArrayLike,
        shape: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Zeros with the data written at coordinates; the last one where a place comes twice."""

    @staticmethod
    def sgd_mom_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mom: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight)`, and `weight + mom`."""

    @staticmethod
    def sgd_update(
        weight: ArrayLike,
        grad: ArrayLike,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`weight - lr * (clip(rescale_grad * grad) + wd * weight)`."""

    @staticmethod
    def shape_array(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The shape, as an array of int64."""

    @staticmethod
    def shuffle(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The elements along the first axis in random order."""

    @staticmethod
    def sigmoid(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`1 / (1 + exp(-x))`."""

    @staticmethod
    def sign(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """-1, 0 or 1 by the sign of `x`."""

    @staticmethod
    def signsgd_update(
        weight: ArrayLike,
        grad: ArrayLike,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`(1 - lr * wd) * weight - lr * sign(grad)`."""

    @staticmethod
    def signum_update(
        weight: ArrayLike,
        grad: ArrayLike,
        mom: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        wd_lh: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A step of length `lr` in the direction of the sign of the momentum."""

    @staticmethod
    def silu(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x * sigmoid(x)`, also called swish."""

    @staticmethod
    def sin(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Sine of an angle in radians."""

    @staticmethod
    def sinh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic sine."""

    @staticmethod
    def size_array(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The number of elements, as an array of one int64."""

    @staticmethod
    def slice(
        data: ArrayLike,
        begin: int | Sequence[int | None] | None,
        end: int | Sequence[int | None] | None,
        step: int | Sequence[int | None] | None = (),
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A part of the array: from begin up to end in steps, along each axis; None as in Python's slices."""

    @staticmethod
    def slice_axis(
        data: ArrayLike,
        axis: int,
        begin: int,
        end: int | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A part of the array: from begin up to end along one axis."""

    @staticmethod
    def slice_like(
        data: ArrayLike,
        shape_like: ArrayLike,
        axes: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The array cut to the shape of another, along all axes or some."""

    @staticmethod
    def smooth_l1(data: ArrayLike, scalar: float = 1.0, *, out: NDArray | None = None) -> NDArray:
        """`|x| - 0.5 / scalar ** 2`, but near 0 a parabola: `0.5 * (scalar * x) ** 2` where `|x| < 1 / scalar ** 2`."""

    @staticmethod
    def softmax(
        data: ArrayLike,
        length: ArrayLike | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`exp(x) / sum(exp(x))` along an axis."""

    @staticmethod
    def softmax_cross_entropy(data: ArrayLike, label: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The sum of the cross-entropies of rows and their classes, an array of one value."""

    @staticmethod
    def softmin(
        data: ArrayLike,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`softmax(-x)` along an axis."""

    @staticmethod
    def softsign(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x / (1 + abs(x))`."""

    @staticmethod
    def sort(data: ArrayLike, axis: int | None = -1, is_ascend: bool = True, *, out: NDArray | None = None) -> NDArray:
        """The elements of an axis in order. NaN comes last."""

    @staticmethod
    def space_to_depth(data: ArrayLike, block_size: int, *, out: NDArray | None = None) -> NDArray:
        """Blocks of the image laid out as channels: (n, c, h * b, w * b) becomes (n, c * b * b, h, w)."""

    @staticmethod
    def split(
        data: ArrayLike,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Equal parts along an axis."""

    @staticmethod
    def sqrt(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Square root; NaN below 0."""

    @staticmethod
    def square(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x * x`."""

    @staticmethod
    def squeeze(data: ArrayLike, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """Without the axes of size 1, or without those given."""

    @staticmethod
    def stack(*data: ArrayLike, axis: int = 0, out: NDArray | None = None) -> NDArray:
        """Arrays of one shape, joined along a new axis."""

    @staticmethod
    def subtract(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs - rhs`."""

    @staticmethod
    def sum(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes."""

    @staticmethod
    def sum_axis(
        data: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes."""

    @staticmethod
    def swapaxes(data: ArrayLike, dim1: int = 0, dim2: int = 0, *, out: NDArray | None = None) -> NDArray:
        """Two axes exchanged."""

    @staticmethod
    def take(
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        mode: Literal["clip", "wrap", "raise"] = 'clip',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Elements along an axis, by their positions."""

    @staticmethod
    def tan(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Tangent of an angle in radians."""

    @staticmethod
    def tanh(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic tangent."""

    @staticmethod
    def tile(data: ArrayLike, reps: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The array repeated as a whole along each axis."""

    @staticmethod
    def topk(
        data: ArrayLike,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal["indices", "value", "mask", "both"] = 'indices',
        is_ascend: bool = False,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """The k largest (or smallest) elements along an axis: their positions, values, both, or a mask."""

    @staticmethod
    def transpose(data: ArrayLike, axes: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The axes in another order; reversed when none is given."""

    @staticmethod
    def true_divide(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs`, as real numbers."""

    @staticmethod
    def trunc(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    @staticmethod
    def uniform(
        low: float = 0.0,
        high: float = 1.0,
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = 'float32',
        *,
        ctx: Context | str | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Uniform random numbers of [low, high)."""

    @staticmethod
    def unravel_index(data: ArrayLike, shape: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The coordinates of elements given by their numbers in row-major order: one row for each axis."""

    @staticmethod
    def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` where the condition is not 0, else `y`; a condition with one value for each row chooses rows."""

    @staticmethod
    def zeros_like(data: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Zeros of the input's shape and type."""

class NpOps:
    @staticmethod
    def abs(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Absolute value."""

    @staticmethod
    def absolute(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Absolute value."""

    @staticmethod
    def add(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs + rhs`."""

    @staticmethod
    def all(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Whether no element over axes is 0."""

    @staticmethod
    def amax(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes; NaN if there is one."""

    @staticmethod
    def amin(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes; NaN if there is one."""

    @staticmethod
    def any(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Whether some element over axes is not 0."""

    @staticmethod
    def arccos(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse cosine, in radians."""

    @staticmethod
    def arccosh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic cosine."""

    @staticmethod
    def arcsin(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse sine, in radians."""

    @staticmethod
    def arcsinh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic sine."""

    @staticmethod
    def arctan(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse tangent, in radians."""

    @staticmethod
    def arctan2(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The angle of the point (rhs, lhs), in radians."""

    @staticmethod
    def arctanh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic tangent."""

    @staticmethod
    def argmax(a: ArrayLike, axis: int | None = None, keepdims: bool = False, *, out: NDArray | None = None) -> NDArray:
        """Position of the largest value along an axis, or in the flattened array."""

    @staticmethod
    def argmin(a: ArrayLike, axis: int | None = None, keepdims: bool = False, *, out: NDArray | None = None) -> NDArray:
        """Position of the smallest value along an axis, or in the flattened array."""

    @staticmethod
    def bitwise_and(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits that both have; of bool, whether both hold."""

    @staticmethod
    def bitwise_invert(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """All bits changed; of bool, whether it does not hold."""

    @staticmethod
    def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits moved to the left; 0 where `rhs` is negative or at least the width."""

    @staticmethod
    def bitwise_not(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """All bits changed; of bool, whether it does not hold."""

    @staticmethod
    def bitwise_or(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits that either has; of bool, whether one holds."""

    @staticmethod
    def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits moved to the right; the sign stays."""

    @staticmethod
    def bitwise_xor(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits that one of the two has; of bool, whether they differ."""

    @staticmethod
    def broadcast_to(a: ArrayLike, shape: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The values repeated over a larger shape, without a copy."""

    @staticmethod
    def cbrt(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Cube root."""

    @staticmethod
    def ceil(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smallest integer not below `x`."""

    @staticmethod
    def clip(a: ArrayLike, a_min: ArrayLike, a_max: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` held between two bounds."""

    @staticmethod
    def concat(*a: ArrayLike, axis: int = 0, out: NDArray | None = None) -> NDArray:
        """Arrays joined along an axis."""

    @staticmethod
    def concatenate(*a: ArrayLike, axis: int = 0, out: NDArray | None = None) -> NDArray:
        """Arrays joined along an axis."""

    @staticmethod
    def copy(a: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """A fresh contiguous array with the same values."""

    @staticmethod
    def copysign(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The magnitude of the first with the sign of the second."""

    @staticmethod
    def cos(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Cosine of an angle in radians."""

    @staticmethod
    def cosh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic cosine."""

    @staticmethod
    def count_nonzero(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """How many elements over axes are not 0."""

    @staticmethod
    def cumprod(
        a: ArrayLike,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Running products along an axis, or of the flattened array."""

    @staticmethod
    def cumsum(
        a: ArrayLike,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Running sums along an axis, or of the flattened array."""

    @staticmethod
    def deg2rad(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Degrees to radians."""

    @staticmethod
    def degrees(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Radians to degrees."""

    @staticmethod
    def diagonal(
        a: ArrayLike,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A diagonal of two axes, as the last axis."""

    @staticmethod
    def divide(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs`, as real numbers."""

    @staticmethod
    def equal(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs == rhs`."""

    @staticmethod
    def exp(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`e ** x`."""

    @staticmethod
    def exp2(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`2 ** x`."""

    @staticmethod
    def expand_dims(a: ArrayLike, axis: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """New axes of size 1."""

    @staticmethod
    def expm1(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`exp(x) - 1`, accurate near 0."""

    @staticmethod
    def fabs(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Absolute value."""

    @staticmethod
    def fix(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    @staticmethod
    def flatnonzero(a: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The positions, in row-major order, of the elements that are not 0."""

    @staticmethod
    def flip(m: ArrayLike, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The elements of some axes in reverse order."""

    @staticmethod
    def floor(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The largest integer not above `x`."""

    @staticmethod
    def floor_divide(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The largest integer not above `lhs / rhs`."""

    @staticmethod
    def fmax(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The larger of two; the other where one is NaN."""

    @staticmethod
    def fmin(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smaller of two; the other where one is NaN."""

    @staticmethod
    def fmod(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The remainder, with the sign of the first."""

    @staticmethod
    def gcd(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The greatest common divisor of integers."""

    @staticmethod
    def greater(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs > rhs`."""

    @staticmethod
    def greater_equal(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs >= rhs`."""

    @staticmethod
    def heaviside(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """0 below 0, 1 above, and the second at 0."""

    @staticmethod
    def hypot(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`sqrt(lhs ** 2 + rhs ** 2)`, without overflow."""

    @staticmethod
    def invert(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """All bits changed; of bool, whether it does not hold."""

    @staticmethod
    def isclose(
        a: ArrayLike,
        b: ArrayLike,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Whether two values are near each other."""

    @staticmethod
    def isfinite(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is neither infinite nor NaN."""

    @staticmethod
    def isinf(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is infinite."""

    @staticmethod
    def isnan(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is not a number."""

    @staticmethod
    def isneginf(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is negative infinity."""

    @staticmethod
    def isposinf(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is positive infinity."""

    @staticmethod
    def lcm(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The least common multiple of integers."""

    @staticmethod
    def ldexp(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x1 * 2 ** x2`."""

    @staticmethod
    def left_shift(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits moved to the left; 0 where `rhs` is negative or at least the width."""

    @staticmethod
    def less(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs < rhs`."""

    @staticmethod
    def less_equal(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs <= rhs`."""

    @staticmethod
    def log(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Natural logarithm; -inf at 0, NaN below."""

    @staticmethod
    def log10(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 10."""

    @staticmethod
    def log1p(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`log(1 + x)`, accurate near 0."""

    @staticmethod
    def log2(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 2."""

    @staticmethod
    def logaddexp(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`log(exp(x1) + exp(x2))`, without overflow."""

    @staticmethod
    def logical_and(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether both are not 0."""

    @staticmethod
    def logical_not(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `x` is 0."""

    @staticmethod
    def logical_or(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether one of the two is not 0."""

    @staticmethod
    def logical_xor(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether exactly one of the two is not 0."""

    @staticmethod
    def matmul(lhs: ArrayLike, rhs: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The matrix product, over leading axes that broadcast."""

    @staticmethod
    def max(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes; NaN if there is one."""

    @staticmethod
    def maximum(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The larger of two; NaN if either is."""

    @staticmethod
    def mean(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Arithmetic mean over axes."""

    @staticmethod
    def min(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes; NaN if there is one."""

    @staticmethod
    def minimum(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The smaller of two; NaN if either is."""

    @staticmethod
    def mod(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The remainder, with the sign of `rhs`."""

    @staticmethod
    def moveaxis(
        a: ArrayLike,
        source: int | Sequence[int],
        destination: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Some axes at other places; the rest keep their order."""

    @staticmethod
    def multiply(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs * rhs`."""

    @staticmethod
    def nanmax(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes that is not NaN; NaN if there is no other."""

    @staticmethod
    def nanmean(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Mean over axes of what is not NaN."""

    @staticmethod
    def nanmin(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes that is not NaN; NaN if there is no other."""

    @staticmethod
    def nanprod(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes, NaN taken as 1."""

    @staticmethod
    def nanstd(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Standard deviation over axes of what is not NaN."""

    @staticmethod
    def nansum(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes, NaN taken as 0."""

    @staticmethod
    def nanvar(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Variance over axes of what is not NaN."""

    @staticmethod
    def negative(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`-x`."""

    @staticmethod
    def not_equal(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether `lhs != rhs`."""

    @staticmethod
    def ones_like(a: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Ones of the input's shape and type."""

    @staticmethod
    def power(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs ** rhs`; of integers an integer."""

    @staticmethod
    def prod(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes."""

    @staticmethod
    def ptp(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The largest value over axes less the smallest."""

    @staticmethod
    def rad2deg(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Radians to degrees."""

    @staticmethod
    def radians(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Degrees to radians."""

    @staticmethod
    def ravel(a: ArrayLike, order: Literal["C"] = 'C', *, out: NDArray | None = None) -> NDArray:
        """The values as a vector."""

    @staticmethod
    def reciprocal(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`1 / x`."""

    @staticmethod
    def remainder(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The remainder, with the sign of `rhs`."""

    @staticmethod
    def reshape(
        a: ArrayLike,
        shape: int | Sequence[int],
        order: Literal["C"] = 'C',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The same values in another shape; -1 is what is left."""

    @staticmethod
    def right_shift(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The bits moved to the right; the sign stays."""

    @staticmethod
    def rint(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The nearest integer, halves to even."""

    @staticmethod
    def roll(
        a: ArrayLike,
        shift: int | Sequence[int],
        axis: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The elements moved along axes; what leaves at one end comes in at the other."""

    @staticmethod
    def sign(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """-1, 0 or 1 by the sign of `x`."""

    @staticmethod
    def signbit(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Whether the sign of `x` is minus, also that of a zero."""

    @staticmethod
    def sin(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Sine of an angle in radians."""

    @staticmethod
    def sinh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic sine."""

    @staticmethod
    def sqrt(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Square root; NaN below 0."""

    @staticmethod
    def square(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x * x`."""

    @staticmethod
    def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """Without the axes of size 1, or without those given."""

    @staticmethod
    def std(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Standard deviation over axes."""

    @staticmethod
    def subtract(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs - rhs`."""

    @staticmethod
    def sum(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes."""

    @staticmethod
    def swapaxes(a: ArrayLike, axis1: int = 0, axis2: int = 0, *, out: NDArray | None = None) -> NDArray:
        """Two axes exchanged."""

    @staticmethod
    def tan(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Tangent of an angle in radians."""

    @staticmethod
    def tanh(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic tangent."""

    @staticmethod
    def tile(A: ArrayLike, reps: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The array repeated as a whole along each axis."""

    @staticmethod
    def trace(
        a: ArrayLike,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The sum of a diagonal of two axes."""

    @staticmethod
    def transpose(a: ArrayLike, axes: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The axes in another order; reversed when none is given."""

    @staticmethod
    def tril(m: ArrayLike, k: int = 0, *, out: NDArray | None = None) -> NDArray:
        """The values on a diagonal and below it, and zeros."""

    @staticmethod
    def triu(m: ArrayLike, k: int = 0, *, out: NDArray | None = None) -> NDArray:
        """The values on a diagonal and above it, and zeros."""

    @staticmethod
    def true_divide(x1: ArrayLike, x2: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`lhs / rhs`, as real numbers."""

    @staticmethod
    def trunc(x: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    @staticmethod
    def var(
        a: ArrayLike,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Variance over axes."""

    @staticmethod
    def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` where the condition is not 0, else `y`."""

    @staticmethod
    def zeros_like(a: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """Zeros of the input's shape and type."""

class ArrayOps:
    def abs(self, *, out: NDArray | None = None) -> NDArray:
        """Absolute value."""

    def all(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Whether no element over axes is 0."""

    def any(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Whether some element over axes is not 0."""

    def arccos(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse cosine, in radians."""

    def arccosh(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic cosine."""

    def arcsin(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse sine, in radians."""

    def arcsinh(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic sine."""

    def arctan(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse tangent, in radians."""

    def arctanh(self, *, out: NDArray | None = None) -> NDArray:
        """Inverse hyperbolic tangent."""

    def argmax(self, axis: int | None = None, keepdims: bool = False, *, out: NDArray | None = None) -> NDArray:
        """Position of the largest value along an axis, or in the flattened array."""

    def argmax_channel(self, *, out: NDArray | None = None) -> NDArray:
        """Position of the largest value along the last axis."""

    def argmin(self, axis: int | None = None, keepdims: bool = False, *, out: NDArray | None = None) -> NDArray:
        """Position of the smallest value along an axis, or in the flattened array."""

    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The positions of the elements of an axis in order. Equal ones keep their order, NaN comes last."""

    def batch_dot(
        self,
        rhs: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The products of the matrices of two batches."""

    def broadcast_axes(
        self,
        axis: int | Sequence[int],
        size: int | Sequence[int],
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The values repeated along axes of size 1, without a copy."""

    def broadcast_like(
        self,
        rhs: ArrayLike,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The first array repeated over the shape of the second, or over some of its axes, without a copy."""

    def broadcast_to(self, shape: int | Sequence[int], *, out: NDArray | None = None) -> NDArray:
        """The values repeated over a larger shape, without a copy; 0 keeps a dimension."""

    def cbrt(self, *, out: NDArray | None = None) -> NDArray:
        """Cube root."""

    def ceil(self, *, out: NDArray | None = None) -> NDArray:
        """The smallest integer not below `x`."""

    def clip(self, a_min: ArrayLike, a_max: ArrayLike, *, out: NDArray | None = None) -> NDArray:
        """`x` held between two bounds."""

    def cos(self, *, out: NDArray | None = None) -> NDArray:
        """Cosine of an angle in radians."""

    def cosh(self, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic cosine."""

    def cumprod(
        self,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Running products along an axis, or of the flattened array."""

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None, *, out: NDArray | None = None) -> NDArray:
        """Running sums along an axis, or of the flattened array."""

    def degrees(self, *, out: NDArray | None = None) -> NDArray:
        """Radians to degrees."""

    def depth_to_space(self, block_size: int, *, out: NDArray | None = None) -> NDArray:
        """Channels laid out as blocks of the image: (n, c * b * b, h, w) becomes (n, c, h * b, w * b)."""

    def diag(self, k: int = 0, axis1: int = 0, axis2: int = 1, *, out: NDArray | None = None) -> NDArray:
        """A diagonal of two axes, as the last axis; of a vector, the matrix that has it on a diagonal."""

    def diagonal(self, k: int = 0, axis1: int = 0, axis2: int = 1, *, out: NDArray | None = None) -> NDArray:
        """A diagonal of two axes, as the last axis."""

    def dot(
        self,
        rhs: ArrayLike,
        transpose_a: bool = False,
        transpose_b: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The product over the last axis of the left and the first of the right array."""

    def erf(self, *, out: NDArray | None = None) -> NDArray:
        """The error function."""

    def exp(self, *, out: NDArray | None = None) -> NDArray:
        """`e ** x`."""

    def expand_dims(self, axis: int, *, out: NDArray | None = None) -> NDArray:
        """A new axis of size 1."""

    def expm1(self, *, out: NDArray | None = None) -> NDArray:
        """`exp(x) - 1`, accurate near 0."""

    def fix(self, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    def flatten(self, *, out: NDArray | None = None) -> NDArray:
        """A matrix: the first axis stays, the others become one."""

    def flip(self, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """The elements of some axes in reverse order."""

    def floor(self, *, out: NDArray | None = None) -> NDArray:
        """The largest integer not above `x`."""

    def gelu(self, *, out: NDArray | None = None) -> NDArray:
        """`x` times the normal distribution function of `x`."""

    def log(self, *, out: NDArray | None = None) -> NDArray:
        """Natural logarithm; -inf at 0, NaN below."""

    def log10(self, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 10."""

    def log1p(self, *, out: NDArray | None = None) -> NDArray:
        """`log(1 + x)`, accurate near 0."""

    def log2(self, *, out: NDArray | None = None) -> NDArray:
        """Logarithm to base 2."""

    def log_sigmoid(self, *, out: NDArray | None = None) -> NDArray:
        """`log(sigmoid(x))`, without underflow."""

    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`x - log(sum(exp(x)))` along an axis."""

    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Largest value over axes; NaN if there is one."""

    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Arithmetic mean over axes."""

    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Smallest value over axes; NaN if there is one."""

    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes, NaN taken as 1."""

    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes, NaN taken as 0."""

    def negative(self, *, out: NDArray | None = None) -> NDArray:
        """`-x`."""

    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The Euclidean norm over axes, or with `ord=1` the sum of the absolute values."""

    def one_hot(
        self,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = 'float32',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Rows that are `on_value` at the given position and `off_value` elsewhere."""

    def ones_like(self, *, out: NDArray | None = None) -> NDArray:
        """Ones of the input's shape and type."""

    def pad(
        self,
        mode: Literal["constant", "edge", "reflect"],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The array with a margin."""

    def pick(
        self,
        index: ArrayLike,
        axis: int = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap", "raise"] = 'clip',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """One element of each row along an axis, by its position."""

    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Product over axes."""

    def radians(self, *, out: NDArray | None = None) -> NDArray:
        """Degrees to radians."""

    def ravel(self, order: Literal["C"] = 'C', *, out: NDArray | None = None) -> NDArray:
        """The values as a vector."""

    def rcbrt(self, *, out: NDArray | None = None) -> NDArray:
        """`1 / cbrt(x)`."""

    def reciprocal(self, *, out: NDArray | None = None) -> NDArray:
        """`1 / x`."""

    def relu(self, *, out: NDArray | None = None) -> NDArray:
        """`max(x, 0)`."""

    def repeat(self, repeats: int, axis: int | None = None, *, out: NDArray | None = None) -> NDArray:
        """Each element repeated."""

    def reshape(
        self,
        *shape: int | Sequence[int] | None,
        reverse: bool = False,
        target_shape: int | Sequence[int] | None = None,
        keep_highest: bool = False,
        out: NDArray | None = None,
    ) -> NDArray:
        """The same values in another shape; 0 keeps a dimension, -1 is what is left, -2 keeps the rest, -3 joins two, -4 splits one."""

    def reshape_like(
        self,
        rhs: ArrayLike,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The values of the first array in the shape of the second, or with a range of its dimensions replaced by one of the second's."""

    def rint(self, *, out: NDArray | None = None) -> NDArray:
        """The nearest integer, halves to even."""

    def round(self, *, out: NDArray | None = None) -> NDArray:
        """The nearest integer, halves away from 0."""

    def rsqrt(self, *, out: NDArray | None = None) -> NDArray:
        """`1 / sqrt(x)`."""

    def shape_array(self, *, out: NDArray | None = None) -> NDArray:
        """The shape, as an array of int64."""

    def sigmoid(self, *, out: NDArray | None = None) -> NDArray:
        """`1 / (1 + exp(-x))`."""

    def sign(self, *, out: NDArray | None = None) -> NDArray:
        """-1, 0 or 1 by the sign of `x`."""

    def sin(self, *, out: NDArray | None = None) -> NDArray:
        """Sine of an angle in radians."""

    def sinh(self, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic sine."""

    def size_array(self, *, out: NDArray | None = None) -> NDArray:
        """The number of elements, as an array of one int64."""

    def slice(
        self,
        begin: int | Sequence[int | None] | None,
        end: int | Sequence[int | None] | None,
        step: int | Sequence[int | None] | None = (),
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """A part of the array: from begin up to end in steps, along each axis; None as in Python's slices."""

    def slice_axis(self, axis: int, begin: int, end: int | None = None, *, out: NDArray | None = None) -> NDArray:
        """A part of the array: from begin up to end along one axis."""

    def slice_like(
        self,
        shape_like: ArrayLike,
        axes: int | Sequence[int] | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The array cut to the shape of another, along all axes or some."""

    def softmax(
        self,
        length: ArrayLike | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`exp(x) / sum(exp(x))` along an axis."""

    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """`softmax(-x)` along an axis."""

    def softsign(self, *, out: NDArray | None = None) -> NDArray:
        """`x / (1 + abs(x))`."""

    def sort(self, axis: int | None = -1, is_ascend: bool = True, *, out: NDArray | None = None) -> NDArray:
        """The elements of an axis in order. NaN comes last."""

    def space_to_depth(self, block_size: int, *, out: NDArray | None = None) -> NDArray:
        """Blocks of the image laid out as channels: (n, c, h * b, w * b) becomes (n, c * b * b, h, w)."""

    def split(
        self,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """Equal parts along an axis."""

    def sqrt(self, *, out: NDArray | None = None) -> NDArray:
        """Square root; NaN below 0."""

    def square(self, *, out: NDArray | None = None) -> NDArray:
        """`x * x`."""

    def squeeze(self, axis: int | Sequence[int] | None = None, *, out: NDArray | None = None) -> NDArray:
        """Without the axes of size 1, or without those given."""

    def std(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Standard deviation over axes."""

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Sum over axes."""

    def swapaxes(self, dim1: int = 0, dim2: int = 0, *, out: NDArray | None = None) -> NDArray:
        """Two axes exchanged."""

    def take(
        self,
        indices: ArrayLike,
        axis: int = 0,
        mode: Literal["clip", "wrap", "raise"] = 'clip',
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Elements along an axis, by their positions."""

    def tan(self, *, out: NDArray | None = None) -> NDArray:
        """Tangent of an angle in radians."""

    def tanh(self, *, out: NDArray | None = None) -> NDArray:
        """Hyperbolic tangent."""

    def tile(self, *reps: int | Sequence[int], out: NDArray | None = None) -> NDArray:
        """The array repeated as a whole along each axis."""

    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal["indices", "value", "mask", "both"] = 'indices',
        is_ascend: bool = False,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | list[NDArray] | None = None,
    ) -> NDArray | list[NDArray]:
        """The k largest (or smallest) elements along an axis: their positions, values, both, or a mask."""

    def trace(
        self,
        k: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """The sum of a diagonal of two axes."""

    def transpose(self, *axes: int | Sequence[int] | None, out: NDArray | None = None) -> NDArray:
        """The axes in another order; reversed when none is given."""

    def trunc(self, *, out: NDArray | None = None) -> NDArray:
        """The integer part of `x`."""

    def var(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
        *,
        out: NDArray | None = None,
    ) -> NDArray:
        """Variance over axes."""

    def zeros_like(self, *, out: NDArray | None = None) -> NDArray:
        """Zeros of the input's shape and type."""
