"""Calls whose keys are cut in parts: right by fp64, and the same bits in every replay of a CUDA graph, beside another
kernel, and one call right after another. `python -m tools.gpu.decoding [REPLAYS]`, on a GPU.

The second launch of such a call begins before the first has ended and waits for it on the GPU: what it must not do is
read too early, and what the next call must not do is write its parts too early."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402

from tools.gpu import bounds, tensors  # noqa: E402
from tools.gpu.correctness import same_bits  # noqa: E402
from tools.job.cases import Case  # noqa: E402


def cases() -> Iterator[Case]:
    """Of few parts and of 64, of columns that fill a block's 128 and that do not, of one row and of many."""
    for dtype in ("fp16", "bf16"):
        for head_dim in (32, 64, 80, 128, 160, 256, 512):
            for batch, heads, heads_kv, queries, keys in ((1, 32, 8, 1, 8192), (2, 8, 8, 5, 3000), (1, 4, 4, 1, 200)):
                yield Case(heads=heads, heads_kv=heads_kv, batch=batch, seqlen_q=queries, seqlen_k=keys,
                           head_dim=head_dim, dtype=dtype, causal=queries > 1)  # fmt: skip
    for keys in (400, 1000, 2000, 16384, 65536):
        yield Case(heads=32, heads_kv=8, batch=1, seqlen_q=4, seqlen_k=keys, head_dim=128, dtype="bf16", causal=True)
        yield Case(heads=8, heads_kv=8, batch=1, seqlen_q=1, seqlen_k=keys, head_dim=64, dtype="bf16")
    yield Case(heads=8, heads_kv=8, lengths_q=(3, 1, 0, 2), lengths_k=(9000, 1, 500, 4000), head_dim=128, dtype="bf16")


def parts_of(case: Case) -> int:
    """In how many parts the plan cuts the keys on this GPU."""
    if case.lengths_q is not None:
        return 0
    plan = flashfit.explain(
        dtype=case.dtype, head_dim=case.head_dim, heads_q=case.heads, heads_kv=case.heads_kv, batch=case.batch,
        seqlen_q=case.seqlen_q, seqlen_k=case.seqlen_k, causal=case.causal,
    )[0]  # fmt: skip
    return int(plan["splits"] or 0)


def other_work() -> tuple[Any, Any]:
    """A stream, and products that keep half of a GPU busy there."""
    side = torch.cuda.Stream()
    x = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    return side, lambda: torch.mm(x, x)


def defects(case: Case, replays: int) -> Iterator[str]:
    inputs = tensors.make(case, "cuda")
    options = inputs.options(case)
    sinks = torch.randn(case.heads, device="cuda")
    for more in ({}, {"sinks": sinks}):
        out = tensors.guarded(tuple(inputs.q.shape), inputs.q.dtype, "cuda")
        _, lse = flashfit.attention(inputs.q, inputs.k, inputs.v, out=out.view, return_lse=True, **options, **more)
        if not out.untouched_outside():
            yield "wrote outside out"
        found = bounds.Errors()
        for group, exact in bounds.of_call(inputs.q, inputs.k, inputs.v, **options, **more):
            found.add(exact, group.out(out.view), group.lse(lse))
        found.judge()
        yield from found.problems
    wanted = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **options)
    # Three calls in turn, of which the middle one has other keys: each one's parts lie where the allocator puts them.
    graph, other_keys = torch.cuda.CUDAGraph(), inputs.k.flip(-1).contiguous()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        first = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **options)
        flashfit.attention(inputs.q, other_keys, inputs.v, **options)
        last = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **options)
    side, work = other_work()
    wrong = 0
    for replay in range(replays):
        for results in (first, last):
            for x in results:
                x.fill_(float("nan"))
        if replay % 2:
            with torch.cuda.stream(side):
                work()
        graph.replay()
        for results in (first, last):
            wrong += sum(not same_bits(x, y) for x, y in zip(results, wanted))
    if wrong:
        yield f"{wrong} results of {replays} replays differ"
    wrong = 0
    for _ in range(replays):
        found_now = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **options)
        flashfit.attention(inputs.q, other_keys, inputs.v, **options)
        wrong += sum(not same_bits(x, y) for x, y in zip(found_now, wanted))
    if wrong:
        yield f"{wrong} results of {replays} calls differ"


def main() -> int:
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(torch.cuda.get_device_name(), flashfit.__file__)
    failed = 0
    for case in cases():
        found = list(defects(case, replays))
        failed += bool(found)
        print(f"{'WRONG' if found else 'right'} {case.name}, {parts_of(case)} parts{': ' if found else ''}"
              f"{'; '.join(found)}", flush=True)  # fmt: skip
    print(f"{failed} cases failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
