"""A few blocks shaped as Flux, with random weights, in plain PyTorch; stacks.py says how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tools.gpu.stacks import Compute, angles_of, turned


@dataclass(frozen=True)
class Diffusion:
    """Sizes of Flux: blocks of two streams, then blocks of one."""

    heads: int
    head_dim: int
    double: int
    single: int
    text: int  # tokens

    @property
    def hidden(self) -> int:
        return self.heads * self.head_dim


FLUX = Diffusion(24, 128, double=2, single=4, text=512)


class Stream(nn.Module):  # type: ignore[misc]
    """What text and image each have of their own in a block."""

    def __init__(self, sizes: Diffusion) -> None:
        super().__init__()
        hidden = sizes.hidden
        self.head_dim = sizes.head_dim
        self.modulation = nn.Linear(hidden, 6 * hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.norm_q, self.norm_k = nn.RMSNorm(sizes.head_dim), nn.RMSNorm(sizes.head_dim)
        self.network = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU("tanh"), nn.Linear(4 * hidden, hidden))

    def into(self, x: Any, time: Any) -> tuple[Any, Any]:
        """q, k and v, and the rest of the modulation."""
        shift, scale, *more = self.modulation(functional.silu(time))[:, None].chunk(6, dim=-1)
        x = functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        return (self.norm_q(q), self.norm_k(k), v), more

    def back(self, x: Any, attended: Any, more: Any) -> Any:
        gate, shift, scale, gate_network = more
        x = x + gate * self.out(attended.transpose(1, 2).flatten(2))
        return x + gate_network * self.network(functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift)


class DoubleBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: Diffusion, compute: Compute) -> None:
        super().__init__()
        self.compute, self.text, self.image = compute, Stream(sizes), Stream(sizes)

    def forward(self, text: Any, image: Any, time: Any, angles: Any) -> tuple[Any, Any]:
        of_text, more_text = self.text.into(text, time)
        of_image, more_image = self.image.into(image, time)
        q, k, v = (torch.cat(pair, dim=2) for pair in zip(of_text, of_image))
        attended = self.compute.attention(turned(q, angles), turned(k, angles), v, False)
        rows = text.shape[1]
        text = self.text.back(text, attended[:, :, :rows], more_text)
        return text, self.image.back(image, attended[:, :, rows:], more_image)


class SingleBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: Diffusion, compute: Compute) -> None:
        super().__init__()
        hidden = sizes.hidden
        self.compute, self.head_dim, self.hidden = compute, sizes.head_dim, hidden
        self.modulation = nn.Linear(hidden, 3 * hidden)
        self.into, self.out = nn.Linear(hidden, 7 * hidden), nn.Linear(5 * hidden, hidden)
        self.norm_q, self.norm_k = nn.RMSNorm(sizes.head_dim), nn.RMSNorm(sizes.head_dim)

    def forward(self, x: Any, time: Any, angles: Any) -> Any:
        shift, scale, gate = self.modulation(functional.silu(time))[:, None].chunk(3, dim=-1)
        *qkv, between = self.into(functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift).split(
            [self.hidden] * 3 + [4 * self.hidden], dim=-1
        )
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in qkv)
        q, k = turned(self.norm_q(q), angles), turned(self.norm_k(k), angles)
        attended = self.compute.attention(q, k, v, False).transpose(1, 2).flatten(2)
        return x + gate * self.out(torch.cat((attended, functional.gelu(between, approximate="tanh")), dim=-1))


class DiffusionStack(nn.Module):  # type: ignore[misc]
    """forward(image [batch, rows, hidden], text [batch, sizes.text, hidden], time [batch, hidden]): one step."""

    def __init__(self, sizes: Diffusion, compute: Compute) -> None:
        super().__init__()
        self.sizes = sizes
        self.of_two = nn.ModuleList(DoubleBlock(sizes, compute) for _ in range(sizes.double))
        self.of_one = nn.ModuleList(SingleBlock(sizes, compute) for _ in range(sizes.single))

    def forward(self, image: Any, text: Any, time: Any) -> Any:
        rows = text.shape[1]
        angles = angles_of(rows + image.shape[1], self.sizes.head_dim, image.device, image.dtype)
        for block in self.of_two:
            text, image = block(text, image, time, angles)
        x = torch.cat((text, image), dim=1)
        for block in self.of_one:
            x = block(x, time, angles)
        return x[:, rows:]
