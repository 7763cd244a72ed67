"""What a result is held to: fp64 in NumPy, apart from every implementation that is judged, and the bound of
docs/numerics.md. Of a long case a sample of sequences, heads and rows is held to it; no element may be NaN."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from .arrays import Array, Arrays, Inputs
from .cases import Case

MOST_PAIRS = 1 << 22  # of a query and a key that are computed in fp64 for one verdict: some 0.2 s
PIECES = 8  # sequences and heads of a sample
ROUNDOFF = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}


@dataclass(frozen=True)
class Verdict:
    """An error against fp64 and what it is held to; `message` is empty for a right result."""

    error: float
    bound: float
    message: str = ""


@dataclass(frozen=True)
class Piece:
    """Rows of one head of one sequence, as indices of q and out, and of k and v; `rows` within the sequence."""

    of_q: Any
    of_k: Any
    rows: Array
    queries: int
    keys: int


def to_bf16(x: Array) -> Array:
    """fp32 rounded to bf16, to nearest, ties to even, as fp32. Finite values alone."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded: Array = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded


def rounding(dtype: str) -> Callable[[Array], Array]:
    if dtype == "bf16":
        return to_bf16
    kind = np.float16 if dtype == "fp16" else np.float32
    return lambda x: x.astype(kind).astype(np.float32)


def attend(q: Array, k: Array, v: Array, seen: Array, scale: float, rounded: Callable[[Array], Array]) -> Array:
    """One head, in the arrays' precision; `rounded` is applied to what a layer without fusion would store."""
    scores = np.where(seen, rounded(rounded(q @ k.T) * q.dtype.type(scale)), -np.inf)
    top = scores.max(axis=1, initial=-np.inf)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top)[:, None])
    total = weights.sum(axis=1)
    return rounded(rounded(weights / np.where(total == 0, 1, total)[:, None]) @ v)


def sample(case: Case, seed: int) -> Iterator[Piece]:
    """All of a case, or of a long one PIECES of it: its longest and its shortest sequence and others, first and last
    rows and others, drawn by the seed."""
    sequences = case.sequences()
    pieces = [(s, h) for s, (queries, _) in enumerate(sequences) if queries for h in range(case.heads_q)]
    draw = random.Random(f"{case.name} {seed}")
    most_rows = math.inf
    if sum(q * k for q, k in sequences) * case.heads_q > MOST_PAIRS:
        by_work = sorted({s for s, _ in pieces}, key=lambda s: sequences[s][0] * sequences[s][1])
        ends = [(by_work[i], draw.randrange(case.heads_q)) for i in (0, -1)]
        others = draw.sample(pieces, min(PIECES, len(pieces)))
        pieces = list(dict.fromkeys([*ends, *others]))[:PIECES]
        most_rows = MOST_PAIRS / PIECES
    starts_q, starts_k = ([0, *accumulate(side)] for side in zip(*sequences)) if sequences else ([0], [0])
    for s, head in pieces:
        queries, keys = sequences[s]
        few = int(max(4, min(queries, most_rows / max(keys, 1))))
        middle = draw.sample(range(queries), few) if few < queries else range(queries)
        rows = np.array(sorted({0, queries - 1, *middle}))
        kv_head = head // (case.heads_q // case.heads_kv)
        if case.ragged:
            of_q: Any = (rows + starts_q[s], head)
            of_k: Any = (slice(starts_k[s], starts_k[s] + keys), kv_head)
        else:
            of_q, of_k = (s, rows, head), (s, slice(None), kv_head)
        yield Piece(of_q, of_k, rows, queries, keys)


class Expected:
    """What a case gives for the inputs of a seed."""

    def __init__(self, case: Case, arrays: Arrays, inputs: Inputs, seed: int) -> None:
        self.arrays = arrays
        self.shape = tuple(inputs.q.shape)
        self.pieces: list[tuple[Any, Array]] = []
        plain_error = largest_out = largest_v = score = 0.0
        for piece in sample(case, seed):
            q = arrays.rows(inputs.q, piece.of_q)
            k, v = (arrays.rows(x, piece.of_k) for x in (inputs.k, inputs.v))
            seen = np.ones((len(q), piece.keys), bool)
            if case.causal:
                seen = np.arange(piece.keys)[None, :] <= piece.rows[:, None] + (piece.keys - piece.queries)
            wide = [x.astype(np.float64) for x in (q, k, v)]
            exact = attend(wide[0], wide[1], wide[2], seen, case.softmax_scale, lambda x: x)
            plain = attend(q, k, v, seen, case.softmax_scale, rounding(case.dtype))
            self.pieces.append((piece.of_q, exact))
            plain_error = max(plain_error, largest(plain - exact))
            largest_out = max(largest_out, largest(exact))
            largest_v = max(largest_v, largest(v))
            score = max(score, largest((np.abs(q) @ np.abs(k).T) * seen))
        fp32 = ROUNDOFF["fp32"]
        floor = ROUNDOFF[case.dtype] * largest_out + fp32 * (1 + 2 * case.softmax_scale * score) * largest_v
        self.bound = case.tolerance * plain_error + floor

    def judge(self, out: Any) -> Verdict:
        """Of an output of q's shape and layout."""
        if tuple(out.shape) != self.shape:
            return Verdict(math.nan, self.bound, f"the result has shape {tuple(out.shape)}, not {self.shape}")
        errors = [largest(self.arrays.rows(out, index) - exact) for index, exact in self.pieces]
        error = math.nan if any(map(math.isnan, errors)) else max(errors, default=0.0)
        if math.isnan(error) or self.arrays.has_nan(out):
            return Verdict(error, self.bound, "the result holds NaN, or was not written everywhere")
        if error > self.bound:
            return Verdict(error, self.bound, f"error {error:.3g} against fp64 is above {self.bound:.3g}")
        return Verdict(error, self.bound)


def largest(x: Array) -> float:
    """Largest absolute value, NaN where there is one, 0 of nothing."""
    return float(np.max(np.abs(x), initial=0.0))
