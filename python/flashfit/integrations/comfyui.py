"""Attention of ComfyUI's models, through the two hooks that it has for that.

A model that the node `FlashfitAttention` has patched carries `optimized_attention_override` in its transformer_options,
which every attention of ComfyUI asks first; nothing else of the model is touched, so LoRAs, offloading and other
patches stay as they are. install() also registers the function under the name "flashfit", for nodes that choose
attention by name. What flashfit does not take goes on to the override that was there before, or to ComfyUI's own.
The nodes are in flashfit/comfyui, a folder for custom_nodes.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from ._host import Host

#: What the function is called in ComfyUI's registry.
NAME = "flashfit"

_OVERRIDE = "optimized_attention_override"
#: Given to attention functions, and of no meaning for the result.
_OF_COMFYUI = frozenset(("transformer_options", "_inside_attn_wrapper", "low_precision_attention"))
_logger = logging.getLogger("flashfit.integrations")


def _attention() -> Callable[..., Any]:
    """A function as ComfyUI's attention functions are, with the one to go on to before all else."""
    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from ._torch_take import taker

    take = taker(HOST.notes)

    def attention(
        go_on: Callable[..., Any],
        q: Any,
        k: Any,
        v: Any,
        heads: int,
        mask: Any = None,
        attn_precision: Any = None,
        skip_reshape: bool = False,
        skip_output_reshape: bool = False,
        **others: Any,
    ) -> Any:
        """q, k and v: [batch, rows, heads * head_dim], or with skip_reshape [batch, heads, rows, head_dim]. mask:
        [rows, keys], [batch, rows, keys] or [batch, heads, rows, keys], boolean or added. Returns [batch, rows,
        heads * head_dim], or with skip_output_reshape [batch, heads, rows, head_dim]. attn_precision asks for fp32
        scores, which flashfit's always are."""
        scale, enable_gqa = others.get("scale"), bool(others.get("enable_gqa"))
        known = ("scale", "enable_gqa")
        odd = [name for name, x in others.items() if x is not None and name not in _OF_COMFYUI and name not in known]
        left = f"{odd[0]}: not an argument of ComfyUI's attention when this was written" if odd else ""
        tensors = (q, k, v)
        if not skip_reshape:
            head_dim = q.shape[-1] // heads
            tensors = tuple(x.unflatten(-1, (-1, head_dim)).transpose(1, 2) for x in tensors)
        bias = mask
        if mask is not None and mask.dim() < 4:
            bias = mask[None, None] if mask.dim() == 2 else mask[:, None]
        out = take(*tensors, bias, 0.0, False, scale, enable_gqa, left)
        if out is not NotImplemented:
            return out if skip_output_reshape else out.transpose(1, 2).flatten(2)
        options = {"skip_reshape": skip_reshape, "skip_output_reshape": skip_output_reshape}
        return go_on(q, k, v, heads, mask=mask, attn_precision=attn_precision, **options, **others)

    return attention


def _put_in() -> Callable[[], None]:
    of_comfyui: Any = importlib.import_module("comfy.ldm.modules.attention")
    attention = _attention()
    functions = of_comfyui.REGISTERED_ATTENTION_FUNCTIONS

    def by_name(*given: Any, **named: Any) -> Any:
        return attention(functions["pytorch"], *given, **named)

    registered = of_comfyui.wrap_attn(by_name)
    of_comfyui.register_attention_function(NAME, registered)

    def take_out() -> None:
        if functions.get(NAME) is registered:
            del functions[NAME]

    return take_out


HOST = Host("comfyui", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log


def override(before: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """An `optimized_attention_override`, which goes on to `before` where another node has put one."""
    attention = _attention()

    def flashfit_override(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        def go_on(*given: Any, **named: Any) -> Any:
            return function(*given, **named) if before is None else before(function, *given, **named)

        return attention(go_on, *given, **named) if HOST.is_installed else go_on(*given, **named)

    return flashfit_override


class FlashfitAttention:
    """The node: a model in, the same model with flashfit's attention out."""

    DESCRIPTION = "The model's attention by flashfit; what it does not compute is left to ComfyUI's own."
    CATEGORY = "model_patches"
    RETURN_TYPES = ("MODEL",)
    FUNCTION = "patch"

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 - ComfyUI's name
        """What ComfyUI shows."""
        about = "Also what has no hook, in all of ComfyUI until it ends: text encoders, VAEs, and some models."
        return {
            "required": {"model": ("MODEL",)},
            "optional": {"everywhere": ("BOOLEAN", {"default": False, "tooltip": about})},
        }

    def patch(self, model: Any, everywhere: bool = False) -> tuple[Any]:
        """A clone with the override; the model itself where FLASHFIT_DISABLE turns it off."""
        if not install():
            return (model,)
        if everywhere:
            from . import sdpa

            sdpa.install()
        clone = model.clone()
        options = clone.model_options.setdefault("transformer_options", {})
        options[_OVERRIDE] = override(options.get(_OVERRIDE))
        return (clone,)


NODE_CLASS_MAPPINGS = {"FlashfitAttention": FlashfitAttention}
NODE_DISPLAY_NAME_MAPPINGS = {"FlashfitAttention": "flashfit attention"}


def loaded() -> None:
    """What is done when ComfyUI loads the nodes: the function is registered, and where flash-attn cannot be imported,
    SeedVR2's node gets flashfit for its attention mode flash_attn_2."""
    from . import seedvr

    if not install():
        _logger.info("%s", "\n".join(log()))
        return
    try:
        of_flash_attn = importlib.import_module("flash_attn_2_cuda")
    except (ImportError, OSError):
        of_flash_attn = None
    if of_flash_attn is None and seedvr.install():
        _logger.info("seedvr: flash-attn cannot be imported here: flashfit is under SeedVR2's mode flash_attn_2")
