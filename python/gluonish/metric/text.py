"""Metrics of text."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.metric.base import EvalMetric, register

__all__ = ["BLEU"]


@register
class BLEU(EvalMetric):
    """BLEU of translations (Papineni and others, 2002), over all of them together: 0 to 1.

    ``update(references, translations)``: each translation is a list of tokens, or a text that is split at white space.
    Its reference is the like, or a list of several. Arrays of tokens (N, length) are taken too, without what follows
    the first ``ignore_label`` in a row, and are read when ``get`` is called.

    Parameters
    ----------
    max_n
        Up to how many tokens in a row are compared.
    smooth
        Count one match more of two tokens and longer, so that a short text does not have 0 (Lin and Och, 2004).

    >>> metric = BLEU(max_n=2)
    >>> metric.update(["the cat is on the mat"], ["the cat sat on the mat"])
    >>> round(metric.get()[1], 4)
    0.7071
    """

    _is_mean = False

    def __init__(
        self,
        max_n: int = 4,
        smooth: bool = False,
        ignore_label: int | None = None,
        name: str = "bleu",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if max_n < 1:
            raise ArgumentError(f"BLEU: max_n={max_n} is not valid: expected at least 1")
        self.max_n, self.smooth, self.ignore_label = max_n, smooth, ignore_label
        kwargs = {"max_n": max_n, "smooth": smooth, "ignore_label": ignore_label}
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def reset(self) -> None:
        self._earlier = self._counted = np.zeros(2 * self.max_n + 2, "int64")
        self._unread: list[tuple[Any, Any]] = []
        super().reset()

    def reset_local(self) -> None:
        self._read()
        self._earlier, self._counted = self._earlier + self._counted, np.zeros_like(self._counted)
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        if len(labels) != len(preds):
            raise ArgumentError(
                f"{self.name}: {len(labels)} references and {len(preds)} translations: expected as many"
            )
        self._unread.append((_kept(labels), _kept(preds)))
        if not isinstance(labels, NDArray) and not isinstance(preds, NDArray):
            self._read()
        self.num_inst += len(preds)
        self.global_num_inst += len(preds)

    def get(self) -> tuple[Any, Any]:
        self._read()
        return self.name, self._score(self._counted)

    def get_global(self) -> tuple[Any, Any]:
        self._read()
        return self.name, self._score(self._earlier + self._counted)

    def _read(self) -> None:
        """Counts what was kept: matches and n-grams of each length, and both lengths."""
        unread, self._unread = self._unread, []
        for labels, preds in unread:
            for reference, translation in zip(self._rows(labels), self._rows(preds), strict=True):
                self._counted = self._counted + self._matches(_several(reference), _tokens(translation))

    def _rows(self, values: Any) -> Iterable[Any]:
        if not isinstance(values, NDArray | np.ndarray):
            return list(values)
        rows = values.asnumpy() if isinstance(values, NDArray) else values
        if rows.ndim != 2:
            raise ArgumentError(f"{self.name}: an array of tokens has the shape (N, length), not {rows.shape}")
        return [self._without_the_rest(row.tolist()) for row in rows]

    def _without_the_rest(self, row: list[Any]) -> list[Any]:
        return row[: row.index(self.ignore_label)] if self.ignore_label in row else row

    def _matches(self, references: list[list[Any]], translation: list[Any]) -> Any:
        counts = []
        for n in range(1, self.max_n + 1):
            found, allowed = _ngrams(translation, n), Counter[Any]()
            for reference in references:
                allowed |= _ngrams(reference, n)
            counts += [sum((found & allowed).values()), sum(found.values())]
        closest = min((abs(len(r) - len(translation)), len(r)) for r in references)[1]
        return np.array([*counts, len(translation), closest], "int64")

    def _score(self, counts: Any) -> float:
        length, wanted = (int(value) for value in counts[-2:])
        if not length and not wanted:
            return float("nan")
        more = [int(self.smooth and n > 0) for n in range(self.max_n)]
        pairs = [(int(a) + m, int(b) + m) for a, b, m in zip(counts[:-2:2], counts[1:-2:2], more, strict=True)]
        if not length or not all(match for match, _ in pairs):
            return 0.0
        mean = sum(math.log(match / total) for match, total in pairs) / self.max_n
        return math.exp(mean + min(0.0, 1 - wanted / length))


def _kept(values: Any) -> Any:
    """What cannot be changed behind our back."""
    return values.copy() if isinstance(values, NDArray | np.ndarray) else list(values)


def _tokens(text: Any) -> list[Any]:
    return text.split() if isinstance(text, str) else list(text)


def _several(reference: Any) -> list[list[Any]]:
    """The references of one translation: a text or a list of tokens is one, a list of lists or of texts with spaces
    several."""
    if isinstance(reference, str):
        return [reference.split()]
    listed = list(reference)
    nested = [item for item in listed if isinstance(item, list | tuple) or (isinstance(item, str) and " " in item)]
    return [_tokens(item) for item in listed] if nested else [listed]


def _ngrams(tokens: list[Any], n: int) -> Counter[Any]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
