"""Sums of products by Einstein's convention: pairs of arrays meet in a batched matrix product."""

import functools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy  # noqa: ICN001 - np is this package
import numpy.typing as npt

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._rows import store
from gluonish._types import Shape
from gluonish.errors import ArgumentError, ShapeError
from gluonish.np.creation import asarray

__all__ = ["einsum"]

Label = Hashable  # a letter, or ("...", d): the d-th axis of an ellipsis, counted from its last
Labels = tuple[Label, ...]


@dataclass(frozen=True)
class Term:
    """An array with a label for each axis."""

    array: NDArray
    labels: Labels

    def sizes(self) -> Iterator[tuple[Label, int]]:
        return zip(self.labels, self.array.shape, strict=True)

    def ordered(self, labels: Sequence[Label]) -> NDArray:
        """The array with its axes in the order of the labels."""
        order = [self.labels.index(label) for label in labels]
        return self.array if order == list(range(len(order))) else self.array.transpose(order)


@beside
def einsum(
    *operands: Any, out: NDArray | None = None, dtype: npt.DTypeLike | None = None, optimize: Any = False
) -> NDArray:
    """The sum of products that a text such as "ij,jk->ik" describes; or arrays and lists of labels in turns.

    A label that occurs twice for one array means its diagonal, one that is not in the result is summed over, and "..."
    stands for axes that broadcast. Without "->" the result has the labels that occur once, in alphabetical order.
    ``optimize`` says in which order more than two arrays meet: as they stand (False), or as ``numpy.einsum_path`` says
    for True, "greedy", "optimal" or a path of its own.

    >>> from gluonish import np
    >>> np.einsum("bij,bjk->bik", np.ones((4, 2, 3)), np.ones((4, 3, 5))).shape
    (4, 2, 5)
    >>> np.einsum("ii", np.array([[1, 2], [3, 4]])).item()
    5
    """
    text, arrays = _read(operands)
    inputs, result = _parse(text, tuple(x.ndim for x in arrays))
    if dtype is not None:
        arrays = [x.astype(dtype_name(dtype)) for x in arrays]
    sizes = _sizes(inputs, arrays, text)
    terms = [_simplified(x, labels, sizes, text) for x, labels in zip(arrays, inputs, strict=True)]
    for pick in _path(text, tuple(x.shape for x in arrays), optimize):
        chosen = [terms[i] for i in pick]
        terms = [term for i, term in enumerate(terms) if i not in pick]
        joined = chosen[0]
        for k, term in enumerate(chosen[1:], 2):
            others = {label for t in (*terms, *chosen[k:]) for label in t.labels}
            joined = _pair(joined, term, others.union(result))
        terms.append(joined)
    (last,) = terms
    found = _summed(last, set(result)).ordered(result)
    return store(found, out, "einsum")


def _read(operands: Sequence[Any]) -> tuple[str, list[NDArray]]:
    """The text and the arrays; lists of labels become a text."""
    if operands and isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [asarray(x) for x in operands[1:]]
    pairs, arrow = operands, ""
    labels = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else ())]
    if len(operands) < 2 or not all(isinstance(x, list | tuple) for x in labels):
        raise ArgumentError("einsum: a text and arrays, or arrays and lists of labels in turns, are needed")
    if len(operands) % 2:
        pairs, arrow = operands[:-1], "->" + _letters(operands[-1])
    return ",".join(_letters(x) for x in pairs[1::2]) + arrow, [asarray(x) for x in pairs[::2]]


def _letters(labels: Sequence[Any]) -> str:
    """Labels as numbers, which sort as the letters do."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if any(x is not Ellipsis and not 0 <= x < len(letters) for x in labels):
        raise ArgumentError(
            f"einsum: labels {list(labels)!r} are not valid: expected numbers from 0 to 51, or Ellipsis"
        )
    return "".join("..." if x is Ellipsis else letters[x] for x in labels)


@functools.lru_cache(maxsize=256)
def _parse(text: str, ndims: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """The labels of each array, and those of the result."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise ArgumentError(f"einsum: {text!r} describes {len(parts)} arrays, but {len(ndims)} were given")
    inputs = [_labels(part, ndim, text) for part, ndim in zip(parts, ndims, strict=True)]
    every = [label for labels in inputs for label in labels]
    hidden = sorted({x for x in every if isinstance(x, tuple)}, key=lambda x: -x[1])
    if not arrow:
        once = sorted(str(x) for x in set(every) if isinstance(x, str) and every.count(x) == 1)
        return inputs, (*hidden, *once)
    result = _labels(right, len(right.replace("...", "")) + (len(hidden) if "..." in right else 0), text)
    if hidden and "..." not in right:
        raise ArgumentError(f"einsum: {text!r} has axes under '...' that the result does not: write '...' there too")
    if unknown := [x for x in result if x not in every]:
        raise ArgumentError(f"einsum: {text!r} has {unknown[0]!r} in the result, but no array has it")
    if len(set(result)) != len(result):
        raise ArgumentError(f"einsum: {text!r} has a label twice in the result")
    return inputs, result


def _labels(part: str, ndim: int, text: str) -> Labels:
    before, dots, after = part.partition("...")
    letters = before + after
    if not all(x.isascii() and x.isalpha() for x in letters):
        raise ArgumentError(f"einsum: {text!r} is not valid: expected letters, commas, '...' and '->'")
    hidden = ndim - len(letters)
    if hidden < 0 or (hidden > 0 and not dots):
        raise ArgumentError(f"einsum: {part!r} in {text!r} does not fit an array of {ndim} axes")
    return (*before, *(("...", d) for d in reversed(range(hidden))), *after)


def _sizes(inputs: list[Labels], arrays: list[NDArray], text: str) -> dict[Label, int]:
    """The size of each label; 1 yields to any other."""
    sizes: dict[Label, int] = {}
    for labels, array in zip(inputs, arrays, strict=True):
        for label, size in zip(labels, array.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                name = label if isinstance(label, str) else "..."
                raise ShapeError(f"einsum: {name!r} in {text!r} has sizes {known} and {size}")
    return sizes


def _simplified(array: NDArray, labels: Labels, sizes: dict[Label, int], text: str) -> Term:
    """Diagonals taken, and axes that broadcast dropped."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if array.shape[i] != array.shape[j]:
                found = f"{array.shape[i]} and {array.shape[j]}"
                raise ShapeError(f"einsum: {label!r} occurs twice in {text!r} for axes of sizes {found}")
            rest = [k for k in range(array.ndim) if k not in (i, j)]
            array = _core.invoke("diagonal", [array], {"axis1": i, "axis2": j})
            labels = (*(labels[k] for k in rest), label)
    spread = [k for k, x in enumerate(labels) if array.shape[k] == 1 and sizes[x] != 1]
    if spread:
        array = array.squeeze(axis=tuple(spread))
        labels = tuple(x for k, x in enumerate(labels) if k not in spread)
    return Term(array, labels)


def _summed(term: Term, keep: set[Label]) -> Term:
    """The sum over labels that nobody needs any more, in the array's own type."""
    axes = tuple(k for k, label in enumerate(term.labels) if label not in keep)
    if not axes:
        return term
    kind = str(term.array.dtype)
    total = _core.invoke("sum", [term.array], {"axis": axes, "dtype": "int64" if kind == "bool" else kind})
    if kind == "bool":
        total = total.astype("bool")
    return Term(total, tuple(label for label in term.labels if label in keep))


def _pair(a: Term, b: Term, keep: set[Label]) -> Term:
    """Two terms become one: a matrix product over what both have and nobody else needs, for each of what they share."""
    a, b = _summed(a, keep.union(b.labels)), _summed(b, keep.union(a.labels))
    shared = [x for x in a.labels if x in b.labels]
    batch, inner = [x for x in shared if x in keep], [x for x in shared if x not in keep]
    rows, columns = [x for x in a.labels if x not in shared], [x for x in b.labels if x not in shared]
    size = dict([*a.sizes(), *b.sizes()])
    lead = [size[x] for x in batch]
    labels = (*batch, *rows, *columns)
    shape = [size[x] for x in labels]
    if not inner:
        left = _reshaped(a.ordered([*batch, *rows]), [*shape[: len(batch) + len(rows)], *(1 for _ in columns)])
        right = _reshaped(b.ordered([*batch, *columns]), [*lead, *(1 for _ in rows), *(size[x] for x in columns)])
        return Term(left * right, labels)
    m, n, k = (_product(size[x] for x in group) for group in (rows, columns, inner))
    left = _reshaped(a.ordered([*batch, *rows, *inner]), [*lead, m, k])
    right = _reshaped(b.ordered([*batch, *inner, *columns]), [*lead, k, n])
    return Term(_reshaped(_core.invoke("matmul", [left, right], {}), shape), labels)


def _product(sizes: Iterator[int]) -> int:
    return functools.reduce(lambda x, y: x * y, sizes, 1)


def _reshaped(x: NDArray, shape: Sequence[int]) -> NDArray:
    if x.shape == tuple(shape):
        return x
    made: NDArray = _core.invoke("_np_reshape", [x], {"shape": tuple(shape)})
    return made


@functools.lru_cache(maxsize=256)
def _planned(text: str, shapes: tuple[Shape, ...], optimize: Any) -> list[tuple[int, ...]]:
    path = list(optimize) if isinstance(optimize, tuple) and optimize[:1] == ("einsum_path",) else optimize
    stand_ins = [numpy.broadcast_to(numpy.float32(0), shape) for shape in shapes]
    return [tuple(sorted(pick)) for pick in numpy.einsum_path(text, *stand_ins, optimize=path)[0][1:]]


def _path(text: str, shapes: tuple[Shape, ...], optimize: Any) -> list[tuple[int, ...]]:
    """Which arrays meet, step by step; what they make stands last."""
    count = len(shapes)
    if optimize is False:
        return [(0, n - 1) if n < count else (0, 1) for n in range(count, 1, -1)]
    if count <= 2 and not isinstance(optimize, list | tuple):
        if not isinstance(optimize, bool | str):
            raise ArgumentError(f"einsum: optimize={optimize!r} is not valid: expected a bool, a word or a path")
        return [(0, 1)] if count == 2 else []
    try:
        return _planned(text, shapes, tuple(optimize) if isinstance(optimize, list) else optimize)
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        raise ArgumentError(f"einsum: optimize={optimize!r} is not valid: {error}") from None
