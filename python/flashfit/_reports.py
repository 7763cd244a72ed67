"""What flashfit would run and why, what it carries, what this machine has: the C API's JSON documents as objects."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Callable, Literal

from ._errors import InvalidArgument, InvalidType
from ._gradients import OWN, Problem, experts_operator, experts_over_wgmma, misfit_of, operator_of
from ._library import ExpertsExplainArgs, ExplainArgs, RouteExplainArgs, library
from ._moe import KEEPING, Swiglu, activation_of, layout_of
from ._options import ALIBI, SINKS, SOFTCAP, UNALIGNED, Asked, numbers_of
from ._options import flags_of as causal_flag
from ._route import flags_of
from ._tensors import index_of, shown, truth_of


def _document(call: Callable[[Any], int]) -> Any:
    text = ctypes.c_void_p()
    status = call(ctypes.byref(text))
    if status:
        raise library().error(status)
    try:
        return json.loads(ctypes.string_at(text.value or 0))
    finally:
        library().c.flashfit_free(text)


def _size(name: str, value: Any, bits: int = 64) -> int:
    try:
        size = index_of(value)
    except TypeError:
        raise InvalidType(f"{name}: {shown(value)}; accepted: an integer") from None
    if not -(2 ** (bits - 1)) <= size < 2 ** (bits - 1):
        raise InvalidArgument(f"{name}: {size}; accepted: {bits} bits")
    return size


def _text(name: str, value: Any, optional: bool = False) -> bytes | None:
    """A C string, or NULL of None where that is taken."""
    if value is None and optional:
        return None
    if not isinstance(value, str):
        raise InvalidType(f"{name}: {value!r}; accepted: a string")
    if "\0" in value:  # where C's string would end
        raise InvalidArgument(f"{name}: {value!r}; accepted: text without NUL")
    return value.encode("utf-8", "backslashreplace")


def explain(
    gpu: str | None = None,
    *,
    head_dim: int = 64,
    seqlen_q: int = 2048,
    heads_q: int = 8,
    dtype: str = "fp16",
    batch: int = 1,
    seqlen_k: int | None = None,
    heads_kv: int | None = None,
    causal: bool = False,
    cuda_version: int = 0,
    head_dim_v: int | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    alibi: bool = False,
    sinks: bool = False,
    bias: str | None = None,
    batch_invariant: bool = False,
    unaligned: bool = False,
    variant: str | None = None,
) -> Any:
    """What flashfit would run and why, or why nothing fits; needs no GPU.

    gpu: "L4", "8.9", "all", None for those of this machine. dtype: "fp16" or "bf16". batch, seqlen_q, seqlen_k,
    heads_q, heads_kv, head_dim, causal, window, softcap and batch_invariant are attention()'s; seqlen_k and heads_kv
    default to seqlen_q and heads_q, head_dim_v, of values, to head_dim. alibi, sinks: whether there are slopes, sinks.
    bias: what it holds, "bool", "fp32" or the dtype; None for none. unaligned: rows do not begin on 16 bytes. variant:
    one of images(), by name. Defaults are those of the command `flashfit explain`.
    cuda_version: the driver's, 12090 for 12.9; 0 for this machine's, or new enough. Returns a list with the object that
    docs/plan.md describes for each GPU. Its `backward` says whose gradients torch tensors get there: `by`, PyTorch's
    operator, or None with the `reason` why calls that need gradients are refused. Raises InvalidArgument or InvalidType
    for what is no problem or no GPU.
    """
    options = Asked(window=window, softcap=softcap, batch_invariant=batch_invariant)
    flags, left, right, cap = numbers_of(options)
    given = {
        SOFTCAP: cap > 0,
        ALIBI: truth_of("alibi", alibi),
        SINKS: truth_of("sinks", sinks),
        UNALIGNED: truth_of("unaligned", unaligned),
    }
    args = ExplainArgs(
        struct_size=ctypes.sizeof(ExplainArgs),
        flags=flags | causal_flag(causal) | sum(flag for flag, is_given in given.items() if is_given),
        gpu=_text("gpu", gpu, optional=True),
        dtype=_text("dtype", dtype),
        batch=_size("batch", batch),
        seqlen_q=_size("seqlen_q", seqlen_q),
        seqlen_k=_size("seqlen_k", seqlen_q if seqlen_k is None else seqlen_k),
        heads_q=_size("heads_q", heads_q),
        heads_kv=_size("heads_kv", heads_q if heads_kv is None else heads_kv),
        head_dim=_size("head_dim", head_dim),
        cuda_version=_size("cuda_version", cuda_version, 32),
        variant=_text("variant", variant, optional=True),
        head_dim_v=0 if head_dim_v is None else _size("head_dim_v", head_dim_v),
        window_left=left,
        window_right=right,
        bias=_text("bias", bias, optional=True),
    )
    c = library().c
    found = _document(lambda text: int(c.flashfit_explain_json(ctypes.byref(args), text)))
    for each in found:
        each["backward"] = _backward(
            Problem(
                _capability(each),
                args.head_dim,
                args.head_dim_v or args.head_dim,
                cap,
                alibi,
                has_bias=bias is not None,
            )
        )
    return found


def _capability(gpu: dict[str, Any]) -> tuple[int, int]:
    """The compute capability of an explained GPU."""
    major, _, minor = gpu["compute_capability"].partition(".")
    return int(major), int(minor)


def _backward(problem: Problem) -> dict[str, str | None]:
    misfit = misfit_of(problem)
    return {"by": operator_of(problem)} if misfit is None else {"by": None, "reason": misfit.words}


def moe_route_explain(
    gpu: str | None = None,
    *,
    dtype: str = "fp16",
    tokens: int = 1,
    experts: int,
    top_k: int,
    router: Literal["softmax", "topk_softmax"] = "softmax",
    renormalize: bool = True,
    cuda_version: int = 0,
    variant: str | None = None,
) -> Any:
    """What moe_route() would run and why, or why nothing fits; needs no GPU.

    gpu: "L4", "8.9", "all", None for those of this machine. dtype: of logits, "fp16", "bf16" or "fp32". tokens,
    experts, top_k, router and renormalize are moe_route()'s. cuda_version: the driver's, 12090 for 12.9; 0 for this
    machine's, or new enough. variant: one of images(), by name. Returns a list with the object that docs/routing.md
    describes for each GPU. Raises InvalidArgument or InvalidType for what is no problem or no GPU.
    """
    args = RouteExplainArgs(
        struct_size=ctypes.sizeof(RouteExplainArgs),
        flags=flags_of(router, renormalize),
        gpu=_text("gpu", gpu, optional=True),
        dtype=_text("dtype", dtype),
        tokens=_size("tokens", tokens),
        experts=_size("experts", experts),
        top_k=_size("top_k", top_k),
        variant=_text("variant", variant, optional=True),
        cuda_version=_size("cuda_version", cuda_version, 32),
    )
    c = library().c
    return _document(lambda text: int(c.flashfit_moe_route_explain_json(ctypes.byref(args), text)))


def fused_moe_explain(
    gpu: str | None = None,
    *,
    dtype: str = "bf16",
    tokens: int = 1,
    experts: int,
    top_k: int,
    hidden: int,
    intermediate: int,
    activation: str | Swiglu = "swiglu",
    gate_up: Literal["concatenated", "interleaved"] = "concatenated",
    transposed: bool = False,
    weight_on: Literal["output", "input"] = "output",
    keeping: bool = False,
    experts_low: int = 0,
    experts_high: int = 0,
    cuda_version: int = 0,
    variant: str | None = None,
) -> Any:
    """What fused_moe() would run on a GPU and why, or why nothing fits; needs no GPU.

    gpu: "L4", "8.9", "all", None for those of this machine. dtype: "fp16", "bf16" or "fp32". experts: all of them, of
    which the weights of experts_low to experts_high - 1 are there (both 0: all). tokens, top_k, activation, gate_up,
    transposed and weight_on are fused_moe()'s; hidden and intermediate the layer's sizes. keeping: a call that needs
    gradients, whose kernels write what comes before the activation, too. cuda_version: the driver's, 12090 for 12.9; 0
    for this machine's, or new enough. variant: one of images(), by name. Returns a list with the
    object that docs/moe.md describes for each GPU. Its `backward` says whose products give torch tensors' gradients
    there: `by`, "flashfit" or an operator of PyTorch. Raises InvalidArgument or InvalidType for what is no problem or
    no GPU.
    """
    args = ExpertsExplainArgs(
        struct_size=ctypes.sizeof(ExpertsExplainArgs),
        flags=layout_of(gate_up, transposed, weight_on) | (KEEPING if truth_of("keeping", keeping) else 0),
        gpu=_text("gpu", gpu, optional=True),
        dtype=_text("dtype", dtype),
        tokens=_size("tokens", tokens),
        experts=_size("experts", experts),
        top_k=_size("top_k", top_k),
        hidden=_size("hidden", hidden),
        intermediate=_size("intermediate", intermediate),
        variant=_text("variant", variant, optional=True),
        cuda_version=_size("cuda_version", cuda_version, 32),
        experts_low=_size("experts_low", experts_low, 32),
        experts_high=_size("experts_high", experts_high, 32),
        activation=activation_of(activation)[0],
    )
    c = library().c
    found = _document(lambda text: int(c.flashfit_fused_moe_explain_json(ctypes.byref(args), text)))
    for each in found:
        if not each["fits"]:
            each["backward"] = {"by": None, "reason": each["reason"]}
            continue
        capability = _capability(each)
        each["backward"] = {"by": OWN if experts_over_wgmma(capability) else experts_operator(capability, dtype)}
    return found


def images() -> Any:
    """The kernel images in the library: variant, target, registers, shared memory, bytes (docs/images.md)."""
    c = library().c
    return _document(lambda text: int(c.flashfit_images_json(text)))


def gpus() -> Any:
    """This machine's driver and GPUs, as flashfit sees them. No driver and no GPU are facts, not errors."""
    c = library().c
    return _document(lambda text: int(c.flashfit_gpus_json(text)))
