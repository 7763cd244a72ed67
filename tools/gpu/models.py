"""Whole layers of models, tokens and steps a second: flashfit under them beside what they run without it.

    python -m tools.gpu.models FILE [--only NAME] [--seconds N] [--tiny --device cpu]

Stacks shaped as Llama 3 8B, Qwen3-30B-A3B and Flux (stacks.py, diffusion_stack.py), bf16, random weights, flashfit as
integrations.sdpa has it, beside PyTorch's own choice, its flash attention, cuDNN's, and FlashAttention-2 and -3 where
they are installed. Each step is timed as a program has it, by the clock, and where it can be captured, as replays of a
CUDA graph; rounds interleave all sides. First comes each side's error against fp32. FILE is written after each part:
{"machine", "parts": {part: {"unit", "a_step", "eager" and "captured": {side: {"us", "per_second", "of_default"}},
"left_out": {side: why}, "log"}}}; "us" and ratios are [median, low, high] with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import torch  # noqa: E402

from tools.gpu import diffusion_stack, hosted, stacks  # noqa: E402
from tools.gpu.model_job import Job, shown, timed  # noqa: E402
from tools.gpu.sides import DEFAULT, Side, there  # noqa: E402


def random_of(device: str, *sizes: int, seed: int = 1) -> Any:
    return torch.randn(*sizes, generator=torch.Generator(device).manual_seed(seed), device=device).bfloat16()


def stack_of(job: Job, kind: Any, sizes: Any) -> tuple[Any, stacks.Compute]:
    compute = stacks.Compute()
    with torch.device("meta"):
        stack = kind(sizes, compute)
    return stacks.made(stack, job.device, torch.bfloat16), compute


def chooser(compute: stacks.Compute, run: Callable[[], Any]) -> Callable[[Side], Callable[[], Any]]:
    """Steps of one stack by each side: who computes is chosen right before."""

    def steps(side: Side) -> Callable[[], Any]:
        def step() -> Any:
            compute.attention, compute.experts = side.attention, side.experts
            return run()

        return step

    return steps


def without_gradients(run: Callable[..., Any], *given: Any) -> Any:
    with torch.no_grad():
        return run(*given)


def trained(stack: Any, x: Any) -> None:
    stack.zero_grad(set_to_none=True)
    stack(x).float().square().mean().backward()


def small(sizes: Any) -> Any:
    """Of the same kind, for a test on a CPU."""
    if isinstance(sizes, diffusion_stack.Diffusion):
        return diffusion_stack.Diffusion(2, 16, double=1, single=1, text=8)
    few = {"experts": 8, "top_k": 2} if sizes.experts else {}
    return replace(sizes, hidden=64, heads=4, heads_kv=2, head_dim=16, between=96, layers=2, **few)


def errors(job: Job, sides: list[Side], kind: Any, sizes: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """Root mean square of what each side's bf16 result errs against the same weights' fp32, over that result's own."""
    stack, compute = stack_of(job, kind, sizes)
    found, left_out = {}, {}
    for side in sides:
        try:
            with side.within():
                compute.attention, compute.experts = side.attention, side.experts
                found[side.name] = without_gradients(stack, *inputs).float()
        except Exception as error:  # noqa: PERF203 - the other sides are worth having
            if side.name == DEFAULT:
                raise
            left_out[side.name] = shown(error)
    compute.attention, compute.experts = stacks.by_pytorch, stacks.by_a_loop
    exact = without_gradients(stack.float(), *(x.float() for x in inputs))
    size = exact.square().mean().sqrt()
    of = {name: float((x - exact).square().mean().sqrt() / size) for name, x in found.items()}
    worse = [name for name, error in of.items() if name.startswith("flashfit") and not error <= 2 * of[DEFAULT]]
    return {"errors": of, "worse_than_twice_the_default": worse, "left_out": left_out}


def run_decoder(job: Job, name: str, sizes: stacks.Decoder, sides: list[Side]) -> None:
    rows, batch, used = (24, 2, 40) if job.tiny else (8192, 8, 8192)
    sizes = small(sizes) if job.tiny else sizes
    x = random_of(job.device, 1, rows, sizes.hidden)
    short = x[:, : rows // 8]
    kind = stacks.DecoderStack
    job.part(f"{name}: errors", lambda: errors(job, sides, kind, sizes, (short,)))

    def prefill(batch: int) -> dict[str, Any]:
        stack, compute = stack_of(job, kind, sizes)
        given = x.view(batch, rows // batch, sizes.hidden)
        steps = chooser(compute, partial(without_gradients, stack, given))
        return timed(job, sides, steps, "tokens/s", rows, capture=True)

    def decode(batch: int) -> dict[str, Any]:
        stack, compute = stack_of(job, kind, sizes)
        cache = stack.cache(batch, used)
        steps = chooser(
            compute, partial(without_gradients, stack, random_of(job.device, batch, 1, sizes.hidden), cache)
        )
        return timed(job, sides, steps, "tokens/s", batch, capture=True)

    def train() -> dict[str, Any]:
        stack, compute = stack_of(job, kind, sizes)
        steps = chooser(compute, partial(trained, stack, x.view(2, rows // 2, sizes.hidden)))
        return timed(job, sides, steps, "tokens/s", rows, capture=False)

    job.part(f"{name}: prefill, 1 x {rows}", lambda: prefill(1))
    job.part(f"{name}: prefill, 4 x {rows // 4}", lambda: prefill(4))
    job.part(f"{name}: decode, {batch} x {used}", lambda: decode(batch))
    job.part(f"{name}: decode, 1 x {used}", lambda: decode(1))
    if not sizes.experts:
        job.part(f"{name}: training, 2 x {rows // 2}", train)


def run_diffusion(job: Job, name: str, sizes: diffusion_stack.Diffusion, sides: list[Side]) -> None:
    rows = 24 if job.tiny else 4096  # 1024 x 1024 pixels
    sizes = small(sizes) if job.tiny else sizes
    image, text = (random_of(job.device, 1, count, sizes.hidden) for count in (rows, sizes.text))
    inputs = image, text, random_of(job.device, 1, sizes.hidden)
    kind = diffusion_stack.DiffusionStack

    def step(compiled: bool) -> dict[str, Any]:
        stack, compute = stack_of(job, kind, sizes)

        if not compiled:
            steps = chooser(compute, partial(without_gradients, stack, *inputs))
            return timed(job, sides, steps, "steps/s", 1, capture=True)

        def compiling(side: Side) -> Callable[[], Any]:
            torch._dynamo.reset()
            compute.attention, compute.experts = side.attention, side.experts
            return partial(without_gradients, torch.compile(stack), *inputs)

        both = [side for side in sides if side.name in (DEFAULT, "flashfit")]
        found = timed(job, both, compiling, "steps/s", 1, capture=True)
        return {**found, "eager": {}}  # installing makes compiled code anew: only graphs can be interleaved

    job.part(f"{name}: errors", lambda: errors(job, sides, kind, sizes, inputs))
    job.part(f"{name}: a step of {rows} + {sizes.text} tokens", lambda: step(False))
    if job.device == "cuda":
        job.part(f"{name}: compiled", lambda: step(True), 180)


def run_host(job: Job, sides: list[Side]) -> None:
    """What a call costs the host: many small ones, queued one after another."""

    def calls(q: Any, k: Any, causal: bool) -> dict[str, Any]:
        def steps(side: Side) -> Callable[[], Any]:
            def step() -> None:
                with torch.no_grad():
                    for _ in range(100):
                        side.attention(q, k, k, causal)

            return step

        found = timed(job, [side for side in sides if not side.of_experts], steps, "us", 100, capture=False)
        for each in found["eager"].values():
            each["us"] = [us / 100 for us in each["us"]]
        return found

    for name, rows, keys in (("decode", 1, 64), ("prefill", 64, 64)):
        q, k = (random_of(job.device, 1, 8, count, 64) for count in (rows, keys))
        job.part(f"host: one call, {name}", lambda q=q, k=k, causal=rows > 1: calls(q, k, causal))  # type: ignore[misc]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where the JSON goes")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes of a test")
    parser.add_argument("--only", default="", metavar="NAME", help="parts whose name has this in it")
    parser.add_argument("--seconds", type=float, default=540, help="of the whole run; %(default)s")
    job = Job(parser.parse_args(words))
    sides = there(job.device)
    dense = [side for side in sides if not side.of_experts]
    run_host(job, sides)
    run_diffusion(job, "Flux", diffusion_stack.FLUX, dense)
    run_decoder(job, "Llama 8B", stacks.LLAMA, dense)
    run_decoder(job, "Qwen3-MoE", stacks.QWEN_MOE, sides)
    hosted.run(job)
    failed = [name for name, part in job.found["parts"].items() if "failed" in part]
    failed += [name for name, part in job.found["parts"].items() if part.get("worse_than_twice_the_default")]
    print(f"\n{len(job.found['parts'])} parts, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
