"""Networks that run in mixed precision by themselves, whether it is on or not."""

from collections.abc import Iterable
from copy import deepcopy

from gluonish.amp.casts import CastingFunctions, Casts, Conditions
from gluonish.amp.lists import list_lp16_use_fp32_params
from gluonish.context import Context
from gluonish.errors import ArgumentError
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock

__all__ = ["convert_hybrid_block"]


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: object = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    ctx: Context | None = None,
    cast_optional_params: bool = False,
) -> HybridBlock:
    """A copy of a network whose layers cast what they compute with, as ``amp.init`` would have them do.

    Parameters
    ----------
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops
        As of ``amp.init``.
    excluded_sym_names
        Names of blocks in the network (``dense0``) that stay as they are.
    ctx
        Where the copy is; where the network is if None.
    cast_optional_params
        Whether parameters are kept in the lower precision too, but for those of norms: they take half the memory.

    Casts are at the functions of ``hybrid_forward``'s F; a block with a ``forward`` of its own runs as it is written.

    >>> import gluonish as mx
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> convert_hybrid_block(net, "bfloat16")(mx.nd.ones((1, 3))).dtype, net(mx.nd.ones((1, 3))).dtype
    ('bfloat16', dtype('float32'))
    """
    if not isinstance(block, HybridBlock):
        raise ArgumentError(f"convert_hybrid_block: a HybridBlock is needed, got {type(block).__name__}")
    casts = Casts(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    for parameter in block.collect_params().values():
        parameter._present()
    made = deepcopy(block)
    excluded = set(excluded_sym_names or ())
    found: set[str] = set()

    def convert(one: Block) -> None:
        found.add(one.name)
        if one.name in excluded or not isinstance(one, HybridBlock):
            return
        one._gluonish.functions = CastingFunctions(casts)
        if cast_optional_params and type(one).__name__ not in list_lp16_use_fp32_params(casts.dtype):
            for parameter in one._reg_params.values():
                if "float32" in str(parameter.dtype):
                    parameter.cast(casts.dtype)

    made.apply(convert)
    unknown = sorted(excluded - found)
    if unknown:
        raise ArgumentError(f"convert_hybrid_block: there is no block {unknown[0]!r} to exclude, only {sorted(found)}")
    if ctx is not None:
        made.collect_params().reset_ctx(ctx)
    return made
