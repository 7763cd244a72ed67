"""`python -m flashfit selftest`: whether flashfit is right and fast on a machine that its makers never had, in one file
that can be sent to them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._errors import FlashfitError
from . import cases as case_list
from . import ours
from .arrays import Inputs
from .cases import Case
from .machine import describe
from .options import Parser, device_of, span
from .peers import Peer, chosen_peers
from .plan import variants_that_fit
from .results import ResultFile
from .session import able, interrupt, method_on, run, use_threads, versions

GPU_REPEATS, CPU_REPEATS = 30, 10
CASE_SECONDS = 2.0
EVERY = 10  # of the cases that are for correctness alone, and of those of random shapes
COPIES = 16  # of a case's tensors that may be there at once: rotated inputs, peers' copies, their workspaces
CPU_FLOP = 3e9  # the largest case that a CPU is asked for: tens of milliseconds
FORCED = "flashfit "  # and the name of the kernel


class Forced(Peer):
    """flashfit with a kernel that its plan did not choose."""

    package = "flashfit"

    def __init__(self, variant: str) -> None:
        self.name = FORCED + variant
        self._variant = variant

    def prepare(self, case: Case, inputs: Inputs) -> Callable[[], Any]:
        return ours.prepare(case, replace(inputs, out=inputs.out.new_empty(inputs.out.shape)), self._variant)


def alternatives(case: Case, index: int) -> list[Peer]:
    return [Forced(variant) for variant in variants_that_fit(case, index)[1:]]


def chosen(cases: Sequence[Case], on_gpu: bool) -> list[Case]:
    """A sample for correctness first, then what is timed, most telling first: a limit of time cuts the end."""
    for_correctness = [case for case in cases if not case.timed or case.group == "wild"][::EVERY]
    timed = [case for case in cases if case.timed and case.group != "wild"]
    timed.sort(key=lambda case: ("fuzz" in case.name, case.group != "origin"))
    found = [*(replace(case, timed=False) for case in for_correctness), *timed]
    return [case for case in found if on_gpu or case.work["flop"] <= CPU_FLOP]


def small_enough(cases: Sequence[Case], gpu: Any) -> list[Case]:
    """Those whose tensors, references and peers' copies fit what the GPU has free; says how many are left out."""
    free = gpu.torch.cuda.mem_get_info()[0]
    found = [case for case in cases if COPIES * case.work["bytes"] <= free]
    if len(found) < len(cases):
        print(f"{len(cases) - len(found)} cases are left out: {free / 1e9:.1f} GB of GPU memory are free")
    return found


def key_paths(value: Any, path: str = "") -> dict[str, None]:
    """Every key of a document, lists as [], any peer as *: "cases[].peers.*.error"."""
    found: dict[str, None] = {}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            key = "*" if path.endswith(".peers") else key
            found.update(key_paths(inner, f"{path}.{key}" if path else str(key)))
        return found or {path: None}
    if isinstance(value, list):
        for inner in value:
            found.update(key_paths(inner, f"{path}[]"))
        return found or {f"{path}[]": None}
    return {path: None}


def show_content(content: Mapping[str, Any]) -> None:
    """What the file says of this machine, in full, and the name of every other key."""
    print("\nWhat the file says of this machine and of its software:")
    for part in ("made", "machine", "versions"):
        for key, value in content[part].items():
            values = value.items() if isinstance(value, Mapping) else [("", value)]
            for inner, shown in values:
                print(f"  {part}.{key}{'.' + inner if inner else ''}: {shown}")
    print("Its other keys:")
    for path in key_paths({key: value for key, value in content.items() if key not in ("made", "machine", "versions")}):
        print(f"  {path}")


def show_choices(cases: Sequence[Mapping[str, Any]]) -> None:
    """Where a kernel that the plan did not choose was faster, beyond the interval."""
    beside = [(c, n, p) for c in cases for n, p in c.get("peers", {}).items() if n.startswith(FORCED) and "ratio" in p]
    faster = [(c, n, p) for c, n, p in beside if p["ratio_interval"][1] < 1]
    if beside:
        print(f"\n{len(faster)} of {len(beside)} other kernels were faster than the plan's choice:")
    for entry, name, peer in faster:
        print(
            f"  {entry['name']}: {name.replace(FORCED, '', 1)} takes {peer['ratio']:.3f} of {entry['variant']}'s time"
        )


def main(words: Sequence[str]) -> int:
    """0: every case is right; 1: one is wrong; 2: wrong use; 3: it cannot run; 130: ended before the first case."""
    parser = Parser(prog="python -m flashfit selftest", description=__doc__)
    parser.add_argument("--minutes", type=span, default=10, help="begin nothing new after this (default 10)")
    parser.add_argument("--output", type=Path, default=Path("flashfit-selftest.json"), metavar="FILE")
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: the GPU if flashfit and PyTorch see one")
    signal.signal(signal.SIGTERM, interrupt)
    try:
        options = parser.parse_args(words)
        device = device_of(options.device)
        on_gpu = device == "cuda"
        if not on_gpu:
            use_threads(None)
            print("no GPU that flashfit and PyTorch both see: this tries the CPU backend, on small cases alone")
        peers, _ = chosen_peers(device, ())
        peers = [peer for peer in peers if peer.name != "sdpa-math"]  # slow, and nobody's choice
        repeats = GPU_REPEATS if on_gpu else CPU_REPEATS
        method = method_on(device, peers, repeats=repeats, warmup=3, case_seconds=CASE_SECONDS)
        if on_gpu:
            index = method.gpu.torch.cuda.current_device()
            method.alternatives = lambda case: alternatives(case, index)
        cases = able(chosen(case_list.listed(), on_gpu), method)
        if on_gpu:
            cases = small_enough(cases, method.gpu)
        command = f"python -m flashfit selftest --minutes {options.minutes:g}"
        result = ResultFile(options.output, command, describe(device), versions(peers))
        complete = run(cases, method, result, options.minutes)
        result.write(complete)
    except FlashfitError as error:
        print(f"selftest: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 3
    except KeyboardInterrupt:  # before the first case
        return 130
    if not result.cases:
        print(f"selftest: none of {len(cases)} cases was tried", file=sys.stderr)
        return 130
    show_choices(result.cases)
    show_content(result.content)
    wrong = [entry["name"] for entry in result.cases if not entry["correct"]]
    print(f"\n{len(result.cases) - len(wrong)} of {len(result.cases)} cases right, {len(cases)} planned")
    print(f"Nothing was sent. {options.output} is all of it: please read it, then send it to flashfit's makers.")
    return int(bool(wrong))
