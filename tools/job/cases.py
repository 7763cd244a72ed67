"""The project's attention cases: bench/cases/forward.json and SeedVR2's windows."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.job import seedvr

CASES = Path(__file__).resolve().parents[2] / "bench" / "cases" / "forward.json"
MEMORY = ("contiguous", "packed_qkv", "heads_first", "padded_rows")


@dataclass(frozen=True)
class Case:
    """One problem. Dense, or variable length where lengths_q is given; head_dim 0 and dtype "" are filled in by
    whoever runs the case."""

    heads: int
    heads_kv: int
    batch: int = 1
    seqlen_q: int = 0
    seqlen_k: int = 0
    head_dim: int = 0
    dtype: str = ""
    causal: bool = False
    lengths_q: tuple[int, ...] | None = None
    lengths_k: tuple[int, ...] | None = None
    memory: str = "contiguous"
    softmax_scale: float | None = None
    magnitude: float = 1.0
    label: str = ""

    @property
    def name(self) -> str:
        heads = f"H{self.heads}" + (f"/{self.heads_kv}" if self.heads_kv != self.heads else "")
        if self.label:
            shape = f"{self.label} {heads}"
        elif self.lengths_q is not None and self.lengths_k is not None:
            keys = "" if self.lengths_k == self.lengths_q else " keys " + "+".join(map(str, self.lengths_k))
            shape = f"varlen {'+'.join(map(str, self.lengths_q))}{keys} {heads}"
        else:
            keys = f"x{self.seqlen_k}" if self.seqlen_k != self.seqlen_q else ""
            shape = f"B{self.batch} S{self.seqlen_q}{keys} {heads}"
        extras = [f"D{self.head_dim}" if self.head_dim else "", self.dtype, "causal" if self.causal else "full"]
        extras.append(self.memory if self.memory != "contiguous" else "")
        extras.append(f"scale {self.softmax_scale:g}" if self.softmax_scale else "")
        extras.append(f"q x {self.magnitude:g}" if self.magnitude != 1 else "")
        return " ".join([shape, *(extra for extra in extras if extra)])

    def of(self, dtype: str, head_dim: int) -> Case:
        return replace(self, dtype=dtype, head_dim=head_dim)

    def sequences(self) -> list[tuple[int, int]]:
        """(queries, keys) of each sequence."""
        if self.lengths_q is not None and self.lengths_k is not None:
            return list(zip(self.lengths_q, self.lengths_k))
        return [(self.seqlen_q, self.seqlen_k)] * self.batch

    def flop(self) -> float:
        """Two matrix products, 2 operations a multiply-add; of a causal problem the half that is visible."""
        pairs = sum(q * k for q, k in self.sequences())
        return 4.0 * self.heads * self.head_dim * pairs * (0.5 if self.causal else 1.0)


def load(group: str) -> list[Case]:
    """Cases of a group of forward.json: origin, speed or correctness."""
    return [_case(entry) for entry in json.loads(CASES.read_text(encoding="utf-8"))[group]]


def windows(video: seedvr.Video, shifted: bool) -> Case:
    lengths = tuple(seedvr.window_lengths(video, shifted))
    return Case(
        heads=seedvr.HEADS_3B,
        heads_kv=seedvr.HEADS_3B,
        head_dim=seedvr.HEAD_DIM,
        dtype="bf16",
        lengths_q=lengths,
        lengths_k=lengths,
        label=f"SeedVR2 {video}, {len(lengths)} {'shifted' if shifted else 'regular'} windows",
    )


def _case(entry: dict[str, Any]) -> Case:
    fields = dict(entry)
    fields.setdefault("heads_kv", fields["heads"])
    fields.setdefault("seqlen_k", fields.get("seqlen_q", 0))
    if "lengths_q" in fields:
        fields["lengths_q"] = tuple(fields["lengths_q"])
        fields["lengths_k"] = tuple(fields.get("lengths_k", fields["lengths_q"]))
        fields["batch"] = len(fields["lengths_q"])
    case = Case(**fields)
    if case.memory not in MEMORY:
        raise ValueError(f"{CASES}: memory {case.memory!r} is not one of {', '.join(MEMORY)}")
    return case
