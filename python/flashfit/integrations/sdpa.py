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
from functools import partial
from typing import Any

from ._host import Host


def _own(op: Any) -> Callable[..., Any]:
    """PyTorch's own function, which is one for every device: taken out of the dispatcher where that can be done (torch
    2.10 and newer), for then a call of it costs less."""
    import torch

    c = torch._C
    get_kernel = getattr(torch.library, "get_kernel", None)
    name = op.name()
    if get_kernel is None or c._dispatch_has_kernel_for_dispatch_key(name, "CPU"):  # that of another library
        return partial(op._op_dk, c.DispatchKey.CompositeImplicitAutograd)
    return partial(get_kernel(name, "CPU").call_boxed, c.DispatchKeySet(c.DispatchKey.CPU))


def _is_called_by_export() -> bool:
    """Whether torch.export is under way in this thread, for a torch without torch.compiler.is_exporting (2.7): before,
    it also takes programs apart without a word to torch.compiler.is_compiling."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(("torch.export.", "torch._export.")):
            return True
        frame = frame.f_back
    return False


def _put_in() -> Callable[[], None]:
    import torch

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from ._sdpa_kernel import Front
    from ._torch_take import taker

    op = torch.ops.aten.scaled_dot_product_attention.default
    own = _own(op)
    is_compiling = torch.compiler.is_compiling
    is_exporting = getattr(torch.compiler, "is_exporting", None)
    take = taker(HOST.notes, lambda *call: front.knower(*call))

    def why_left_to_export() -> str:
        exports = _is_called_by_export() if is_exporting is None else is_compiling() and is_exporting()
        return "torch.export: the program would need flashfit" if exports else ""

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
        out = take(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa, "", why_left_to_export)
        if out is not NotImplemented:
            return out
        if scale is None and not enable_gqa:
            # What is not given costs the least.
            if attn_mask is None and not dropout_p and not is_causal:
                return own(q, k, v)
            return own(q, k, v, attn_mask, dropout_p, is_causal)
        more = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
        return own(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, **more)

    front = Front(kernel, ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA"), HOST.notes)
    # Tracing remembers how it dispatched the operator before, and would never come here.
    op._dispatch_cache.clear()
    forget_tag = _mark_compiled_code()

    def take_out() -> None:
        front.take_out()
        op._dispatch_cache.clear()
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
