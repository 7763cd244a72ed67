"""The list's hard cases on this machine's GPU, against fp64 on the same GPU: logits and values that random numbers of
mean zero do not give (bench/cases/forward.json, group "hard").

Every carried image that the GPU can run is tried on those that it serves, machine code and PTX of older targets; the
random ones run through what the plan chooses.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit.bench import cases as case_list  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.cases import Case  # noqa: E402
from flashfit.bench.ours import options_of  # noqa: E402

from tools.gpu import bounds  # noqa: E402
from tools.gpu.correctness import same_bits  # noqa: E402
from tools.gpu.grid_tensors import DTYPES  # noqa: E402
from tools.gpu.variants import Candidate, code  # noqa: E402

COPY_LOGIT = 1024  # up to this logit the softmax of one key is 1 exactly (proof/reference/forward_data.hpp, is_copy)
FEWEST_CASES = 15  # that every image must have served
FAR_STRIDE = 2**26  # elements: the 32nd row begins past 2^31, and 70 rows take 9.4 GB
FAR_ROWS = 70
HEADS = 2  # of queries, which share a key-value head: all kinds of variants take that


@dataclass
class HardResult:
    """One case through one image, or through the plan; `problems` is empty where it is right."""

    case: str
    candidate: str
    problems: list[str] = field(default_factory=list)
    error: float = 0.0
    bound: float = 0.0
    served: bool = True


def listed() -> list[Case]:
    return [case for case in case_list.listed() if case.group == "hard"]


def is_random(case: Case) -> bool:
    return case.name.startswith("hard/p")


class Expected:
    """What a case gives."""

    def __init__(self, case: Case, device: str, seed: int = 1) -> None:
        self.case = case
        self.inputs = TorchArrays(device).make(case, seed)
        self.options = options_of(case, self.inputs)
        self.held = bounds.of_call(self.inputs.q, self.inputs.k, self.inputs.v, **self.options)

    def hold(self, result: HardResult, out: Any, lse: Any) -> None:
        for group, expected in self.held:
            found = bounds.Errors()
            found.add(expected, group.out(out), group.lse(lse))
            found.judge()
            result.problems += found.problems
            if not result.problems and found.error * result.bound >= result.error * found.bound:
                result.error, result.bound = found.error, found.bound
            if self.inputs.sinks is None and expected.out.numel():
                seen = group.problem.seen()
                one = (seen.expand(*expected.out.shape[:2], *seen.shape[-2:]).sum(-1) == 1) & (
                    expected.lse.abs() < COPY_LOGIT
                )
                if not torch.equal(group.out(out)[one].double(), expected.out[one]):
                    result.problems.append("a query that sees one key does not give its value bit for bit")
        rows = out.shape[0] - self.case.spare_rows
        if self.case.ragged and not bool(out[rows:].isnan().all()):
            result.problems.append("rows after the last sequence were written")


def attempt(expected: Expected, candidate: Candidate | None) -> HardResult:
    case, inputs = expected.case, expected.inputs
    result = HardResult(case.name, candidate.name if candidate else "the plan's choice")
    out = torch.full_like(inputs.out, float("nan"))
    options = {**expected.options, "variant": candidate.variant if candidate else None}
    try:
        with code(candidate.code if candidate else "SASS"):
            _, lse = flashfit.attention(inputs.q, inputs.k, inputs.v, out=out, return_lse=True, **options)
            again = torch.full_like(out, float("nan"))
            flashfit.attention(inputs.q, inputs.k, inputs.v, out=again, **options)
    except flashfit.FlashfitError as refused:
        # A named image may be for plain problems, or for other head_dims; the plan must have something for each.
        result.served = candidate is None or not candidate.is_not_for(refused)
        if result.served:
            result.problems.append(f"refused: {refused}")
        return result
    expected.hold(result, out, lse)
    if not same_bits(out, again):
        result.problems.append("a repeat without LSE differs")
    return result


def able(case: Case, candidate: Candidate) -> bool:
    """Whether the plan could take the image for the case, but for its options: Misfit says that."""
    lower = 256 if candidate.head_dim == 512 else candidate.head_dim - (32 if candidate.head_dim <= 192 else 64)
    narrow = case.values_dim == candidate.values_dim if candidate.narrower else True
    return case.dtype == candidate.dtype and lower < case.head_dim <= candidate.head_dim and narrow


def run_all(cases: Sequence[Case], candidates: Sequence[Candidate], device: str) -> Iterator[HardResult]:
    """Fixed cases through every image, random ones through the plan; references are computed once."""
    for case in cases:
        expected = Expected(case, device)
        yield attempt(expected, None)
        if not is_random(case):
            for candidate in candidates:
                if able(case, candidate):
                    yield attempt(expected, candidate)


def seldom_served(results: Sequence[HardResult], candidates: Sequence[Candidate]) -> list[str]:
    """Images that too few cases were served by for their results to say much."""
    counts = {candidate.name: 0 for candidate in candidates}
    for result in results:
        if result.served and result.candidate in counts:
            counts[result.candidate] += 1
    return [f"{name} served {count} cases" for name, count in counts.items() if count < FEWEST_CASES]


def far_rows(device: str, candidates: Sequence[Candidate]) -> Iterator[HardResult]:
    """Rows whose offsets pass 2^31 elements, in real tensors of 9.4 GB each."""
    if torch.cuda.mem_get_info()[0] < 60e9:
        print("not run: rows past 2^31 elements need 60 GB of free GPU memory", flush=True)
        return
    for dtype in ("fp16", "bf16"):
        buffers = [torch.zeros(FAR_ROWS * FAR_STRIDE, dtype=DTYPES[dtype], device=device) for _ in range(4)]
        for candidate in candidates:
            if candidate.dtype != dtype:
                continue
            dims = (candidate.head_dim, candidate.head_dim, candidate.values_dim, candidate.values_dim)
            heads = (HEADS, 1, 1, HEADS)
            q, k, v, out = (
                b.as_strided((1, FAR_ROWS, h, d), (b.numel(), FAR_STRIDE, d, 1))
                for b, d, h in zip(buffers, dims, heads)
            )
            generator = torch.Generator(device).manual_seed(3)
            for x in (q, k, v):
                x.normal_(generator=generator)
            out.fill_(float("nan"))
            near = [x.contiguous() for x in (q, k, v)]
            result = HardResult("rows past 2^31 elements", candidate.name)
            with code(candidate.code):
                wanted = flashfit.attention(*near, variant=candidate.variant)
                flashfit.attention(q, k, v, out=out, variant=candidate.variant)
            if not same_bits(out, wanted):
                result.problems.append("differs from the same rows side by side")
            yield result


def compile_ptx(candidates: Sequence[Candidate], processes: int = 12) -> float:
    """Lets the driver compile all PTX into its cache, in processes beside each other; the seconds that it took."""
    names = [c.variant for c in candidates if c.code == "PTX"]
    start = time.monotonic()
    running = [
        subprocess.Popen([sys.executable, __file__, "--compile", *names[i::processes]]) for i in range(processes)
    ]
    failed = [process.returncode for process in running if process.wait()]
    if failed:
        raise RuntimeError(f"{len(failed)} of {processes} processes that compile PTX failed")
    return time.monotonic() - start


def compile_named(names: Sequence[str]) -> None:
    wanted = set(names)
    capability = ".".join(map(str, torch.cuda.get_device_capability()))
    from tools.gpu.variants import candidates

    for c in candidates(capability):
        if c.code == "PTX" and c.variant in wanted:
            q, k, v = (
                torch.zeros(1, 16, heads, dim, dtype=DTYPES[c.dtype], device="cuda")
                for heads, dim in ((HEADS, c.head_dim), (1, c.head_dim), (1, c.values_dim))
            )
            with code("PTX"):
                flashfit.attention(q, k, v, variant=c.variant)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--compile"]:
        sys.exit("usage: hard.py --compile VARIANT...; ./dev gpu runs the cases")
    compile_named(sys.argv[2:])
