"""The project's attention cases, as `flashfit bench --list` gives them."""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass
from typing import Any

from flashfit._command import command


@dataclass(frozen=True)
class Case:
    """One problem. Dense, or variable length where lengths_q is given."""

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
    """The cases of a group whose q, k and v have one head_dim, all that these programs make; of `origin` the seven
    shapes, without the grid that stands beside them."""
    argv = [str(command()), "bench", "--list", "--json", "--group", group]
    listed = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
    return [
        _case(entry)
        for entry in listed
        if not entry["name"].startswith("origin/fuzz") and "head_dim_v" not in entry["problem"]
    ]


def _case(entry: dict[str, Any]) -> Case:
    p = entry["problem"]
    ragged = "lengths_q" in p
    own_scale = not math.isclose(p["softmax_scale"], p["head_dim"] ** -0.5)
    return Case(
        heads=p["heads_q"],
        heads_kv=p["heads_kv"],
        batch=len(p["lengths_q"]) if ragged else p["batch"],
        seqlen_q=0 if ragged else p["seqlen_q"],
        seqlen_k=0 if ragged else p["seqlen_k"],
        head_dim=p["head_dim"],
        dtype=p["dtype"],
        causal=p["causal"],
        lengths_q=tuple(p["lengths_q"]) if ragged else None,
        lengths_k=tuple(p["lengths_k"]) if ragged else None,
        memory=p["memory"],
        softmax_scale=p["softmax_scale"] if own_scale else None,
        magnitude=p.get("magnitude", 1.0),
        label=entry["name"].split("/")[1].split(" H")[0] if entry["group"] == "ragged" else "",
    )
