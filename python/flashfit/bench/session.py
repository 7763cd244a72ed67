"""One run of cases into a result file: what takes part, what is printed, what ends it."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any, TypeVar

from .arrays import arrays_for
from .cases import AnyCase
from .machine import throttled
from .measure import measured, noise
from .parts import MISFIT, NO_MEMORY, BrokenDeviceError, Method
from .peers import Peer
from .progress import Progress
from .results import ResultFile
from .stats import digits


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


def method_on(device: str, peers: Sequence[Peer], flushed: bool = False, **how: Any) -> Method:
    """How cases are measured there; `how` are fields of Method."""
    method = Method(arrays_for(device), peers, **how)
    if device == "cuda":
        from . import gpu

        method.gpu = gpu.Device(flushed)
        method.throttled = throttled
        index = method.gpu.torch.cuda.current_device()
        method.variant = lambda case: method.operation.plan(case, index)["variant"]
    return method


C = TypeVar("C", bound=AnyCase)


def able(cases: Sequence[C], method: Method) -> list[C]:
    """Those whose dtype the arrays can hold, and that the device does not refuse; the others are named, not judged."""
    found = [case for case in cases if case.dtype in method.arrays.dtypes]
    if len(found) < len(cases):
        print(f"without PyTorch {len(cases) - len(found)} cases of dtypes that NumPy has not are not measured")
    if method.arrays.device != "cpu":
        return found
    whole = [case for case in found if not getattr(case, "spare_rows", 0)]
    if len(whole) < len(found):
        print(f"{len(found) - len(whole)} cases of rows after the last sequence, which a CPU refuses, are not measured")
    return whole


def use_threads(count: int | None) -> None:
    """Before anything computes: flashfit reads its number once."""
    if count is not None:
        os.environ["FLASHFIT_NUM_THREADS"] = str(count)
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(count or len(os.sched_getaffinity(0)))


def word_of(entry: dict[str, Any]) -> str:
    """Why a case is not right: of one that nothing computed nobody knows that it is wrong."""
    found = next((word for word in (MISFIT, NO_MEMORY) if entry["message"].startswith(word)), "wrong: ")
    return found.removesuffix(": ")


def line_of(entry: dict[str, Any]) -> str:
    """A case for people."""
    if not entry["correct"]:
        said = f"WRONG: {entry['message']}" if word_of(entry) == "wrong" else entry["message"]
        return "\n    ".join([f"{entry['name']}: {said}", *beside(entry)])
    if "median_us" not in entry:
        return f"{entry['name']}: right"
    low, high = entry["interval_us"]
    first = f"{entry['name']}: {digits(entry['median_us'])} us [{digits(low)}, {digits(high)}]"
    return "\n    ".join([first, *beside(entry)])


def beside(entry: dict[str, Any]) -> list[str]:
    """A line for each peer: its time over flashfit's, or its time where flashfit has none."""
    lines = []
    for name, peer in entry.get("peers", {}).items():
        if "ratio" in peer:
            low, high = peer["ratio_interval"]
            lines.append(f"{name} x{peer['ratio']:.3f} [{low:.3f}, {high:.3f}]")
        elif "median_us" in peer and not entry["correct"]:
            lines.append(f"{name}: {digits(peer['median_us'])} us")
        else:
            lines.append(f"{name}: {peer.get('message', 'not timed')}")
    return lines


def described(method: Method) -> dict[str, Any]:
    """`method` of a result file, but for the noise."""
    on_gpu = method.gpu is not None
    return {
        "warmup": method.warmup,
        "repeats": method.repeats,
        "l2": "flushed" if on_gpu and method.gpu.flushes else "warm",
        "clock": "events" if on_gpu else "host",
        "noise": None,
    }


def run(cases: Sequence[AnyCase], method: Method, result: ResultFile, minutes: float | None) -> bool:
    """Measures all of them into the result; False if it was ended early."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    result.content["method"] = described(method)
    result.write()
    progress = Progress(len(cases))
    try:
        first = next((case for case in cases if case.timed), None)
        if first is not None:
            result.content["method"]["noise"] = noise(first, method)
        if method.gpu is not None:
            method.ceilings = result.content["ceilings"] = method.gpu.ceilings()
        for case in cases:
            if end is not None and time.monotonic() > end:
                print(f"stopped after {minutes:g} minutes, {len(cases) - len(result.cases)} cases not measured")
                return False
            progress.step(case.name)
            result.cases.append(measured(case, method))
            if method.profile is not None and result.cases[-1]["correct"]:
                result.cases[-1]["profile"] = method.profile(case)
            if method.gpu is not None:
                method.gpu.torch.cuda.empty_cache()
            method.make_room()
            result.write()
            progress.clear()
            print(line_of(result.cases[-1]), flush=True)
    except KeyboardInterrupt:
        progress.clear()
        print(f"interrupted; {len(result.cases)} of {len(cases)} cases were measured", file=sys.stderr)
        return False
    except BrokenDeviceError as error:
        progress.clear()
        print(f"the GPU answers no more in {cases[len(result.cases)].name}; last ran {error}", file=sys.stderr)
        return False
    return True


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
