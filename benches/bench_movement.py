"""Ten million float32 values that change places: transposed, cut, joined, repeated, cast. Results are fresh memory."""

from typing import Any

from harness import Case, Names

SIDE = 3162
ODD = (3163, 3161)
FOUR = (16, 200, 24, 130)


def arrays(np: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    square = rng.standard_normal((SIDE, SIDE), np.float32)
    odd, four = (rng.standard_normal(shape, np.float32) for shape in (ODD, FOUR))
    half = rng.standard_normal((SIDE // 2, SIDE), np.float32)
    return {
        "x": square, "odd": odd, "four": four, "half": half, "tall": np.ascontiguousarray(half.T),
        "flat": square.reshape(-1), "row": square[0], "column": np.ascontiguousarray(square[:, :1]),
        "whole": (square * 100).astype("int32"), "short": square.astype("float16"),
        "line": square.reshape(-1)[:100_000],
    }  # fmt: skip


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    ours = {name: mx.np.array(value) for name, value in arrays(np).items()}
    return {"f": mx.np, "nd": mx.nd, "sync": mx.nd.waitall, **ours}


def torch() -> Names:
    import numpy as np
    import torch

    return {"f": torch, **{name: torch.from_numpy(value) for name, value in arrays(np).items()}}


def numpy() -> Names:
    import numpy as np

    return {"f": np, **arrays(np)}


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}
# Statements for gluonish, torch and NumPy; one string serves all.
STATEMENTS: dict[str, str | tuple[str, str, str]] = {
    "transpose_square": ("x.T.copy()", "x.T.contiguous()", "x.T.copy()"),
    "transpose_odd": ("odd.T.copy()", "odd.T.contiguous()", "odd.T.copy()"),
    "transpose_f16": ("short.T.copy()", "short.T.contiguous()", "short.T.copy()"),
    "transpose_0213": ("four.transpose(0, 2, 1, 3).copy()", "four.permute(0, 2, 1, 3).contiguous()",
                       "four.transpose(0, 2, 1, 3).copy()"),
    "transpose_0231": ("four.transpose(0, 2, 3, 1).copy()", "four.permute(0, 2, 3, 1).contiguous()",
                       "four.transpose(0, 2, 3, 1).copy()"),
    "transpose_0312": ("four.transpose(0, 3, 1, 2).copy()", "four.permute(0, 3, 1, 2).contiguous()",
                       "four.transpose(0, 3, 1, 2).copy()"),
    "transpose_3210": ("four.T.copy()", "four.permute(3, 2, 1, 0).contiguous()", "four.T.copy()"),
    "add_transposed": "x.T + x",
    "strided_1d": ("flat[::2].copy()", "flat[::2].clone()", "flat[::2].copy()"),
    "strided_columns": ("x[:, ::3].copy()", "x[:, ::3].contiguous()", "x[:, ::3].copy()"),
    "concat_axis0": ("f.concatenate([half, half])", "f.cat([half, half])", "f.concatenate([half, half])"),
    "concat_axis1": ("f.concatenate([half, half], 1)", "f.cat([half, half], 1)", "f.concatenate([half, half], 1)"),
    "concat_narrow": ("f.concatenate([tall, column], 1)", "f.cat([tall, column], 1)",
                      "f.concatenate([tall, column], 1)"),
    "stack_axis0": ("f.stack([half, half])", "f.stack([half, half])", "f.stack([half, half])"),
    "stack_last": ("f.stack([half, half], 2)", "f.stack([half, half], 2)", "f.stack([half, half], 2)"),
    "tile": ("f.tile(line, 100)", "line.repeat(100)", "f.tile(line, 100)"),
    "tile_2d": ("f.tile(half, (1, 2))", "half.repeat(1, 2)", "f.tile(half, (1, 2))"),
    "repeat_rows": ("f.repeat(half, 2, 0)", "half.repeat_interleave(2, 0)", "f.repeat(half, 2, 0)"),
    "repeat_values": ("f.repeat(half, 2, 1)", "half.repeat_interleave(2, 1)", "f.repeat(half, 2, 1)"),
    "pad_constant": ("nd.pad(four, 'constant', (0, 0, 0, 0, 1, 1, 1, 1))", "f.nn.functional.pad(four, (1, 1, 1, 1))",
                     "f.pad(four, ((0, 0), (0, 0), (1, 1), (1, 1)))"),
    "pad_reflect": ("nd.pad(four, 'reflect', (0, 0, 0, 0, 1, 1, 1, 1))",
                    "f.nn.functional.pad(four, (1, 1, 1, 1), 'reflect')",
                    "f.pad(four, ((0, 0), (0, 0), (1, 1), (1, 1)), 'reflect')"),
    "flip_rows": ("f.flip(x, 0).copy()", "f.flip(x, (0,))", "f.flip(x, 0).copy()"),
    "flip_columns": ("f.flip(x, 1).copy()", "f.flip(x, (1,))", "f.flip(x, 1).copy()"),
    "roll_rows": ("f.roll(x, 1000, 0)", "f.roll(x, 1000, 0)", "f.roll(x, 1000, 0)"),
    "roll_columns": ("f.roll(x, 1000, 1)", "f.roll(x, 1000, 1)", "f.roll(x, 1000, 1)"),
    "broadcast_row": ("f.broadcast_to(row, x.shape).copy()", "row.expand(x.shape).contiguous()",
                      "f.broadcast_to(row, x.shape).copy()"),
    "broadcast_column": ("f.broadcast_to(column, x.shape).copy()", "column.expand(x.shape).contiguous()",
                         "f.broadcast_to(column, x.shape).copy()"),
    "split_concat": ("f.concatenate(f.split(x, 2, 1)[::-1], 1)", f"f.cat(f.split(x, {SIDE // 2}, 1)[::-1], 1)",
                     "f.concatenate(f.split(x, 2, 1)[::-1], 1)"),
    "cast_f32_f16": ("x.astype('float16')", "x.half()", "x.astype('float16')"),
    "cast_f16_f32": ("short.astype('float32')", "short.float()", "short.astype('float32')"),
    "cast_f32_i32": ("x.astype('int32')", "x.int()", "x.astype('int32')"),
    "cast_i32_f32": ("whole.astype('float32')", "whole.float()", "whole.astype('float32')"),
}  # fmt: skip


def sides(text: str | tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(SETUP, (text,) * 3 if isinstance(text, str) else text, strict=True))


CASES = [Case(name, sides(text), target=1.0) for name, text in STATEMENTS.items()]
