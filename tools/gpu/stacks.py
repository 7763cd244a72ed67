"""A few layers of models that people run, with random weights, in plain PyTorch: shaped as Llama 3 8B and as
Qwen3-30B-A3B; diffusion_stack.py has Flux. Who computes attention and experts is a `Compute`, which a stack asks at
every call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional


def by_pytorch(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention as a model of a library calls it: q [batch, heads, rows, head_dim], k and v [batch, heads_kv, keys,
    head_dim]. What computes it is what sdpa_kernel() or an integration chose."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def by_grouped_products(x: Any, layer: Experts, weights: Any, ids: Any) -> Any:
    """Transformers' default: tokens in the order of their experts, PyTorch's grouped product, and back."""
    count, top_k = ids.shape
    experts = ids.flatten()
    order = experts.argsort()
    on_gpu = x.is_cuda  # histc of a GPU takes integers, that of the CPU floats
    numbers = experts.int() if on_gpu else experts.float()
    ends = torch.histc(numbers, bins=layer.experts, min=0, max=layer.experts - 1).cumsum(0).int()
    product = functional.grouped_mm if hasattr(functional, "grouped_mm") else torch._grouped_mm
    gate, up = product(x[order // top_k], layer.w13.mT, offs=ends).chunk(2, dim=-1)
    y = product(functional.silu(gate) * up, layer.w2.mT, offs=ends) * weights.flatten()[order, None]
    back = torch.empty_like(order)
    back[order] = torch.arange(order.numel(), device=order.device)
    return y[back].view(count, top_k, -1).sum(1).to(x.dtype)


def by_a_loop(x: Any, layer: Experts, weights: Any, ids: Any) -> Any:
    """Transformers' eager experts: one after another, each of the tokens that chose it."""
    out = torch.zeros_like(x)
    for expert in ids.unique().tolist():
        token, place = torch.where(ids == expert)
        gate, up = functional.linear(x[token], layer.w13[expert]).chunk(2, dim=-1)
        y = functional.linear(functional.silu(gate) * up, layer.w2[expert]) * weights[token, place, None]
        out.index_add_(0, token, y.to(x.dtype))
    return out


@dataclass
class Compute:
    """Who computes a stack's attention and its experts."""

    attention: Callable[..., Any] = by_pytorch
    experts: Callable[..., Any] = by_grouped_products


@dataclass(frozen=True)
class Decoder:
    """Sizes of a decoder's layer; experts 0: one network of `between` features."""

    hidden: int
    heads: int
    heads_kv: int
    head_dim: int
    between: int
    layers: int
    experts: int = 0
    top_k: int = 0
    norms_heads: bool = False  # q and k of each head are normalised


LLAMA = Decoder(4096, 32, 8, 128, 14336, layers=4)
QWEN_MOE = Decoder(2048, 32, 4, 128, 768, layers=4, experts=128, top_k=8, norms_heads=True)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def turned(x: Any, angles: Any) -> Any:
    """Rotary positions: x [..., rows, head_dim], angles (cos, sin) of [rows, head_dim / 2]."""
    one, two = x.chunk(2, dim=-1)
    cos, sin = angles
    return torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1)


def angles_of(rows: int, head_dim: int, device: Any, dtype: Any) -> tuple[Any, Any]:
    steps = 10000 ** -(torch.arange(0, head_dim, 2, device=device).float() / head_dim)
    angles = torch.arange(rows, device=device).float()[:, None] * steps
    return angles.cos().to(dtype), angles.sin().to(dtype)


class Experts(nn.Module):  # type: ignore[misc]
    """A router and its networks."""

    def __init__(self, sizes: Decoder, compute: Compute) -> None:
        super().__init__()
        self.compute, self.experts, self.top_k = compute, sizes.experts, sizes.top_k
        self.gate = _linear(sizes.hidden, sizes.experts)
        self.w13 = nn.Parameter(torch.empty(sizes.experts, 2 * sizes.between, sizes.hidden))
        self.w2 = nn.Parameter(torch.empty(sizes.experts, sizes.hidden, sizes.between))

    def forward(self, x: Any) -> Any:
        tokens = x.flatten(0, 1)
        weights, ids = self.gate(tokens).float().softmax(-1).topk(self.top_k)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        return self.compute.experts(tokens, self, weights, ids).view_as(x)


class Network(nn.Module):  # type: ignore[misc]
    """SwiGLU."""

    def __init__(self, sizes: Decoder) -> None:
        super().__init__()
        self.w13, self.w2 = _linear(sizes.hidden, 2 * sizes.between), _linear(sizes.between, sizes.hidden)

    def forward(self, x: Any) -> Any:
        gate, up = self.w13(x).chunk(2, dim=-1)
        return self.w2(functional.silu(gate) * up)


@dataclass
class Cache:
    """Keys and values of each layer, [batch, heads_kv, room, head_dim], of which `used` rows count."""

    keys: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    used: int = 0


class DecoderLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: Decoder, compute: Compute) -> None:
        super().__init__()
        self.sizes, self.compute = sizes, compute
        self.before, self.between = nn.RMSNorm(sizes.hidden), nn.RMSNorm(sizes.hidden)
        self.qkv = _linear(sizes.hidden, (sizes.heads + 2 * sizes.heads_kv) * sizes.head_dim)
        self.out = _linear(sizes.heads * sizes.head_dim, sizes.hidden)
        norms = [nn.RMSNorm(sizes.head_dim) if sizes.norms_heads else nn.Identity() for _ in range(2)]
        self.norm_q, self.norm_k = norms
        self.network = Experts(sizes, compute) if sizes.experts else Network(sizes)

    def forward(self, x: Any, angles: Any, cache: Cache | None, index: int) -> Any:
        sizes = self.sizes
        qkv = self.qkv(self.before(x)).unflatten(-1, (-1, sizes.head_dim)).transpose(1, 2)
        q, k, v = qkv.split((sizes.heads, sizes.heads_kv, sizes.heads_kv), dim=1)
        q, k = turned(self.norm_q(q), angles), turned(self.norm_k(k), angles)
        if cache is not None:  # one token: its keys take the last place that counts
            keys, values = cache.keys[index], cache.values[index]
            keys[:, :, cache.used - 1 : cache.used], values[:, :, cache.used - 1 : cache.used] = k, v
            k, v = keys[:, :, : cache.used], values[:, :, : cache.used]
        attended = self.compute.attention(q, k, v, cache is None)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.network(self.between(x))


class DecoderStack(nn.Module):  # type: ignore[misc]
    """forward(x [batch, rows, hidden]): a prefill; with a cache of `used` rows one token of each sequence."""

    def __init__(self, sizes: Decoder, compute: Compute) -> None:
        super().__init__()
        self.sizes = sizes
        self.layers = nn.ModuleList(DecoderLayer(sizes, compute) for _ in range(sizes.layers))

    def cache(self, batch: int, used: int) -> Cache:
        like = next(self.parameters())
        sizes = (batch, self.sizes.heads_kv, used, self.sizes.head_dim)
        keys, values = ([torch.randn(sizes, device=like.device).to(like.dtype) for _ in self.layers] for _ in range(2))
        return Cache(keys, values, used)

    def forward(self, x: Any, cache: Cache | None = None) -> Any:
        rows = x.shape[1] if cache is None else cache.used
        angles = angles_of(rows, self.sizes.head_dim, x.device, x.dtype)
        angles = angles if cache is None else (angles[0][-1:], angles[1][-1:])
        for index, layer in enumerate(self.layers):
            x = layer(x, angles, cache, index)
        return x


def made(stack: Any, device: str, dtype: Any, seed: int = 0) -> Any:
    """A stack (made on the device "meta") with weights of unit gain: activations neither grow nor vanish."""
    stack = stack.to_empty(device=device)
    generator = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        for name, x in stack.named_parameters():
            if x.dim() == 1:
                x.fill_(0.0 if name.endswith("bias") else 1.0)
            else:
                x.normal_(0.0, x.shape[-1] ** -0.5, generator=generator)
    return stack.to(dtype).eval()
