"""What a call costs the host through flashfit.integrations, beside the same call of the host without flashfit.

    PYTHONPATH=python python3 bench/host_cost.py --json host_cost.json

On the CPU through build/bench/libflashfit.so, which makes every check and does no work; on a GPU (--device cuda)
through the library itself, the kernels shorter than their calls. One processor, the smallest tensors, each kind of call
in short stretches, with the host installed and without in turn; of all stretches the twentieth part that was fastest,
since other work on the machine only adds. "left": calls that flashfit leaves to the host. "step": forward and
backward, on a GPU alone: a library that does no work leaves a backward nothing to read. Hosts that are not installed,
or that have no attention of their own on the device, are left out.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from bench.call_setting import NOWORK, is_there, what_ran  # noqa: E402

#: What is timed, by name.
Calls = dict[str, Callable[[], Any]]


class Tensors:
    """Smallest tensors, heads before rows."""

    def __init__(self, device: str) -> None:
        import torch

        dtype = torch.float32 if device == "cpu" else torch.float16  # PyTorch's CPU kernel takes fp32 best
        self.q, self.k, self.v = (torch.randn(1, 16, 1, 64, device=device).to(dtype) for _ in range(3))
        self.exotic = tuple(x.double() for x in (self.q, self.k, self.v))
        self.hiding = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)
        self.added = torch.zeros(1, 1, 1, 1, dtype=dtype, device=device)
        self.learnt = self.q.clone().requires_grad_()
        self.grad = torch.ones_like(self.q)

    @property
    def plain(self) -> tuple[Any, Any, Any]:
        return self.q, self.k, self.v

    @property
    def wanting(self) -> tuple[Any, Any, Any]:
        """q needs a gradient."""
        return self.learnt, self.k, self.v

    def rows_first(self, tensors: tuple[Any, ...]) -> list[Any]:
        return [x.transpose(1, 2) for x in tensors]

    def step(self, forward: Callable[..., Any]) -> None:
        """A forward and its backward."""
        import torch

        out = forward(*self.wanting)
        torch.autograd.grad(out, self.learnt, self.grad.view(out.shape))


def of_sdpa(t: Tensors) -> Calls:
    import torch

    sdpa = torch.nn.functional.scaled_dot_product_attention
    return {
        "plain": lambda: sdpa(*t.plain),
        "causal": lambda: sdpa(*t.plain, is_causal=True),
        "bool mask": lambda: sdpa(*t.plain, attn_mask=t.hiding),
        "additive mask": lambda: sdpa(*t.plain, attn_mask=t.added),
        "with gradients": lambda: sdpa(*t.wanting),
        "step": lambda: t.step(sdpa),
        "left, fp64": lambda: sdpa(*t.exotic),
        "left, dropout": lambda: sdpa(*t.plain, dropout_p=0.1),
        "left, dropout, with gradients": lambda: sdpa(*t.wanting, dropout_p=0.1),
        "left, heads that broadcast": partial(sdpa, t.q, t.k[:, :1], t.v[:, :1]),
    }


def of_transformers(t: Tensors) -> Calls:
    import torch
    from transformers import AttentionInterface

    module = torch.nn.Module()
    module.is_causal = True
    interface: Any = AttentionInterface()

    def attend(*tensors: Any, mask: Any = None, dropout: float = 0.0) -> Any:
        name = "fit_attention" if "fit_attention" in interface else "sdpa"
        return interface[name](module, *tensors, mask, dropout=dropout, scaling=0.125, is_causal=None)[0]

    return {
        "plain": lambda: attend(*t.plain),
        "bool mask": lambda: attend(*t.plain, mask=t.hiding),
        "with gradients": lambda: attend(*t.wanting),
        "step": lambda: t.step(attend),
        "left, dropout": lambda: attend(*t.plain, dropout=0.1),
    }


def of_diffusers(t: Tensors) -> Calls:
    from diffusers.models.attention_dispatch import dispatch_attention_fn as attend

    plain, wanting, exotic = (t.rows_first(x) for x in (t.plain, t.wanting, t.exotic))
    return {
        "plain": lambda: attend(*plain),
        "bool mask": lambda: attend(*plain, attn_mask=t.hiding),
        "with gradients": lambda: attend(*wanting),
        "left, fp64": lambda: attend(*exotic),
        "left, dropout": lambda: attend(*plain, dropout_p=0.1),
    }


def of_xformers(t: Tensors) -> Calls:
    from xformers.ops import memory_efficient_attention as attend

    plain, wanting = (t.rows_first(x) for x in (t.plain, t.wanting))
    return {"plain": lambda: attend(*plain), "with gradients": lambda: attend(*wanting)}


def of_sageattention(t: Tensors) -> Calls:
    """The package's function, or where there is none PyTorch's."""
    import torch

    def attend(*tensors: Any, **options: Any) -> Any:
        package = sys.modules.get("sageattention")
        function: Any = package.sageattn if package else torch.nn.functional.scaled_dot_product_attention
        return function(*tensors, **options)

    return {"plain": lambda: attend(*t.plain), "causal": lambda: attend(*t.plain, is_causal=True)}


#: Hosts by the name of their module in flashfit.integrations.
HOSTS: dict[str, Callable[[Tensors], Calls]] = {
    "sdpa": of_sdpa,
    "transformers": of_transformers,
    "diffusers": of_diffusers,
    "xformers": of_xformers,
    "sageattention": of_sageattention,
}


def of_flash_attn(t: Tensors) -> tuple[Calls, Calls]:
    """PyTorch's function, and flashfit's of FlashAttention-2's name, which the stand-in offers: it wants rows first."""
    import torch
    from flashfit.flash_attn import flash_attn_func

    sdpa = torch.nn.functional.scaled_dot_product_attention
    plain, wanting = (t.rows_first(x) for x in (t.plain, t.wanting))
    return (
        {"plain": lambda: sdpa(*t.plain), "with gradients": lambda: sdpa(*t.wanting), "step": lambda: t.step(sdpa)},
        {
            "plain": lambda: flash_attn_func(*plain),
            "with gradients": lambda: flash_attn_func(*wanting),
            "step": lambda: t.step(lambda *_: flash_attn_func(*wanting)),
        },
    )


def timed(call: Callable[[], Any], stretches: int, calls: int) -> list[float]:
    """Seconds a call, of each stretch."""
    found = []
    for _ in range(stretches):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls)
    return found


def fast(seconds: list[float]) -> float:
    """Microseconds: of the stretches, sorted, the one that ends the first twentieth."""
    return round(sorted(seconds)[len(seconds) // 20] * 1e6, 2)


class Costs:
    """What was measured of one host."""

    def __init__(self) -> None:
        self.alone: dict[str, list[float]] = {}
        self.installed: dict[str, list[float]] = {}

    def add(self, into: dict[str, list[float]], calls: Calls, stretches: int, wait: Callable[[], None]) -> None:
        """Times each of the calls; those that the host refuses have no time."""
        for name, call in calls.items():
            try:
                for _ in range(20):
                    call()
            except NotImplementedError:  # xformers without an operator for the device
                continue
            wait()
            into.setdefault(name, []).extend(timed(call, stretches, 40))
            wait()

    def table(self) -> dict[str, dict[str, float | None]]:
        """{call: {"host": us, "flashfit": us}}"""
        return {
            name: {"host": fast(self.alone[name]) if name in self.alone else None, "flashfit": fast(seconds)}
            for name, seconds in self.installed.items()
        }


def measure(
    device: str, rounds: int, hosts: list[str], stretches: int = 40
) -> dict[str, dict[str, dict[str, float | None]]]:
    """By host and call."""
    import torch

    t = Tensors(device)

    def of_device(calls: Calls) -> Calls:
        return {name: call for name, call in calls.items() if device != "cpu" or name != "step"}

    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    found = {}
    for name, calls_of in HOSTS.items():
        if name not in hosts:
            continue
        if name not in ("sdpa", "sageattention") and importlib.util.find_spec(name) is None:
            continue
        module: Any = importlib.import_module(f"flashfit.integrations.{name}")
        calls, costs = of_device(calls_of(t)), Costs()
        for _ in range(rounds):
            costs.add(costs.alone, calls, stretches, wait)
            with module.installed():
                costs.add(costs.installed, calls, stretches, wait)
        found[name] = costs.table()
    if "flash_attn" not in hosts:
        return found
    (of_torch, ours), costs = map(of_device, of_flash_attn(t)), Costs()
    for _ in range(rounds):
        costs.add(costs.alone, of_torch, stretches, wait)
        costs.add(costs.installed, ours, stretches, wait)
    return {**found, "flash_attn": costs.table()}


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=10)
    names = [*HOSTS, "flash_attn"]
    parser.add_argument("--hosts", nargs="+", choices=names, default=names, help="these alone")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    if options.device == "cpu":
        if not is_there("host_cost"):
            return 2
        os.environ.setdefault("FLASHFIT_LIBRARY", str(NOWORK))
    import torch

    torch.set_num_threads(1)
    found = measure(options.device, options.rounds, options.hosts)
    ran = what_ran(options.device)
    for host, calls in found.items():
        for name, us in calls.items():
            alone, ours = us["host"], us["flashfit"]
            beside = f"{alone:8.2f} us alone, {ours / alone:5.2f}" if alone and ours else ""
            print(f"{host:14} {name:32} {ours:8.2f} us  {beside}")
    if options.json:
        report = json.dumps({**ran, "microseconds": found}, indent=1)
        options.json.write_text(report + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
