"""flashfit.fused_moe and grouped_mlp on a GPU: near the CPU's in fp32, and captured with choices that change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flashfit
import torch

from tools.gpu.correctness import same_bits

TOKENS, EXPERTS, HIDDEN, BETWEEN, TOP_K = 300, 8, 256, 192, 2
#: Of the largest number of a result: h and y are rounded to the dtype between products.
NEAR = {torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}


def _layer(dtype: Any, device: str, seed: int = 0, tokens: int = TOKENS, hidden: int = HIDDEN) -> dict[str, Any]:
    """Tensors of unit variance; weights such that products have it, too."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float = 1.0) -> Any:
        return (scale * torch.randn(*shape, generator=generator)).to(dtype).to(device)

    return {
        "x": normal(tokens, hidden),
        "w13": normal(EXPERTS, 2 * BETWEEN, hidden, scale=hidden**-0.5),
        "w2": normal(EXPERTS, hidden, BETWEEN, scale=BETWEEN**-0.5),
        "logits": normal(tokens, EXPERTS),
        "b13": normal(EXPERTS, 2 * BETWEEN),
        "b2": normal(EXPERTS, hidden),
        "gate": normal(hidden, scale=hidden**-0.5),
    }


def _calls(made: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, function, arguments) of every way in which a layer is called."""
    x, w13, w2 = made["x"], made["w13"], made["w2"]
    plain = {"x": x, "w13": w13, "w2": w2}
    routed = {**plain, "router_logits": made["logits"], "top_k": TOP_K}
    bias = torch.linspace(-0.3, 0.3, EXPERTS, device=x.device)
    ids = made["logits"].float().topk(TOP_K, dim=1).indices
    weights = torch.full(ids.shape, 0.5, device=x.device)
    foreign = torch.where(ids == 3, -1, ids)
    offsets = torch.tensor([0, 90, 90, 91, 200, 201, 250, 250, TOKENS - 7], dtype=torch.int32, device=x.device)
    yield "softmax", flashfit.fused_moe, routed
    yield "softmax over all, scaled", flashfit.fused_moe, {**routed, "renormalize": False, "scale": 2.5}
    deepseek = {"router": "sigmoid", "router_bias": bias, "groups": (4, 2), "scale": 2.5}
    yield "sigmoid, bias, groups", flashfit.fused_moe, {**routed, **deepseek}
    oss = {"activation": "gpt_oss", "gate_up": "interleaved", "transposed": True, "router": "topk_softmax"}
    turned = {"w13": w13.mT.contiguous(), "w2": w2.mT.contiguous(), "b13": made["b13"], "b2": made["b2"]}
    yield "GPT-OSS", flashfit.fused_moe, {**routed, **turned, **oss}
    for activation in ("geglu_tanh", "geglu_erf"):
        yield activation, flashfit.fused_moe, {**routed, "activation": activation}
    for activation in ("silu", "relu2"):
        yield activation, flashfit.fused_moe, {**routed, "w13": w13[:, :BETWEEN], "activation": activation}
    chosen = {**plain, "topk_ids": ids, "topk_weights": weights}
    yield "ids", flashfit.fused_moe, chosen
    yield "weight on the input", flashfit.fused_moe, {**chosen, "weight_on": "input"}
    yield "a part", flashfit.fused_moe, {**chosen, "w13": w13[2:6], "w2": w2[2:6], "experts": (2, 6)}
    places = torch.arange(EXPERTS - 1, -1, -1, dtype=torch.int32, device=x.device)
    yield "a map, ids that are none", flashfit.fused_moe, {**chosen, "topk_ids": foreign, "experts": places}
    yield "shared", flashfit.fused_moe, {**chosen, "shared": (w13[0], w2[0])}
    yield "shared with a gate", flashfit.fused_moe, {**chosen, "shared": (w13[0], w2[0], made["gate"])}
    yield "one expert has all", flashfit.fused_moe, {**chosen, "topk_ids": torch.full_like(ids, 5)}
    yield "no tokens", flashfit.fused_moe, {**chosen, **{key: chosen[key][:0] for key in ("x", "topk_ids")},
                                            "topk_weights": weights[:0]}  # fmt: skip
    yield "groups", flashfit.grouped_mlp, {**plain, "offsets": offsets}


def _exact(x: Any) -> Any:
    """The same on the CPU, in fp32."""
    if isinstance(x, tuple) and not isinstance(x, flashfit.Swiglu):
        return tuple(map(_exact, x))
    if not isinstance(x, torch.Tensor):
        return x
    return x.cpu().float() if x.is_floating_point() else x.cpu()


def near(device: str = "cuda") -> Iterator[tuple[str, bool]]:
    """Each call beside the CPU's in fp32, twice with the same bits."""
    for dtype in NEAR:
        for name, function, call in _calls(_layer(dtype, device)):
            found, again = function(**call), function(**call)
            # Logits stay as they are: their order has to.
            exact = function(**{key: x.cpu() if key == "router_logits" else _exact(x) for key, x in call.items()})
            error = (found.cpu().float() - exact).abs().max() if exact.numel() else torch.zeros(())
            largest = exact.abs().max() if exact.numel() else torch.ones(())
            passed = found.dtype == dtype and same_bits(found, again) and bool(error <= NEAR[dtype] * largest)
            yield f"{str(dtype).split('.')[-1]}, {name}", passed


def captured() -> Iterator[tuple[str, bool]]:
    """A graph is replayed with other tokens, and so with other counts of each expert: of few rows, and of so many that
    on Hopper the second product adds up sums. The first tokens' results are those of a call of their own."""
    yield "captured and replayed with other choices", _replayed(TOKENS, HIDDEN, TOKENS)
    yield "captured and replayed with other choices of many tokens", _replayed(32768, 2048, 4096)


def _replayed(tokens: int, hidden: int, first: int) -> bool:
    made = _layer(torch.bfloat16, "cuda", 0, tokens, hidden)
    call = {"x": made["x"], "w13": made["w13"], "w2": made["w2"], "router_logits": made["logits"], "top_k": TOP_K}
    out = torch.empty_like(made["x"])
    flashfit.fused_moe(**call, out=out)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        flashfit.fused_moe(**call, out=out)
    passed = True
    for seed in (1, 2):
        other = _layer(torch.bfloat16, "cuda", seed, tokens, hidden)
        made["x"].copy_(other["x"])
        made["logits"].copy_(other["logits"])
        if seed == 2:
            made["logits"][:, 3] = 50.0  # one expert has every token
        out.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        part = {**call, "x": made["x"][:first], "router_logits": made["logits"][:first]}
        passed = passed and same_bits(out, flashfit.fused_moe(**call))
        passed = passed and same_bits(out[:first], flashfit.fused_moe(**part))
    return passed
