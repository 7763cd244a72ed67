"""Every F.scaled_dot_product_attention of an unmodified model, however it was imported.

The call is taken at PyTorch's dispatcher, where all of these meet: Python's function under any name, torch.compile,
autocast, nn.MultiheadAttention where it calls that function, and C++ that calls at::scaled_dot_product_attention. So
cuDNN's place on Hopper, where PyTorch prefers it, is taken too. What flashfit does not take goes on to PyTorch, which
then does what it did before. Code that torch.compile made before install() or uninstall() is compiled again; programs
of torch.export keep PyTorch's attention, and need no flashfit. docs/use-it-in.md says what is left.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from .._errors import CudaError, FlashfitError, OutOfMemory
from ._host import Host


def _why_left(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool
) -> str:
    """Why a call goes on to PyTorch, which also says what is wrong with it; "" if flashfit takes it."""
    import torch

    from ._torch_fit import misfit, misfit_of_gradients

    if dropout_p:
        return f"dropout_p: {dropout_p:g}"
    for name, x in (("query", q), ("key", k), ("value", v), ("attn_mask", mask)):
        if x is not None and not _is_plain_type(type(x)):
            return f"{name}: a {type(x).__name__}"
    dims = q.dim()
    if dims not in (3, 4) or k.dim() != dims or v.dim() != dims:
        return f"query: {dims} dimensions"
    if q.layout is not torch.strided or k.layout is not torch.strided or v.layout is not torch.strided:
        return "query, key or value is not strided"
    if k.dtype != q.dtype or v.dtype != q.dtype or k.device != q.device or v.device != q.device:
        return "query, key and value differ in dtype or device"
    if q.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return f"query: dtype is {q.dtype}"
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        return "no elements"
    if k.shape[-1] != q.shape[-1] or v.shape[:-1] != k.shape[:-1] or (dims == 4 and k.shape[0] != q.shape[0]):
        return "shapes that broadcast"
    heads, of_k = q.shape[-3], k.shape[-3]
    if heads != of_k and not (enable_gqa and dims == 4 and heads % of_k == 0):
        return "heads that broadcast"
    if scale is not None and not scale > 0:
        return f"scale: {scale}"
    if mask is not None:
        if is_causal:
            return "attn_mask and is_causal"
        if mask.dtype not in (torch.bool, q.dtype, torch.float32) or mask.device != q.device:
            return f"attn_mask: {mask.dtype} on {mask.device}"
        whole = (*q.shape[:-1], k.shape[-2])
        if mask.dim() > dims or any(n not in (1, m) for n, m in zip(reversed(mask.shape), reversed(whole))):
            return "attn_mask: its shape"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a transform of torch.func"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode derivatives"
    if torch.is_grad_enabled():
        if mask is not None and mask.requires_grad:
            return "attn_mask: requires grad"
        if q.requires_grad or k.requires_grad or v.requires_grad:
            reason: str = misfit_of_gradients(_place(q), q.shape[-1], v.shape[-1], 0.0, mask is not None)
            if reason:
                return reason
    return misfit(_place(q), str(q.dtype), q.shape[-1], v.shape[-1]) if q.is_cuda else ""


def _place(q: Any) -> str:
    return f"cuda:{q.get_device()}" if q.is_cuda else "cpu"


_plain_types: dict[type, bool] = {}


def _is_plain_type(kind: type) -> bool:
    """Whether flashfit's operators serve such tensors: those of no subclass that dispatches by itself, and those that
    torch.compile traces with."""
    found = _plain_types.get(kind)
    if found is None:
        import torch

        disabled = torch._C._disabled_torch_dispatch_impl
        found = getattr(kind, "__torch_dispatch__", disabled) is disabled or kind.__module__ in (
            "torch._subclasses.fake_tensor",
            "torch._subclasses.functional_tensor",
        )
        _plain_types[kind] = found
    return found


def _attend(q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """The call by flashfit. PyTorch's causal mask begins at the first key, flashfit's ends with the last."""
    from .._options import Asked
    from .._torch import attention

    dims, causal, window = q.dim(), is_causal, None
    if causal and q.shape[-2] != k.shape[-2]:
        if q.shape[-2] < k.shape[-2]:  # nobody sees the keys behind
            k, v = k[..., : q.shape[-2], :], v[..., : q.shape[-2], :]
        else:
            causal, window = False, (-1, q.shape[-2] - k.shape[-2])
    if dims == 3:
        q, k, v = q[None], k[None], v[None]
    asked = None if mask is None and window is None else Asked(window, bias=mask)
    out = attention(q, k, v, causal, scale, None, None, "bhsd", False, None, None, None, asked)
    return out[0] if dims == 3 else out


def _put_in() -> Callable[[], None]:
    import torch

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from ._torch_words import words

    op = torch.ops.aten.scaled_dot_product_attention.default
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    is_compiling = torch.compiler.is_compiling
    is_exporting = getattr(torch.compiler, "is_exporting", None)
    note = HOST.notes.note

    def of_pytorch(*given: Any, **options: Any) -> Any:
        return op._op_dk(composite, *given, **options)

    def kernel(
        q: Any,
        k: Any,
        v: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:
        reason = _why_left(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if not reason and is_compiling():
            if is_exporting is None:
                reason = "compiled by a torch that does not tell it from an export"
            elif is_exporting():
                reason = "torch.export: the program would need flashfit"
        gradients = not reason and torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
        call = words(q, k, -3, is_causal, attn_mask, "gradients by PyTorch's flash attention" if gradients else "")
        if not reason:
            try:
                out = _attend(q, k, v, attn_mask, is_causal, scale)
            except (CudaError, OutOfMemory):
                raise
            except FlashfitError as error:
                reason = str(error)
            else:
                note(call)
                return out
        note(call, reason)
        more = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
        return of_pytorch(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, **more)

    library = torch.library.Library("aten", "IMPL")
    for key in ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA"):
        library.impl("scaled_dot_product_attention", kernel, key)
    forget_tag = _mark_compiled_code()

    def take_out() -> None:
        library._destroy()
        forget_tag()

    return take_out


def _mark_compiled_code() -> Callable[[], None]:
    """Code that was compiled before calls PyTorch's attention, or flashfit's: it is made anew, in this process and, by
    the tag of its caches' keys, from the disk. Returns what does so on the way back."""
    import torch

    def forget() -> None:
        if "torch._dynamo" in sys.modules:
            torch._dynamo.reset()

    forget()
    try:
        config: Any = importlib.import_module("torch.compiler.config")
        before = config.cache_key_tag
    except (ImportError, AttributeError):  # an older torch
        return forget
    config.cache_key_tag = f"{before}flashfit.integrations.sdpa"

    def back() -> None:
        config.cache_key_tag = before
        forget()

    return back


HOST = Host("sdpa", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
