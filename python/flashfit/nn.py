"""Layers of experts as a torch.nn.Module, with the weights of models as their checkpoints name them.

`import flashfit` does not import this, as it needs torch. docs/moe.md has an example and the checkpoints that are read.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any

import torch

from . import torch_ops
from ._checkpoints import Checkpoint, fill, written_as
from ._errors import InvalidArgument, InvalidType
from ._moe import Asked, Swiglu, has_gate, numbers_of
from ._operations import fused_moe
from ._route import MOST_EXPERTS
from ._tensors import shown, truth_of

__all__ = ["MoeLayer"]

_DTYPES = (torch.float16, torch.bfloat16, torch.float32)

assert torch_ops  # its operators are registered before anything is traced


def _size(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidType(f"{name}: {shown(value)}; accepted: an integer")
    size = operator.index(value)
    if size < least:
        raise InvalidArgument(f"{name}: {shown(size)}; accepted: {least} or more")
    if size >= 2**31:
        raise InvalidArgument(f"{name}: {shown(size)}; accepted: below 2**31")
    return size


def _check_dtype(name: str, dtype: Any) -> None:
    if dtype is not None and dtype not in _DTYPES:
        raise InvalidType(f"{name}: {shown(dtype)}; accepted: torch.float16, torch.bfloat16, torch.float32")


class MoeLayer(torch.nn.Module):  # type: ignore[misc]
    """A router, its experts and perhaps a shared one: flashfit.fused_moe of x and its own parameters.

    Its parameters are gate [experts, hidden], the router's projection, gate_bias [experts], and w13, w2, b13, b2,
    shared_w13 and shared_w2 as fused_moe() has them. router_bias, fp32 [experts], is a buffer: it only chooses. What a
    layer does not have is None. A new layer's numbers are normal, of variance 1 / depth, its biases 0. layer.bfloat16()
    and its like leave router_bias in fp32.

    hidden, intermediate, experts, top_k: the layer's sizes.
    router, renormalize, groups, scale, activation, gate_up, transposed, weight_on: fused_moe()'s.
    gate_dtype: of gate and gate_bias; None for dtype. Logits are computed in it; autocast does not round those of fp32.
    gate_bias, router_bias, biases: whether there are gate_bias, router_bias, b13 and b2.
    shared_intermediate: the size of a shared expert of every token; None for no such expert.
    recompute: fused_moe()'s: True takes less memory in training, and more time.
    dtype, device: torch's defaults if None.
    """

    router_bias: Any

    def __init__(
        self,
        *,
        hidden: int,
        intermediate: int,
        experts: int,
        top_k: int,
        router: str = "softmax",
        renormalize: bool = True,
        groups: tuple[int, int] | None = None,
        scale: float = 1.0,
        activation: str | Swiglu = "swiglu",
        gate_up: str = "concatenated",
        transposed: bool = False,
        weight_on: str = "output",
        gate_dtype: Any = None,
        gate_bias: bool = False,
        router_bias: bool = False,
        biases: bool = False,
        shared_intermediate: int | None = None,
        recompute: bool = False,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        hidden, intermediate = _size("hidden", hidden), _size("intermediate", intermediate)
        experts, top_k = _size("experts", experts), _size("top_k", top_k)
        shared = 0 if shared_intermediate is None else _size("shared_intermediate", shared_intermediate, 0)
        if experts > MOST_EXPERTS:
            raise InvalidArgument(f"experts: {experts}; accepted: to {MOST_EXPERTS}")
        if top_k > experts:
            raise InvalidArgument(f"top_k: {top_k}; accepted: 1 to {experts}, the number of experts")
        for name, given in (("gate_bias", gate_bias), ("router_bias", router_bias), ("biases", biases)):
            truth_of(name, given)
        _check_dtype("dtype", dtype)
        _check_dtype("gate_dtype", gate_dtype)
        self.hidden, self.intermediate, self.experts, self.top_k = hidden, intermediate, experts, top_k
        self._options: dict[str, Any] = {
            "top_k": top_k,
            "router": router,
            "renormalize": renormalize,
            "groups": groups,
            "scale": scale,
            "activation": activation,
            "gate_up": gate_up,
            "transposed": transposed,
            "weight_on": weight_on,
            "recompute": recompute,
        }
        numbers = numbers_of(Asked(router_logits=True, router_bias=router_bias or None, **self._options))
        if numbers.groups:
            if experts % numbers.groups:
                raise InvalidArgument(
                    f"groups: {shown(groups)}; accepted: groups whose number divides {experts}, the experts"
                )
            if top_k > (kept := experts // numbers.groups * numbers.groups_kept):
                raise InvalidArgument(f"top_k: {top_k}; accepted: to {kept}, the experts of the groups that are kept")
        self._gated = has_gate(activation)
        sides = 2 if self._gated else 1

        def parameter(*shape: int, kind: Any = None) -> Any:
            return torch.nn.Parameter(torch.empty(shape, dtype=kind or dtype, device=device))

        def weights(*shape: int) -> Any:  # [..., outputs, depth]
            return parameter(*shape[:-2], *(shape[:-3:-1] if transposed else shape[-2:]))

        self.gate = parameter(experts, hidden, kind=gate_dtype)
        self.gate_bias = parameter(experts, kind=gate_dtype) if gate_bias else None
        self.w13 = weights(experts, sides * intermediate, hidden)
        self.w2 = weights(experts, hidden, intermediate)
        self.b13 = parameter(experts, sides * intermediate) if biases else None
        self.b2 = parameter(experts, hidden) if biases else None
        self.shared_w13 = weights(sides * shared, hidden) if shared else None
        self.shared_w2 = weights(hidden, shared) if shared else None
        bias = torch.zeros(experts, dtype=torch.float32, device=device) if router_bias else None
        self.register_buffer("router_bias", bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New random numbers."""
        with torch.no_grad():
            for name, x in self.named_parameters(recurse=False):
                if name in ("gate_bias", "b13", "b2"):
                    x.zero_()
                else:
                    turned = self._options["transposed"] and name != "gate"
                    x.normal_(std=x.shape[-2 if turned else -1] ** -0.5)

    @classmethod
    def from_checkpoint(
        cls, config: Any, tensors: Any, prefix: str, *, unpack: bool = False, dtype: Any = None, device: Any = None
    ) -> MoeLayer:
        """The layer of a model's checkpoint; each tensor is read once, and packed where there is one an expert. Weights
        lie as they are stored: the layer is transposed where they are.

        config: what config.json holds, or Transformers' object of it; its model_type is "mixtral", "qwen3_moe",
            "deepseek_v3" or "gpt_oss".
        tensors: tensors by name: a mapping, or an opened safetensors file, which reads each when it is asked for it; or
            a list of these, as of a checkpoint in several files, whose layers often lie in two of them.
        prefix: what the layer's names begin with, such as "model.layers.3.mlp".
        unpack: experts in fp8 (with weight_scale_inv) or mxfp4 (blocks and scales) are unpacked to dtype. Without it
            they are refused, in one line that says how many bytes that takes.
        dtype: of the parameters; None for that of the experts in the checkpoint, bf16 of unpacked ones.
        device: torch's default if None.

        Raises InvalidArgument for a model, a name or a shape that it does not know; a name under the prefix that it
        would ignore is one.
        """
        truth_of("unpack", unpack)
        _check_dtype("dtype", dtype)
        options, names = written_as(config)
        checkpoint = Checkpoint(tensors, prefix, config, unpack)
        kind = checkpoint.dtype_of_experts(names, options, dtype)
        layer = cls(**options, transposed=checkpoint.is_transposed(names), dtype=kind, device="meta")
        layer.to_empty(device=device or torch.get_default_device())
        with torch.no_grad():
            fill(layer, checkpoint, names)
        return layer

    def _apply(self, *given: Any, **more: Any) -> Any:
        """What .to(), .half() and others call. They leave router_bias in fp32, unrounded: its last bits choose."""
        before: Any = self.router_bias
        found = super()._apply(*given, **more)
        if before is not None and before.dtype != self.router_bias.dtype:
            self.router_bias = before.to(self.router_bias.device)
        return found

    def forward(self, x: Any) -> Any:
        """x and the result: [..., hidden]."""
        if not isinstance(x, torch.Tensor):
            raise InvalidType(f"x: {shown(x)}; accepted: a torch tensor, [..., hidden]")
        if not x.dim() or x.shape[-1] != self.hidden:
            raise InvalidArgument(f"x: shape is {tuple(x.shape)}; accepted: [..., {self.hidden}], the hidden size")
        rows = x.reshape(-1, self.hidden)
        if rows.stride(1) != 1:
            rows = rows.contiguous()
        if self.gate.dtype == torch.float32:  # few bits of a logit choose other experts
            # Nor is there autocast on meta, where PyTorch refuses to name it.
            with contextlib.nullcontext() if rows.is_meta else torch.autocast(rows.device.type, enabled=False):
                logits = torch.nn.functional.linear(rows.float(), self.gate, self.gate_bias)
        else:
            logits = torch.nn.functional.linear(rows.to(self.gate.dtype), self.gate, self.gate_bias)
        shared = None if self.shared_w13 is None else (self.shared_w13, self.shared_w2)
        bias = None if self.router_bias is None else self.router_bias.float()
        given: dict[str, Any] = {"router_bias": bias, "b13": self.b13, "b2": self.b2, "shared": shared}
        out = fused_moe(rows, self.w13, self.w2, router_logits=logits, **given, **self._options)
        return out.reshape(x.shape)

    def extra_repr(self) -> str:
        sizes = {name: getattr(self, name) for name in ("hidden", "intermediate", "experts")}
        return ", ".join(f"{name}={value!r}" for name, value in {**sizes, **self._options}.items())
