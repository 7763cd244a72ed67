"""The command line of flashfit.bench."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._errors import FlashfitError
from . import cases as case_list
from .cases import Case
from .machine import describe, management, sees_gpu
from .measure import BrokenDeviceError, Method, measured, message_of, noise
from .peers import Peer, chosen_peers
from .plan import plan_of
from .progress import Progress
from .results import ResultFile


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m flashfit.bench", description="flashfit beside other attention")
    parser.add_argument("--group", action="append", default=[], help="of flashfit bench --list; repeatable")
    parser.add_argument("--filter", action="append", default=[], help="part of the names to measure; repeatable")
    parser.add_argument("--peers", help="names with commas between, or none (default: all that are installed)")
    parser.add_argument("--warmup", type=int, default=10, help="rounds that are not kept (default 10)")
    parser.add_argument("--repeats", type=int, default=100, help="rounds of a case (default 100)")
    parser.add_argument("--case-seconds", type=float, help="begin no round of a case after this, but the first 10")
    parser.add_argument("--minutes", type=float, help="begin no case after this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample (docs/results.md)")
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: the GPU if flashfit and PyTorch see one")
    parser.add_argument("--threads", type=int, help="of flashfit and PyTorch on the CPU (default: all)")
    parser.add_argument("--l2", choices=["warm", "flushed"], default="warm", help="the GPU's cache before a sample")
    return parser.parse_args(words)


def versions(peers: Sequence[Peer]) -> dict[str, str]:
    """Of what takes part."""
    import numpy

    found = {"python": platform.python_version(), "numpy": numpy.__version__}
    if importlib.util.find_spec("torch"):
        import torch

        found["torch"] = str(torch.__version__)
        if torch.cuda.is_available():
            found.update(cuda=str(torch.version.cuda), cudnn=str(torch.backends.cudnn.version()))
    found.update({peer.package: version for peer in peers if peer.package != "torch" and (version := peer.version())})
    return found


def method_on(device: str, peers: Sequence[Peer], options: argparse.Namespace) -> Method:
    from .arrays import arrays_for

    method = Method(arrays_for(device), peers, options.repeats, options.warmup, options.case_seconds)
    if device == "cuda":
        from . import gpu

        method.gpu = gpu.Device(flushed=options.l2 == "flushed")
        method.management = management()
        index = method.gpu.torch.cuda.current_device()
        method.variant = lambda case: plan_of(case, index)["variant"]
    return method


def able(cases: Sequence[Case], method: Method) -> list[Case]:
    """Those whose dtype the arrays can hold; the others are named, not judged."""
    found = [case for case in cases if case.dtype in method.arrays.dtypes]
    if len(found) < len(cases):
        print(f"without PyTorch {len(cases) - len(found)} cases of dtypes that NumPy has not are not measured")
    return found


def use_threads(count: int | None) -> None:
    """Before anything computes: flashfit reads its number once."""
    if count is not None:
        os.environ["FLASHFIT_NUM_THREADS"] = str(count)
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(count or len(os.sched_getaffinity(0)))


def line_of(entry: dict[str, Any]) -> str:
    """A case for people."""
    if not entry["correct"]:
        return f"{entry['name']}: WRONG: {entry['message']}"
    if "median_us" not in entry:
        return f"{entry['name']}: right"
    low, high = entry["interval_us"]
    parts = [f"{entry['name']}: {entry['median_us']:.4g} us [{low:.4g}, {high:.4g}]"]
    for name, peer in entry["peers"].items():
        if "ratio" in peer:
            low, high = peer["ratio_interval"]
            parts.append(f"{name} x{peer['ratio']:.3f} [{low:.3f}, {high:.3f}]")
        else:
            parts.append(f"{name}: {peer.get('message', 'not timed')}")
    return "\n    ".join(parts)


def run(cases: Sequence[Case], method: Method, result: ResultFile, minutes: float | None) -> bool:
    """Measures all of them into the result; False if it was ended early."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    progress = Progress(len(cases))
    try:
        first = next((case for case in cases if case.timed), None)
        if first is not None:
            progress.clear()
            result.content["method"]["noise"] = noise(first, method)
        if method.gpu is not None:
            method.ceilings = result.content["ceilings"] = method.gpu.ceilings()
        for case in cases:
            if end is not None and time.monotonic() > end:
                print(f"stopped after {minutes:g} minutes, {len(cases) - len(result.cases)} cases not measured")
                return False
            progress.step(case.name)
            result.cases.append(measured(case, method))
            if method.gpu is not None:
                method.gpu.torch.cuda.empty_cache()
            result.write()
            progress.clear()
            print(line_of(result.cases[-1]), flush=True)
    except KeyboardInterrupt:
        progress.clear()
        print(f"interrupted; {len(result.cases)} of {len(cases)} cases were measured", file=sys.stderr)
        return False
    except BrokenDeviceError as error:
        progress.clear()
        print(f"the GPU answers no more after {cases[len(result.cases)].name}: {error}", file=sys.stderr)
        return False
    return True


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def main(words: Sequence[str] | None = None) -> int:
    """0: every case is right; 1: one is wrong; 2: wrong use; 3: it cannot run; 130: ended early."""
    given = sys.argv[1:] if words is None else list(words)
    options = arguments(given)
    signal.signal(signal.SIGTERM, interrupt)  # timeout's way to end it keeps what has been measured, too
    try:
        device = options.device or ("cuda" if sees_gpu() else "cpu")
        if device == "cpu":
            use_threads(options.threads)
        peers, absent = chosen_peers(device, options.peers.split(",") if options.peers else ())
        cases = case_list.chosen(case_list.listed(), options.group, options.filter)
        method = method_on(device, peers, options)
        cases = able(cases, method)
        command = " ".join(["python -m flashfit.bench", *given])
        result = ResultFile(options.json, command, describe(device), versions(peers))
    except FlashfitError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 3
    how = {"warmup": options.warmup, "repeats": options.repeats, "l2": options.l2 if device == "cuda" else "warm"}
    result.content["method"].update(how, clock="events" if device == "cuda" else "host", noise=None)
    result.write()
    for name, why in absent.items():
        print(f"not beside {name}: {message_of(Exception(why))}")
    whole = run(cases, method, result, options.minutes)
    result.write(complete=whole)
    wrong = [entry["name"] for entry in result.cases if not entry["correct"]]
    print(
        f"{len(result.cases) - len(wrong)} of {len(result.cases)} cases right"
        + "".join(f"\n  wrong: {w}" for w in wrong)
    )
    return 130 if not whole else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
