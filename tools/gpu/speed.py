"""Times by flashfit.bench: the shapes at which tiles were chosen with every other kernel that fits, the reports' shapes
and SeedVR2's windows, all beside PyTorch's flash attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flashfit.bench.cases import Case, listed
from flashfit.bench.measure import measured
from flashfit.bench.parts import Method
from flashfit.bench.peers import all_peers
from flashfit.bench.selftest import alternatives
from flashfit.bench.session import method_on

PEERS = ("sdpa-flash", "torch-varlen")
# Of PyTorch's time over flashfit's own choice, by head_dim, where tiles were chosen.
TARGETS = {64: 0.95, 128: 0.8}


def is_tile_case(case: Case) -> bool:
    """Whether tiles were chosen at it: 16 heads, 8 sequences of 2048."""
    sizes = (case.batch, case.seqlen_q, case.heads_q, case.heads_kv)
    return case.group == "grid" and sizes == (8, 2048, 16, 16)


def chosen(cases: Sequence[Case], quick: bool) -> list[Case]:
    tiles = [case for case in cases if is_tile_case(case)]
    origin = [case for case in cases if case.group == "origin" and "fuzz" not in case.name]
    ragged = [case for case in cases if case.group == "ragged"]
    return [*tiles[:2], *origin[:2], *ragged[4:]] if quick else [*tiles, *origin, *ragged]


def target_of(case: Case) -> float | None:
    return TARGETS.get(case.head_dim) if is_tile_case(case) else None


def run_all(rounds: int, quick: bool) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Each case with its object of a result file (docs/results.md)."""
    peers = [peer for peer in all_peers() if peer.name in PEERS and not peer.missing("cuda")]
    method: Method = method_on("cuda", peers, repeats=rounds, warmup=3)
    index = method.gpu.torch.cuda.current_device()
    method.alternatives = lambda case: alternatives(case, index) if is_tile_case(case) else []
    for case in chosen(listed(), quick):
        yield case, measured(case, method)
        method.gpu.torch.cuda.empty_cache()
