"""SeedVR2 without flash-attn, without apex: ByteDance's NaDiT whole, and the node ComfyUI-SeedVR2_VideoUpscaler.

    from flashfit.integrations import seedvr
    seedvr.install()  # before models.dit or models.dit_v2 is imported

NaDiT imports `flash_attn_varlen_func` from flash_attn and its fused norms from apex, and its node also looks for the
module flash_attn_2_cuda: under these names there are then flashfit's attention and PyTorch's norms. So it is where the
packages are installed, too, since one that was built for other GPUs imports and fails at its first launch. A node that
was loaded before has its attention mode flash_attn_2 from then on. docs/seedvr.md has versions, and what was tried.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ._host import Host
from ._modules import put

_ABOUT = "flashfit's, for SeedVR2: flashfit.integrations.seedvr."


def _noted() -> Callable[..., Any]:
    """The function that SeedVR2 calls."""
    from .._stand_in import functions
    from ._torch_take import noting, wants_gradients
    from ._torch_words import GRADIENTS

    log = noting(HOST.notes.note)

    @functools.wraps(functions.flash_attn_varlen_func)
    def flash_attn_varlen_func(q: Any, k: Any, v: Any, *given: Any, **named: Any) -> Any:
        out = functions.flash_attn_varlen_func(q, k, v, *given, **named)
        causal = bool(named.get("causal", given[6] if len(given) > 6 else False))
        more = ("variable lengths", *((GRADIENTS,) if wants_gradients(q, k, v) else ()))
        log(q, k, -2, causal, None, ", ".join(more))
        return out

    return flash_attn_varlen_func


def _public(module: Any, *more: str) -> dict[str, Any]:
    """A module's functions, and what is named."""
    return {name: x for name, x in vars(module).items() if name in more or (inspect.isfunction(x) and name[0] != "_")}


@functools.cache
def _norms() -> dict[str, Any]:
    """apex.normalization's two classes over PyTorch's functions, with the same parameters and names of weights. As
    apex's, they compute in fp32 and return the input's dtype, or autocast's; a model saved whole names them as apex's.
    """
    import torch
    from torch.nn import functional

    def of_autocast(device: str, *tensors: Any) -> Any:
        if not torch.is_autocast_enabled(device):
            return tensors
        dtype = torch.get_autocast_dtype(device)
        return [x.to(dtype) if x is not None and x.is_floating_point() else x for x in tensors]

    class OfApex:
        """What both have in common, before the PyTorch class whose parameters they have."""

        norm: Callable[..., Any]

        def __init__(
            self,
            normalized_shape: Any,
            eps: float = 1e-5,
            elementwise_affine: bool = True,
            memory_efficient: bool = False,
        ) -> None:
            super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine)  # type: ignore[call-arg]

        def forward(self: Any, x: Any) -> Any:
            device = x.device.type
            x, *weights = of_autocast(device, x, *self.weights())
            with torch.autocast(device, enabled=False):
                return self.norm(x, self.normalized_shape, *weights, self.eps)

    class FusedLayerNorm(OfApex, torch.nn.LayerNorm):  # type: ignore[misc]
        norm = staticmethod(functional.layer_norm)

        def weights(self) -> tuple[Any, ...]:
            return self.weight, self.bias

    class FusedRMSNorm(OfApex, torch.nn.RMSNorm):  # type: ignore[misc]
        norm = staticmethod(functional.rms_norm)

        def weights(self) -> tuple[Any, ...]:
            return (self.weight,)

    norms = {"FusedLayerNorm": FusedLayerNorm, "FusedRMSNorm": FusedRMSNorm}
    for name, norm in norms.items():
        norm.__module__, norm.__qualname__ = "apex.normalization", name
    return norms


def _serve_loaded_nodes(attention: Any) -> Callable[[], None]:
    """The node's module that found no flash-attn when it was imported: it has one from now on."""
    given = {"flash_attn_2_varlen_func": attention, "FLASH_ATTN_2_AVAILABLE": True, "FLASH_ATTN_AVAILABLE": True}
    before: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if "call_flash_attn_2_varlen" in names and all(name in names for name in given):
            before.append((names, {name: names[name] for name in given}))
            names.update(given)

    def give_back() -> None:
        for names, had in before:
            names.update(had)

    return give_back


def _put_in() -> Callable[[], None]:
    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from .._stand_in import extension, functions, interface
    from .._stand_in.shim import VERSION
    from ..flash_attn import bert_padding

    noted = {"flash_attn_varlen_func": _noted()}
    outs = [
        put("flash_attn_2_cuda", _public(extension), _ABOUT),
        put("flash_attn", {**_public(functions), **noted}, _ABOUT, VERSION),
    ]
    of_interface = {"flash_attn_gpu": sys.modules["flash_attn_2_cuda"], **noted}
    outs += [
        put("flash_attn.flash_attn_interface", {**_public(interface, *interface.__all__), **of_interface}, _ABOUT),
        put("flash_attn.bert_padding", _public(bert_padding), _ABOUT),
        put("apex", {}, _ABOUT),
        put("apex.normalization", _norms(), _ABOUT),
        _serve_loaded_nodes(noted["flash_attn_varlen_func"]),
    ]

    def take_out() -> None:
        for out in reversed(outs):
            out()

    return take_out


HOST = Host("seedvr", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
