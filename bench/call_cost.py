"""What a call costs the host, beside PyTorch's own, in one run.

    PYTHONPATH=python python3 bench/call_cost.py --json call_cost.json

On the CPU through build/bench/libflashfit.so, which makes every check and does no work; on a GPU (--device cuda)
through the library itself, the kernels shorter than their calls. Rounds of many calls, the kinds of call interleaved;
medians with bootstrapped 95% intervals. "binding" is reading four tensors and calling a C function that only looks.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from flashfit.bench import stats  # noqa: E402

from bench.call_setting import NOWORK, is_there, what_ran  # noqa: E402


def calls_on(device: str) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    import flashfit
    import torch
    from flashfit._binding import binding, compiled_module
    from flashfit._packages.torch_tensors import module_connection

    sdpa = torch.nn.functional.scaled_dot_product_attention
    dtype = torch.float32 if device == "cpu" else torch.float16  # SDPA's CPU kernel takes fp32 best
    q, k, v = (torch.randn(1, 16, 1, 64, device=device).to(dtype) for _ in range(3))
    out = torch.empty_like(q)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    attention, empty_like = flashfit.attention, torch.empty_like
    attention(q, k, v)
    x, logits = (torch.randn(1, size, device=device).to(dtype) for size in (64, 8))  # a token, and its 8 experts
    w13, w2 = (torch.randn(8, size, 64, device=device).to(dtype) for size in (128, 64))
    calls: dict[str, Callable[[], Any]] = {
        "torch.empty_like": lambda: empty_like(q),
        "torch SDPA": lambda: sdpa(*heads_first),
        "flashfit.attention": lambda: attention(q, k, v),
        "flashfit.attention(out=)": lambda: attention(q, k, v, out=out),
        "flashfit.attention(return_lse=True)": lambda: attention(q, k, v, return_lse=True),
        "torch.ops.flashfit.attention": lambda: torch.ops.flashfit.attention(q, k, v),
        "flashfit.fused_moe": lambda: flashfit.fused_moe(x, w13, w2, router_logits=logits, top_k=2),
    }
    # A second copy of the module, whose C function is not the library's.
    path = getattr(binding().native, "__file__", None)
    alone = compiled_module(Path(path)) if path and NOWORK.is_file() else None
    if alone:
        nothing = ctypes.CDLL(str(NOWORK)).flashfit_nothing
        alone.connect(ctypes.cast(nothing, ctypes.c_void_p).value)
        alone.connect_torch(*module_connection())
        attend = alone.attend
        calls["binding"] = lambda: attend(q, k, v, out, None, None, None, 0, 0.0, None, None, False)
    return calls


def measure(device: str, rounds: int = 30, count: int = 200) -> dict[str, list[float]]:
    """Seconds a call, `rounds` samples of each kind; a GPU is idle when a round starts and waited for outside it."""
    import torch

    calls = calls_on(device)
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for i in range(rounds + 1):
        for name, call in calls.items():
            wait()
            start = time.perf_counter()
            for _ in range(count):
                call()
            if i:  # the first round warms up
                samples[name].append((time.perf_counter() - start) / count)
    wait()
    return samples


def show(samples: Mapping[str, list[float]]) -> None:
    """One line a kind, in microseconds, with its ratio to SDPA."""
    sdpa = samples["torch SDPA"]
    for name, seconds in samples.items():
        cost = stats.bootstrap([s * 1e6 for s in seconds])
        print(f"{name:38} {cost!s:28} us   {stats.ratio(seconds, sdpa)!s:24} of SDPA's")


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=500, help="calls a round")
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    options = parser.parse_args()
    if options.device == "cpu":
        if not is_there("call_cost"):
            return 2
        os.environ["FLASHFIT_LIBRARY"] = str(NOWORK)
    import torch

    torch.set_num_threads(1)
    samples = measure(options.device, options.rounds, options.calls)
    ran = what_ran(options.device)
    show(samples)
    if options.json:
        report = json.dumps({**ran, "seconds": samples}, indent=1)
        options.json.write_text(report + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
