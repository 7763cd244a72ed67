#!/usr/bin/env python3
"""Every option of attention on a grid of cases: error at most twice that of plain torch operations in the same dtype,
both against fp64 computed on the same device.

    PYTHONPATH=python python3 tools/gpu/grid.py --json grid.json                   # all, on a GPU, minutes
    PYTHONPATH=python python3 tools/gpu/grid.py --within causal,varlen --head-dim 64,128
    PYTHONPATH=python python3 tools/gpu/grid.py --device cpu --sample 20           # the CPU backend, every 20th

Each case: the result, its LSE, the same bits again, sentinels around the output, values that are not numbers staying in
their rows, and with batch_invariant each sequence alone. One line a failure; exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit import reference  # noqa: E402
from flashfit.reference import Group, Problem  # noqa: E402

from tools.gpu import bounds, grid_tensors  # noqa: E402
from tools.gpu.grid_cases import OPTIONS, GridCase, grid  # noqa: E402


@dataclass
class GridResult(bounds.Errors):
    """Of one case."""

    case: GridCase = field(default_factory=GridCase)


def same_bits(a: Any, b: Any) -> bool:
    """Equal bit for bit, NaN and signed zero included."""
    kind = grid_tensors.BYTES[a.dtype]
    return bool(torch.equal(a.contiguous().view(kind), b.contiguous().view(kind)))


def attend(inputs: grid_tensors.GridInputs, **more: Any) -> tuple[Any, Any]:
    """(out, lse)."""
    out, lse = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **{**inputs.options, **more})
    return out, lse


def groups(inputs: grid_tensors.GridInputs) -> list[Group]:
    """All sequences, in order."""
    options = {name: x for name, x in inputs.options.items() if name != "batch_invariant"}
    return list(reference.groups(inputs.q, inputs.k, inputs.v, **options))


def compare(result: GridResult, inputs: grid_tensors.GridInputs, out: Any, lse: Any) -> None:
    """With fp64. Of a case too large to compute whole, the first and last queries of the first and last heads."""
    for group in groups(inputs):
        for problem, its_out, its_lse in parts(group.problem, group.out(out), group.lse(lse)):
            result.add(bounds.Expected(problem), its_out, its_lse)
    result.judge()


def parts(p: Problem, out: Any, lse: Any) -> Iterator[tuple[Problem, Any, Any]]:
    """The problem, or where its scores would not fit a sample: of plain attention, whose heads and rows are alike."""
    heads, rows, keys = p.q.shape[1], p.q.shape[2], p.k.shape[2]
    if p.q.shape[0] * heads * rows * keys < 2**28 and p.k.numel() + p.q.numel() < 2**30:
        yield p, out, lse
        return
    for h in (0, heads - 1):
        head = slice(h, h + 1)
        its = replace(p, q=p.q[:, head], k=p.k[:, head], v=p.v[:, head])
        for some in (slice(0, min(300, rows)), slice(max(0, rows - 300), rows)):
            yield its.part(slice(None), some), out[:, head, some], lse[:, head, some]


def of_last_sequence(inputs: grid_tensors.GridInputs, x: Any, which: int) -> Any:
    """A view of q (which: 0), k or v (1): the last sequence's part, [heads, tokens, head_dim]."""
    heads_first = x if inputs.options["layout"] == "bhsd" else x.transpose(-3, -2)
    if heads_first.dim() == 4:
        return heads_first[-1]
    return heads_first[:, heads_first.shape[1] - inputs.lengths[-1][which] :]


def not_numbers(result: GridResult, device: str) -> None:
    """A NaN or infinity in one row of the last sequence comes out where that row is used, and everywhere else no bit
    changes.

    But for a value that a mask hides from a query: rows that it reached are computed again, as exactly, by other
    additions.
    """
    case = result.case
    clean, dirty = grid_tensors.make(case, device), grid_tensors.make(case, device)
    before, lse_before = attend(clean)
    kind, name = case.values.split("_")
    tokens = of_last_sequence(dirty, getattr(dirty, name), 0 if name == "q" else 1)
    row = tokens.shape[1] // 2
    tokens[0, row, 0] = float(kind)
    after, lse_after = attend(dirty)
    group = groups(clean)[-1]
    was, lse_was, now, lse_now = group.out(before), group.lse(lse_before), group.out(after), group.lse(lse_after)
    hit = torch.zeros(lse_was.shape, dtype=torch.bool, device=was.device)
    seen = group.problem.seen()
    seen = seen.expand(was.shape[0], 1, *seen.shape[-2:])
    if name == "q":
        hit[-1, 0, row] = bool(seen[-1, 0, row].any())
    else:
        hit[-1, : case.heads // case.heads_kv] = seen[-1, 0, :, row]
    touched = hit[..., None].expand(was.shape).clone()
    if name == "v":
        touched[..., 1:] = False
    bad = now[touched].isnan() if kind == "nan" else now[touched].isposinf()
    if not bool(bad.all()):
        result.problems.append(f"{case.values}: {int((~bad).sum())} elements that use it do not show it")
    rest, rest_was = now[~touched], was[~touched]
    if name != "v" and not same_bits(rest, rest_was):
        result.problems.append(f"{case.values}: elements that do not use it have changed")
    allowed = 4 * torch.finfo(now.dtype).eps * rest_was.double().abs().clamp(min=1)
    if name == "v" and not bool(((rest.double() - rest_was.double()).abs() <= allowed).all()):
        result.problems.append(f"{case.values}: elements that do not use it are off")
    kept = torch.ones_like(hit) if name == "v" else ~hit
    if not same_bits(lse_now[kept], lse_was[kept]):
        result.problems.append(f"{case.values}: LSE of rows that do not use it has changed")
    if name != "v" and not bool(lse_now[hit].isnan().all()):
        result.problems.append(f"{case.values}: LSE of rows that use it is a number")
    if case.lengths is not None and case.layout == "bshd":
        others = slice(0, after.shape[0] - case.lengths[-1][0])
        if not same_bits(after[others], before[others]):
            result.problems.append(f"{case.values}: other sequences have changed")


def alone(case: GridCase, inputs: grid_tensors.GridInputs, i: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Sequence i by itself: q, k, v and options of a call."""
    options = dict(inputs.options)
    for name in ("alibi_slopes", "seqused_k"):
        if name in options and (name != "alibi_slopes" or options[name].dim() == 2):
            options[name] = options[name][i : i + 1].clone()
    if case.lengths is None:
        if "bias" in options and options["bias"].dim() == 4 and options["bias"].shape[0] > 1:
            options["bias"] = options["bias"][i : i + 1]
        return inputs.q[i : i + 1], inputs.k[i : i + 1], inputs.v[i : i + 1], options
    tensors = []
    for x, name in ((inputs.q, "cu_seqlens_q"), (inputs.k, "cu_seqlens_k"), (inputs.v, "cu_seqlens_k")):
        start, stop = (int(each) for each in inputs.options[name][i : i + 2])
        tensors.append(x[start:stop] if case.layout == "bshd" else x[:, start:stop])
        options[name] = torch.tensor([0, stop - start], dtype=torch.int32, device=x.device)
    q, k, v = tensors
    return q, k, v, options


def check_invariance(result: GridResult, inputs: grid_tensors.GridInputs, out: Any, lse: Any) -> None:
    """Each sequence alone has the bits that it has in its batch."""
    case = result.case
    start = 0
    for i, (queries, _) in enumerate(inputs.lengths):
        q, k, v, options = alone(case, inputs, i)
        only, only_lse = flashfit.attention(q, k, v, return_lse=True, **options)
        if case.lengths is None:
            mine, mine_lse = out[i : i + 1], lse[i : i + 1]
        else:
            rows = slice(start, start + queries)
            mine = out[rows] if case.layout == "bshd" else out[:, rows]
            mine_lse = lse[:, rows]
            start += queries
        if not (same_bits(only, mine) and same_bits(only_lse, mine_lse)):
            result.problems.append(f"batch_invariant: sequence {i} alone has other bits")
            return


def run(case: GridCase, device: str) -> GridResult:
    """All checks of a case."""
    result = GridResult(case=case)
    try:
        if case.values.startswith(("nan", "inf")):
            not_numbers(result, device)
            return result
        inputs = grid_tensors.make(case, device)
        room = inputs.rooms["out"]
        _, lse = attend(inputs, out=room.view)
        out = room.view.clone()
        again, lse_again = attend(inputs)
        if not (same_bits(out, again) and same_bits(lse, lse_again)):
            result.problems.append("a repeat differs")
        if not room.outside_is_untouched():
            result.problems.append("wrote outside out")
        del again, lse_again
        compare(result, inputs, out, lse)
        if case.batch_invariant:
            check_invariance(result, inputs, out, lse)
    except flashfit.FlashfitError as refused:
        result.problems.append(f"refused: {refused}")
    except torch.cuda.OutOfMemoryError:
        result.problems.append("this GPU's memory is too small for the case or its reference")
    except RuntimeError as error:  # of CUDA, whatever touches the GPU first after a kernel went astray
        result.problems.append(str(error).splitlines()[0])
    return result


def is_lost(device: str) -> bool:
    """Whether a fault has ended this process's use of the GPU: nothing after it can be right."""
    if device != "cuda":
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def chosen(arguments: argparse.Namespace) -> list[GridCase]:
    """The cases that the filters leave."""
    cases = grid()
    if arguments.device == "cpu":
        cases = [case for case in cases if not case.gpu_only]
    if arguments.option:
        cases = [case for case in cases if case.options & arguments.option]
    if arguments.within is not None:
        cases = [case for case in cases if case.options <= arguments.within]
    if arguments.without:
        cases = [case for case in cases if not case.options & arguments.without]
    if arguments.head_dim:
        cases = [case for case in cases if case.head_dim in arguments.head_dim]
    if arguments.dtype:
        cases = [case for case in cases if case.dtype == arguments.dtype]
    if arguments.name:
        cases = [case for case in cases if arguments.name in case.name]
    return cases[:: arguments.sample]


def summary(results: list[GridResult], device: str, seconds: float) -> dict[str, Any]:
    """What --json writes."""
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for result in results:
        tags = [*result.case.options, f"D{result.case.head_dim}", result.case.dtype]
        tried.update(tags)
        if result.problems:
            failed.update(tags)
    ratios = sorted(((r.error / r.bound, r.case.name) for r in results if r.bound and r.error == r.error), reverse=True)
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "flashfit": flashfit.__version__,
        "cases": len(results),
        "failed": sum(bool(r.problems) for r in results),
        "seconds": round(seconds, 1),
        "by": {tag: {"cases": count, "failed": failed[tag]} for tag, count in sorted(tried.items())},
        "largest_error_over_bound": [{"ratio": ratio, "case": name} for ratio, name in ratios[:20]],
        "failures": [{"case": r.case.name, "problems": r.problems} for r in results if r.problems],
    }


def run_all(cases: list[GridCase], device: str, most_lines: int = 60) -> Iterator[GridResult]:
    """Runs the cases; prints one line a failure, until there are too many, and how far it is."""
    start, wrong = time.monotonic(), 0
    for count, case in enumerate(cases, 1):
        result = run(case, device)
        if result.problems:
            wrong += 1
            if wrong <= most_lines:
                print(f"FAILED: {case.name}: {'; '.join(result.problems)}", flush=True)
            if is_lost(device):
                print(f"stopped after {count} of {len(cases)} cases: a fault has ended the use of this GPU", flush=True)
                yield result
                return
        if count % 250 == 0 or count == len(cases):
            print(f"{count} of {len(cases)} cases, {wrong} wrong, {time.monotonic() - start:.0f} s", flush=True)
        yield result


def names(text: str) -> set[str]:
    """A list of options."""
    found = {each for each in text.split(",") if each}
    if found - set(OPTIONS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(found - set(OPTIONS)))}; accepted: {', '.join(OPTIONS)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--option", type=names, help="cases that have one of these: " + ",".join(OPTIONS))
    parser.add_argument("--within", type=names, help="cases that have none but these; '' for plain ones")
    parser.add_argument("--without", type=names, help="cases that have none of these")
    parser.add_argument("--head-dim", type=lambda text: {int(each) for each in text.split(",")}, metavar="N,N")
    parser.add_argument("--dtype", choices=["fp16", "bf16"])
    parser.add_argument("--name", help="cases whose name has this in it")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th of what is left")
    parser.add_argument("--lines", type=int, default=60, help="failures that are printed")
    parser.add_argument("--limit", type=float, default=1800, metavar="SECONDS", help="end with a traceback after these")
    parser.add_argument("--list", action="store_true", help="print the cases' names and stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a summary with every failure")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    cases = chosen(arguments)
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    faulthandler.dump_traceback_later(arguments.limit, exit=True)
    start = time.monotonic()
    results = list(run_all(cases, arguments.device, arguments.lines))
    found = summary(results, arguments.device, time.monotonic() - start)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for tag, counts in found["by"].items():
        if counts["failed"]:
            print(f"{tag:18} {counts['failed']} of {counts['cases']} wrong")
    print(f"{'FAILED' if found['failed'] else 'passed'}: {found['cases'] - found['failed']} of {found['cases']} right")
    return 1 if found["failed"] or not results else 0


if __name__ == "__main__":
    sys.exit(main())
