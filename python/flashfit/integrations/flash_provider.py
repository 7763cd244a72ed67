"""flashfit in PyTorch's registry of flash attention implementations (torch 2.10 and newer):

    from flashfit.integrations import flash_provider
    flash_provider.install()  # torch.nn.attention.activate_flash_attention_impl("flashfit") does it too, from then on

It computes what PyTorch hands to its flash attention on a GPU, that of `torch.nn.attention.varlen` included. PyTorch
hands little to it: on Hopper its scaled_dot_product_attention asks cuDNN first, and masks, causal calls of more keys
than queries and GPUs before 8.0 never come here. flashfit.integrations.sdpa takes the call before that choice.
Gradients are PyTorch's own, of flashfit's output and LSE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._errors import CudaError, FlashfitError, OutOfMemory, Unsupported
from ._host import Host

#: As the registry has it.
NAME = "flashfit"

_DENSE, _ANY = "_scaled_dot_product_flash_attention", "_flash_attention_forward"


def _states(q: Any) -> tuple[Any, Any, Any]:
    """rng_state, unused and debug_attn_mask of a call without dropout."""
    import torch

    random = torch.zeros(2, dtype=torch.uint64, device=q.device)
    return random, torch.zeros((), dtype=torch.uint64, device=q.device), q.new_empty(0)


def _as_flash_attention_has_it(lse: Any) -> Any:
    """inf for a row that sees no key, which its backward reads so."""
    return lse.masked_fill(lse == float("-inf"), float("inf"))


def _refuse_dropout(dropout_p: float, return_debug_mask: bool) -> None:
    if dropout_p or return_debug_mask:
        raise Unsupported(f"dropout_p: {dropout_p:g} is not in flashfit yet; accepted: 0.0 (no dropout)")


def dense(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """aten::_scaled_dot_product_flash_attention of [batch, heads, rows, head_dim]. Raises FlashfitError for what
    flashfit does not compute."""
    from .._operations import attention

    _refuse_dropout(dropout_p, return_debug_mask)
    options: Any = {"layout": "bhsd", "causal": is_causal, "softmax_scale": scale, "return_lse": True}
    out, lse = attention(query, key, value, **options)
    sizes = query.shape[2], key.shape[2]
    return (out, _as_flash_attention_has_it(lse), None, None, *sizes, *_states(query))


def of_any_lengths(
    query: Any,
    key: Any,
    value: Any,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    seqused_k: Any = None,
    alibi_slopes: Any = None,
    **others: Any,
) -> tuple[Any, ...]:
    """aten::_flash_attention_forward of [batch, rows, heads, head_dim], or [total, heads, head_dim] with offsets.
    Raises FlashfitError for what flashfit does not compute."""
    from .._operations import attention

    _refuse_dropout(dropout_p, return_debug_mask)
    for name, x in others.items():  # block_table, and what later releases add
        if x is not None and name != "num_splits":
            raise Unsupported(f"{name}: given, and flashfit has none; accepted: None")
    window = tuple(-1 if side is None else side for side in (window_size_left, window_size_right))
    options: Any = {
        "causal": is_causal,
        "softmax_scale": scale,
        "window": None if window == (-1, -1) else window,
        "alibi_slopes": alibi_slopes,
        "cu_seqlens_q": cum_seq_q,
        "cu_seqlens_k": cum_seq_k,
        "seqused_k": seqused_k,
        "return_lse": True,
    }
    out, lse = attention(query, key, value, **options)
    return (out, _as_flash_attention_has_it(lse), *_states(query))


def _kernel(compute: Callable[..., tuple[Any, ...]], own: Any) -> Callable[..., Any]:
    """The dispatcher's kernel: compute(), or PyTorch's own for what flashfit leaves."""
    import torch

    from ._torch_words import words

    def kernel(keys: Any, *given: Any, **options: Any) -> Any:
        q, k = given[:2]
        causal = given[4 if compute is dense else 8] if len(given) > (4 if compute is dense else 8) else False
        call = words(q, k, 1 if compute is dense else -2, causal, None)
        try:
            with torch.no_grad():
                found = compute(*given, **options)
        except (CudaError, OutOfMemory):
            raise
        except FlashfitError as error:
            if own is None:
                raise
            HOST.notes.note(call, str(error))
            return own.call_boxed(keys, *given, **options)
        HOST.notes.note(call)
        return found

    return kernel


class _Handle:
    """What PyTorch's registry keeps of an implementation that is active."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def remove(self) -> None:
        """PyTorch's own kernels again."""
        self._library._destroy()


def _activate() -> _Handle:
    """For torch.nn.attention.register_flash_attention_impl."""
    import torch

    library = torch.library.Library("aten", "IMPL")
    for name, compute in ((_DENSE, dense), (_ANY, of_any_lengths)):
        try:
            own = torch.library.get_kernel(f"aten::{name}", "CUDA")
        except RuntimeError:  # a PyTorch without CUDA
            own = None
        library.impl(name, _kernel(compute, own), "CUDA", with_keyset=True)
    return _Handle(library)


def _restore(attention: Any, before: str | None) -> None:
    """The implementation that was active before flashfit's, None for PyTorch's own."""
    restore = getattr(attention, "restore_flash_attention_impl", None)
    if restore is not None:
        restore()
        if before is not None:
            attention.activate_flash_attention_impl(before)
        return
    registry = attention._registry  # torch 2.10's has no way back; the kernels below flashfit's are there still
    registry._FLASH_ATTENTION_HANDLES.pop(NAME).remove()
    registry._FLASH_ATTENTION_ACTIVE = before


def _put_in() -> Callable[[], None]:
    import torch
    from torch.nn import attention

    if not hasattr(attention, "register_flash_attention_impl") or not hasattr(torch.library, "get_kernel"):
        raise ImportError(f"torch {torch.__version__} has no registry of flash attention; accepted: 2.10 or newer")
    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces

    active = attention.current_flash_attention_impl()
    before = None if active == NAME else active
    attention.register_flash_attention_impl(NAME, register_fn=_activate)
    attention.activate_flash_attention_impl(NAME)

    def take_out() -> None:
        if attention.current_flash_attention_impl() == NAME:
            _restore(attention, before)

    return take_out


HOST = Host("flash_provider", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
