"""Layers of experts of random sizes and options, each against the fp64 reference:
`python -m tools.gpu.random_experts [cuda|cpu] [COUNT]`, 1,000 of them on a GPU unless it says otherwise.

A problem is a function of its number alone, so that one that fails is found again. Tensors lie in memory that is NaN
around them; out is written between guards; a second call has to give the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from flashfit import reference  # noqa: E402

from tools.gpu.correctness import same_bits  # noqa: E402
from tools.gpu.tensors import guarded  # noqa: E402

UNITS = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24}
UNGATED = ("silu", "relu2")
GATED = ("swiglu", "gpt_oss", "geglu_tanh", "geglu_erf")
ROUTERS = ("softmax", "topk_softmax", "sigmoid", "sqrt_softplus")


@dataclass
class Problem:
    """A call of fused_moe, or of grouped_mlp where it has offsets, and what it is in words."""

    call: dict[str, Any]
    words: str

    @property
    def grouped(self) -> bool:
        return "offsets" in self.call


def _kind(draw: Random) -> Any:
    """An activation, of which every sixth or so has numbers of its own."""
    if draw.random() < 0.2:
        return flashfit.Swiglu(draw.uniform(0.5, 2), draw.choice((None, 0.5, 2.0)), draw.choice((0.0, 1.0, -0.5)))
    return draw.choice((*GATED, *UNGATED))


def problem(number: int, device: str) -> Problem:
    """Sizes are multiples of 8, as a GPU wants them; on the CPU half of the problems have any."""
    draw = Random(f"experts {number}")
    generator = torch.Generator().manual_seed(number)
    dtype = draw.choice((torch.bfloat16, torch.float16, *((torch.float32,) if device == "cpu" else ())))
    step = draw.choice((1, 8)) if device == "cpu" else 8
    hidden, between = (step * draw.randint(8 // step, 80 // step) for _ in range(2))
    count = draw.choice((1, 2, 3, 4, 8, 16, 40, 256))
    tokens = draw.choice((0, 1, 2, *(draw.randint(3, 20) for _ in range(4)), *(draw.randint(21, 70) for _ in range(4))))
    top_k = draw.randint(1, min(count, 6))
    activation, transposed = _kind(draw), draw.random() < 0.3
    gates = 1 if activation in UNGATED else 2

    def normal(*shape: int, scale: float = 1.0) -> Any:
        """Rows with a gap of 0 or 8 elements between them, all in NaN."""
        gap = draw.choice((0, 8))
        whole = guarded((*shape[:-1], shape[-1] + gap), dtype, device).view[..., : shape[-1]]
        return whole.copy_(scale * torch.randn(*shape, generator=generator))

    def weights(*of: int, inner: int, share: int) -> tuple[Any, Any]:
        """w13 and w2 of `of` experts."""
        first, second = (gates * inner, share), (share, inner)
        if transposed:
            first, second = first[::-1], second[::-1]
        return normal(*of, *first, scale=share**-0.5), normal(*of, *second, scale=inner**-0.5)

    owned = range(count)
    parts = draw.choice(("all", "all", "range", "map"))
    grouped = draw.random() < 0.15
    call: dict[str, Any] = {"x": normal(tokens, hidden), "activation": activation, "transposed": transposed}
    if gates == 2:
        call["gate_up"] = draw.choice(("concatenated", "interleaved"))
    if not grouped:
        call["weight_on"] = draw.choice(("output", "output", "input"))
        if parts == "range":
            low = draw.randrange(count)
            owned = range(low, draw.randint(low + 1, count))
            call["experts"] = (owned.start, owned.stop)
        elif parts == "map":
            owned = range(draw.randint(1, count))
            places = [*owned, *[-1] * (count - len(owned))]
            draw.shuffle(places)
            call["experts"] = torch.tensor(places, dtype=torch.int32, device=device)
    call["w13"], call["w2"] = weights(len(owned), inner=between, share=hidden)
    if draw.random() < 0.4:
        call["b13"], call["b2"] = normal(len(owned), gates * between), normal(len(owned), hidden)
    if grouped:
        ends = sorted(draw.choices(range(tokens + 1), k=count))
        call["offsets"] = torch.tensor([0, *ends], dtype=torch.int32, device=device)
        routing = "offsets"
    elif draw.random() < 0.5:
        routing = _by_logits(call, draw, generator, tokens, count, top_k, device)
    else:
        routing = _by_ids(call, draw, generator, tokens, count, top_k, device)
    shared = draw.choice((0, 0, 1, 2)) if not grouped else 0
    if shared:
        inner = step * draw.randint(1, 40 // step)
        call["shared"] = (*weights(inner=inner, share=hidden), *((normal(hidden),) if shared == 2 else ()))
    said = [f"{number}: {str(dtype)[6:]} T{tokens} E{count} K{top_k} H{hidden} I{between}", str(activation), routing]
    said += [parts] * (not grouped) + ["transposed"] * transposed + [call.get("gate_up", "no gate")]
    said += [f"weight on {call.get('weight_on')}"] * (not grouped) + ["biases"] * ("b13" in call)
    return Problem(
        call, ", ".join([*said, *(("", "shared", "shared with a gate")[shared : shared + 1] * bool(shared))])
    )


def _by_logits(
    call: dict[str, Any], draw: Random, generator: Any, tokens: int, count: int, top_k: int, device: str
) -> str:
    """Adds logits and a router of every kind."""
    kind = draw.choice((torch.float32, torch.bfloat16, torch.float16))
    call["router_logits"] = (2 * torch.randn(tokens, count, generator=generator)).to(kind).to(device)
    router = draw.choice(ROUTERS)
    call.update(top_k=top_k, router=router, renormalize=draw.random() < 0.5, scale=draw.choice((1.0, 2.5)))
    if router in ROUTERS[2:]:
        if draw.random() < 0.5:
            call["router_bias"] = torch.randn(count, generator=generator).to(device)
        parts = [n for n in (2, 4, 8) if count % n == 0 and top_k <= count // 2]
        if parts and draw.random() < 0.5:
            groups = draw.choice(parts)
            least = -(-top_k * groups // count)
            call["groups"] = (groups, draw.randint(least, groups))
    return f"{router}{' and bias' * ('router_bias' in call)}{' in groups' * ('groups' in call)}"


def _by_ids(
    call: dict[str, Any], draw: Random, generator: Any, tokens: int, count: int, top_k: int, device: str
) -> str:
    """Adds ids and weights: any, of one expert, of few, or, where experts are elsewhere, of none."""
    foreign = "experts" in call
    kind = draw.choice(("any", "one has all", "few", *(("some are none",) if foreign else ())))
    most = {"one has all": 1, "few": -(-count // 3)}.get(kind, count)
    ids = torch.randint(most, (tokens, top_k), generator=generator)
    ids = ids + draw.randint(0, count - most)
    if kind == "some are none":
        none = torch.rand(tokens, top_k, generator=generator)
        ids = torch.where(none < 0.2, -1, torch.where(none > 0.8, count, ids))
    call["topk_ids"] = ids.to(draw.choice((torch.int32, torch.int64))).to(device)
    weights = torch.randn(tokens, top_k, generator=generator)
    call["topk_weights"] = weights.to(draw.choice((torch.float32, torch.bfloat16))).to(device)
    return f"ids, {kind}"


def _array(x: Any) -> Any:
    """A tensor as NumPy has it; bf16 as fp32."""
    if isinstance(x, tuple) and not isinstance(x, flashfit.Swiglu):
        return tuple(map(_array, x))
    if not isinstance(x, torch.Tensor):
        return x
    return (x.float() if x.is_floating_point() else x).cpu().numpy()


def _plain(given: Problem) -> tuple[dict[str, Any], str]:
    """The call as the reference takes it, by ids and weights; and what is wrong with flashfit's own choice."""
    call = {name: _array(x) for name, x in given.call.items()}
    tokens, wrong = len(call["x"]), ""
    offsets = call.pop("offsets", None)
    if offsets is not None:
        at = np.arange(tokens)
        ids = np.where(at < offsets[-1], np.searchsorted(offsets, at, side="right") - 1, -1)[:, None]
        call.update(topk_ids=ids, topk_weights=np.ones(ids.shape), experts=(0, len(call["w13"])))
    options = {name: call.pop(name) for name in ("router", "renormalize", "router_bias", "groups", "scale")
               if name in call}  # fmt: skip
    if options:
        top_k, logits = call.pop("top_k"), call.pop("router_logits")
        call["topk_weights"], call["topk_ids"] = reference.route(logits, top_k, **options)
        mine = {name: given.call[name] for name in options}
        found = _array(flashfit.moe_route(given.call["router_logits"], top_k, **mine)[1])
        wrong = "" if np.array_equal(found, call["topk_ids"]) else "other experts are chosen"
    if isinstance(call.get("experts"), np.ndarray):
        places = np.append(call["experts"], -1)  # of -1 and of what is past the end
        ids = call["topk_ids"]
        call["topk_ids"] = places[np.where((ids < 0) | (ids >= len(places) - 1), -1, ids)]
        call["experts"] = (0, len(call["w13"]))
    return call, wrong


def defect_of(given: Problem, device: str) -> str:
    """What is wrong with a problem's result, or "". A token's error, in units of its largest number, is at most twice
    that of the same computation in steps of the dtype, and one rounding; on a GPU a shared expert is a call of its own,
    which is rounded before it is added."""
    x = given.call["x"]
    function = flashfit.grouped_mlp if given.grouped else flashfit.fused_moe
    out = guarded(tuple(x.shape), x.dtype, device)
    function(**given.call, out=out.view)
    again = function(**given.call)
    if not out.untouched_outside():
        return "wrote outside out"
    if not same_bits(out.view, again):
        return "a repeat differs"
    if not x.shape[0]:
        return ""
    call, wrong = _plain(given)
    if wrong:
        return wrong

    def rounded(y: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(y)).to(x.dtype).float().numpy()

    want = reference.fused_moe(**call)
    fair = reference.fused_moe(**call, work=np.float32, rounded=rounded)
    size = np.abs(want).max(axis=1, keepdims=True) + 1e-30
    error, its = (float((np.abs(_array(y).astype(np.float64) - want) / size).max()) for y in (out.view, fair))
    units = 3 if "shared" in call and device != "cpu" else 1
    bound = 2 * its + units * UNITS[x.dtype] + 4 * UNITS[torch.float32]
    return "" if error <= bound else f"error {error:.3g} of a token's size, allowed {bound:.3g}"


def defects(device: str, numbers: range) -> Iterator[tuple[str, str]]:
    """(the problem in words, what is wrong with it or "") of each number."""
    for number in numbers:
        given = problem(number, device)
        try:
            wrong = defect_of(given, device)
        except flashfit.FlashfitError as refused:
            wrong = f"refused: {refused}"
        yield given.words, wrong


def main() -> int:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    wrong = [(words, what) for words, what in defects(device, range(count)) if what]
    for words, what in wrong:
        print(f"FAILED: {words}: {what}")
    print(f"{count - len(wrong)} of {count} problems are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
