"""Which functions run in which precision. Names are those of `nd`; where `np` has the same, it is meant as well."""

from gluonish.errors import ArgumentError

__all__ = [
    "FLOAT32",
    "LOW",
    "check_dtype",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
]

# Products of matrices: most of the work, and each sum is made in float32 whatever the type of its parts.
_LOW = """
    FullyConnected Convolution Deconvolution RNN dot batch_dot matmul linalg.gemm linalg.gemm2 linalg_gemm linalg_gemm2
    contrib.interleaved_matmul_selfatt_qk contrib.interleaved_matmul_selfatt_valatt
    contrib.interleaved_matmul_encdec_qk contrib.interleaved_matmul_encdec_valatt
"""

# What leaves the range of float16 soon, or adds up many numbers.
_FLOAT32 = """
    exp expm1 log log10 log1p log2 power broadcast_power square sqrt rsqrt cbrt rcbrt reciprocal gamma gammaln erfinv
    sinh cosh tan arcsin arccos arctanh
    softmax log_softmax softmin SoftmaxActivation
    sum nansum prod nanprod mean norm cumsum moments
    LayerNorm GroupNorm InstanceNorm L2Normalization LRN
    SoftmaxOutput softmax_cross_entropy LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput SVMOutput
    CTCLoss ctc_loss MakeLoss make_loss smooth_l1
"""

LOW, FLOAT32 = frozenset(_LOW.split()), frozenset(_FLOAT32.split())

# Of one function some kinds only: the argument, and its values.
CONDITIONAL = [("Activation", "act_type", ["softrelu"]), ("LeakyReLU", "act_type", ["elu", "selu"])]

_LOSSES = {"LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "SVMOutput", "SoftmaxOutput"}
_NORMS = {"BatchNorm"}


def check_dtype(target_dtype: object) -> str:
    """'float16' or 'bfloat16'; NumPy's types of the first are taken too."""
    name = str(getattr(target_dtype, "__name__", target_dtype))
    if name not in ("float16", "bfloat16"):
        raise ArgumentError(f"amp: target_dtype={target_dtype!r} is not valid: expected 'float16' or 'bfloat16'")
    return name


def list_lp16_ops(target_dtype: object = "float16") -> list[str]:
    """Functions that run in the lower precision.

    >>> "FullyConnected" in list_lp16_ops("bfloat16")
    True
    """
    check_dtype(target_dtype)
    return sorted(LOW)


def list_fp32_ops(target_dtype: object = "float16") -> list[str]:
    """Functions that run in float32.

    >>> "softmax" in list_fp32_ops()
    True
    """
    check_dtype(target_dtype)
    return sorted(FLOAT32)


def list_lp16_fp32_ops(target_dtype: object = "float16") -> list[str]:
    """Functions that run in the type that they are given: all that no other list has."""
    from gluonish._faces import functions

    check_dtype(target_dtype)
    return sorted(set(functions("nd")) - LOW - FLOAT32 - {name for name, _, _ in CONDITIONAL})


def list_conditional_fp32_ops(target_dtype: object = "float16") -> list[tuple[str, str, list[str]]]:
    """Functions that run in float32 where an argument has one of these values: (function, argument, values)."""
    check_dtype(target_dtype)
    return [(name, argument, list(values)) for name, argument, values in CONDITIONAL]


def list_widest_type_cast(target_dtype: object = "float16") -> list[str]:
    """Functions whose inputs are cast to the widest of their types: none, as all functions promote by themselves."""
    check_dtype(target_dtype)
    return []


def list_loss_output_functions(target_dtype: object = "float16") -> list[str]:
    """Layers that are losses, with a gradient of their own."""
    check_dtype(target_dtype)
    return sorted(_LOSSES)


def list_lp16_use_fp32_params(target_dtype: object = "float16") -> list[str]:
    """Functions of low precision whose parameters stay float32."""
    check_dtype(target_dtype)
    return sorted(_NORMS)
