"""How calls are seen: PyTorch's at its dispatcher, and functions of packages that a program imports, wrapped when it
does."""

from __future__ import annotations

import functools
import importlib.abc
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from typing import Any

from .calls import Calls, Shape, is_traced

_DTYPES = {"torch.float16": "fp16", "torch.bfloat16": "bf16", "torch.float32": "fp32"}
#: Functions of packages whose calls are seen, by module.
_PACKAGES = {
    "flash_attn": ("flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"),
    "flash_attn.flash_attn_interface": ("flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"),
    "xformers.ops": ("memory_efficient_attention",),
}


def _shape(q: Any, k: Any, v: Any, heads_first: bool, causal: bool, options: list[str]) -> Shape | None:
    """None for what is no call on tensors of three or four dimensions."""
    import torch

    tensors = (q, k, v)
    if not all(isinstance(x, torch.Tensor) and x.dim() in (3, 4) for x in tensors):
        return None
    rows, heads = (-2, -3) if heads_first else (-3, -2)
    sizes = {
        "batch": q.shape[0] if q.dim() == 4 else 1,
        "seqlen_q": q.shape[rows],
        "seqlen_k": k.shape[rows],
        "heads_q": q.shape[heads],
        "heads_kv": k.shape[heads],
        "head_dim": q.shape[-1],
        "head_dim_v": v.shape[-1],
    }
    known = {name: size if type(size) is int else 0 for name, size in sizes.items()}  # 0: symbolic
    dtype = _DTYPES.get(str(q.dtype), str(q.dtype))
    return Shape(dtype=dtype, device=str(q.device), causal=causal, options=tuple(options), **known)


def _of_pytorch(operators: list[str]) -> set[str]:
    """The operators of attention among those that ran; PyTorch's formula, if none did."""
    names = {name.split(".")[0] for name in operators}
    return {name for name in names if "attention" in name} or {"formula (math)"}


@contextmanager
def seen_in_pytorch(calls: Calls) -> Iterator[None]:
    """Within it, every F.scaled_dot_product_attention is noted."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from ..integrations._torch_take import why_left

    op = torch.ops.aten.scaled_dot_product_attention.default
    composite = torch._C.DispatchKey.CompositeImplicitAutograd

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        """The operators below a call."""

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(function).replace("aten.", ""))
            return function(*args, **(kwargs or {}))

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
        more = {"enable_gqa": True} if enable_gqa else {}
        compiled = is_traced(q)

        def compute() -> Any:
            return op._op_dk(composite, q, k, v, attn_mask, dropout_p, is_causal, scale=scale, **more)

        def watched() -> tuple[Any, set[str]]:
            if compiled:
                return compute(), {"compiled code"}
            with Watch() as watch:
                return compute(), _of_pytorch(watch.seen)

        options = [] if attn_mask is None else [f"{str(attn_mask.dtype).replace('torch.', '')} mask"]
        options += [f"dropout {dropout_p:g}"] if dropout_p else []
        if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
            options.append("gradients")
        shape = _shape(q, k, v, True, bool(is_causal), options)
        left = why_left(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return calls.run("scaled_dot_product_attention", shape, left, compute, watched, compiled=compiled)

    library = torch.library.Library("aten", "IMPL")
    for key in ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA"):
        library.impl("scaled_dot_product_attention", kernel, key)
    try:
        yield
    finally:
        library._destroy()


_FAST_PATH = (
    "PyTorch's fast path for inference calls no function that can be taken; torch.backends.mha.set_fastpath_enabled"
    "(False) turns it off"
)
_WEIGHTS = "need_weights: True, so that PyTorch computes products of its own; need_weights=False turns it off"


def _features(q: Any, k: Any, heads: int, rows: int) -> Shape | None:
    """The shape of a call on [.., embed_dim] tensors, whose rows are in that dimension, or in 0 where there are two."""
    if q.is_nested or q.dim() not in (2, 3):
        return None
    rows = rows if q.dim() == 3 else 0
    return Shape(
        dtype=_DTYPES.get(str(q.dtype), str(q.dtype)),
        device=str(q.device),
        batch=int(q.shape[1 - rows]) if q.dim() == 3 else 1,
        seqlen_q=int(q.shape[rows]),
        seqlen_k=int(k.shape[rows]),
        heads_q=heads,
        heads_kv=heads,
        head_dim=int(q.shape[-1]) // heads,
        head_dim_v=int(q.shape[-1]) // heads,
        causal=False,
        options=(),
    )


@contextmanager
def seen_in_modules(calls: Calls) -> Iterator[None]:
    """Within it, what PyTorch's attention modules compute without scaled_dot_product_attention is noted, not timed:
    it is more than attention."""
    import torch

    functional = torch.nn.functional
    encoder, own = torch._transformer_encoder_layer_fwd, torch._native_multi_head_attention
    slow = functional.multi_head_attention_forward

    def note(name: str, x: Any, shape: Shape | None, left: str, by: str, compute: Callable[[], Any]) -> Any:
        traced = is_traced(x)
        return calls.run(name, shape, left, compute, lambda: (compute(), {by}), clocked=False, compiled=traced)

    def of_encoder(src: Any, embed_dim: int, num_heads: int, *given: Any, **named: Any) -> Any:
        def compute() -> Any:
            return encoder(src, embed_dim, num_heads, *given, **named)

        shape = _features(src, src, num_heads, 1)
        return note("TransformerEncoderLayer", src, shape, _FAST_PATH, "its fast path", compute)

    def of_attention(query: Any, key: Any, value: Any, embed_dim: int, num_head: int, *given: Any, **named: Any) -> Any:
        def compute() -> Any:
            return own(query, key, value, embed_dim, num_head, *given, **named)

        shape = _features(query, key, num_head, 1)
        return note("MultiheadAttention", query, shape, _FAST_PATH, "its fast path", compute)

    def of_function(query: Any, key: Any, value: Any, embed_dim: int, num_heads: int, *given: Any, **named: Any) -> Any:
        def compute() -> Any:
            return slow(query, key, value, embed_dim, num_heads, *given, **named)

        if not named.get("need_weights", True):
            return compute()  # that calls scaled_dot_product_attention
        shape = _features(query, key, num_heads, 0)
        return note("MultiheadAttention", query, shape, _WEIGHTS, "products", compute)

    vars(torch).update(_transformer_encoder_layer_fwd=of_encoder, _native_multi_head_attention=of_attention)
    functional.multi_head_attention_forward = of_function
    try:
        yield
    finally:
        vars(torch).update(_transformer_encoder_layer_fwd=encoder, _native_multi_head_attention=own)
        functional.multi_head_attention_forward = slow


def _noted(calls: Calls, module: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A package's function, each call of which is noted."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def noted(*given: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*given, **named).arguments
            q, k, v, *_ = bound.values()
        except (TypeError, ValueError):
            return function(*given, **named)
        options = [
            f"{name} {bound[name]}"
            for name, default in (("window_size", (-1, -1)), ("softcap", 0.0), ("dropout_p", 0.0), ("p", 0.0))
            if name in bound and bound[name] != default
        ]
        if "cu_seqlens_q" in bound:
            options.append(f"{len(bound['cu_seqlens_q']) - 1} sequences")
        if bound.get("attn_bias") is not None:
            options.append(type(bound["attn_bias"]).__name__)
        shape = _shape(q, k, v, False, bool(bound.get("causal", False)), options)
        left = "dropout" if bound.get("dropout_p") or bound.get("p") else ""
        package = module.split(".")[0]

        def compute() -> Any:
            return function(*given, **named)

        traced = is_traced(q)
        return calls.run(function.__name__, shape, left, compute, lambda: (compute(), {package}), compiled=traced)

    return noted


class _Finder(importlib.abc.MetaPathFinder):
    """Finds as the other finders do, and wraps the functions of _PACKAGES after their module has run."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name not in _PACKAGES:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._wrap(spec.loader, name)
                return spec
        return None

    def _wrap(self, loader: Any, name: str) -> None:
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            wrap(self._calls, name, module)

        loader.exec_module = exec_module


def wrap(calls: Calls, name: str, module: Any) -> None:
    """Puts noted functions into a module, each once."""
    for each in _PACKAGES[name]:
        function = getattr(module, each, None)
        if function is not None and not hasattr(function, "__wrapped__"):
            setattr(module, each, _noted(calls, name, function))


@contextmanager
def seen_in_packages(calls: Calls) -> Iterator[None]:
    """Within it, imports of flash-attn and xformers bring functions whose calls are noted."""
    finder = _Finder(calls)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
