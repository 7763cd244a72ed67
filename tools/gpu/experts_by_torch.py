"""Layers of experts in torch's own operations, in any dtype, and gradients held to them."""

from __future__ import annotations

from typing import Any

import flashfit
import torch

F = torch.nn.functional


def layer(
    tokens: int = 50,
    experts: int = 8,
    hidden: int = 64,
    between: int = 48,
    top_k: int = 2,
    dtype: str = "float32",
    device: str = "cpu",
) -> dict[str, Any]:
    """A call of unit-variance inputs."""
    generator = torch.Generator().manual_seed(tokens)

    def normal(*shape: int, scale: float = 1) -> Any:
        return (scale * torch.randn(*shape, generator=generator)).to(getattr(torch, dtype)).to(device)

    weights, ids = flashfit.moe_route(torch.randn(tokens, experts, generator=generator), top_k)
    return {
        "x": normal(tokens, hidden),
        "w13": normal(experts, 2 * between, hidden, scale=hidden**-0.5),
        "w2": normal(experts, hidden, between, scale=between**-0.5),
        "topk_weights": weights.to(device),
        "topk_ids": ids.to(device),
    }


def by_torch(
    x: Any,
    w13: Any,
    w2: Any,
    topk_weights: Any,
    topk_ids: Any,
    b13: Any = None,
    b2: Any = None,
    activation: str = "swiglu",
    gate_up: str = "concatenated",
    transposed: bool = False,
    weight_on: str = "output",
) -> Any:
    """The layer in torch's own operations, as Transformers' eager experts run it: expert by expert, each step in x's
    dtype, added up in fp32 or more."""
    out = torch.zeros(x.shape, dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)
    w13, w2 = (w13.mT, w2.mT) if transposed else (w13, w2)
    for e in range(len(w13)):
        token, rank = torch.where(topk_ids == e)
        weight = topk_weights[token, rank, None].to(x.dtype)
        z = (x[token] * weight if weight_on == "input" else x[token]) @ w13[e].T
        z = z if b13 is None else z + b13[e]
        g, u = (z[:, 0::2], z[:, 1::2]) if gate_up == "interleaved" else z.chunk(2, dim=-1)
        if activation in ("silu", "relu2"):
            h = F.silu(z) if activation == "silu" else F.relu(z).square()
        elif activation == "gpt_oss":
            g, u = g.clamp(max=7), u.clamp(-7, 7)
            h = (u + 1) * (g * torch.sigmoid(1.702 * g))
        elif activation == "swiglu":
            h = F.silu(g) * u
        else:
            h = F.gelu(g, approximate="tanh" if activation == "geglu_tanh" else "none") * u
        y = h @ w2[e].T
        y = y if b2 is None else y + b2[e]
        out = out.index_add(0, token, (y if weight_on == "input" else y * weight).to(out.dtype))
    return out.to(x.dtype)


#: What may be differentiated, and how a call takes it.
DIFFERENTIATED = ["x", "w13", "w2", "b13", "b2", "topk_weights"]


def in_double(call: dict[str, Any]) -> dict[str, Any]:
    """The call with its numbers in fp64."""
    return {name: x.double() if isinstance(x, torch.Tensor) and name != "topk_ids" else x for name, x in call.items()}


def differentiable(
    dtype: Any, activation: str, gate_up: str, transposed: bool, weight_on: str, **sizes: Any
) -> dict[str, Any]:
    """A call with biases, of layer()'s sizes; expert 5 has no tokens."""
    call = layer(**sizes)
    generator = torch.Generator().manual_seed(4)
    call["topk_ids"] = torch.where(call["topk_ids"] == 5, 2, call["topk_ids"])
    for name, weights in (("b13", call["w13"]), ("b2", call["w2"])):
        call[name] = torch.randn(*weights.shape[:2], generator=generator).to(weights.device)
    if activation in ("silu", "relu2"):
        half = call["w2"].shape[2]
        call["w13"], call["b13"] = call["w13"][:, :half].contiguous(), call["b13"][:, :half].contiguous()
    if transposed:
        call["w13"], call["w2"] = call["w13"].mT.contiguous(), call["w2"].mT.contiguous()
    call = {name: x if name == "topk_ids" else x.to(dtype) for name, x in call.items()}
    call["topk_weights"] = call["topk_weights"].to(torch.promote_types(dtype, torch.float32))
    return {**call, "activation": activation, "gate_up": gate_up, "transposed": transposed, "weight_on": weight_on}


def gradients_of(function: Any, call: dict[str, Any], dout: Any, names: list[str]) -> dict[str, Any]:
    given = {name: x.clone().requires_grad_() if name in names else x for name, x in call.items()}
    out = function(**given)
    found = torch.autograd.grad(out, [given[name] for name in names], dout.to(out.dtype))
    return dict(zip(names, found))


def gradient_errors(
    ours: dict[str, Any], theirs: dict[str, Any], exact: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    """Of each gradient the largest errors of ours and of theirs in units of the largest number."""
    found = {}
    for name, want in exact.items():
        assert ours[name].shape == want.shape
        size = want.abs().max()
        mine, its = (float((each[name].double() - want).abs().max() / size) for each in (ours, theirs))
        found[name] = mine, its
    return found


def expect_gradients(ours: dict[str, Any], theirs: dict[str, Any], exact: dict[str, Any]) -> None:
    """Each gradient's error is at most twice PyTorch's in the same dtype, both against fp64."""
    for name, (mine, its) in gradient_errors(ours, theirs, exact).items():
        assert mine <= 2 * its + 2.0**-24, f"{name}: {mine:.3g} against PyTorch's {its:.3g}"


def routed_by_torch(logits: Any, top_k: int, router: str, renormalize: bool, scale: float, ids: Any) -> Any:
    """Weights of the chosen experts in torch's own operations, in fp32 or fp64."""
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if router == "topk_softmax":
        return torch.softmax(x.gather(1, ids), dim=1) * scale
    scores = {"softmax": lambda: torch.softmax(x, dim=1), "sigmoid": lambda: torch.sigmoid(x)}
    of_all = scores.get(router, lambda: F.softplus(x).sqrt())()
    weights = of_all.gather(1, ids)
    return (weights / weights.sum(dim=1, keepdim=True) if renormalize else weights) * scale
