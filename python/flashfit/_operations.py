"""flashfit's operations as its callers see them. Each hands its arguments, in their order, to what serves the type of
its first array: torch's tensors have ways of their own, and every other package goes the careful way.

Nothing that serves an operation imports this module: it imports them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar, overload

from ._attention import attend_with_care
from ._errors import InvalidType
from ._moe import Asked as AskedLayer
from ._moe import Swiglu, moe_with_care
from ._options import Asked
from ._other_names import refuse
from ._packages import TORCH, package_of
from ._route import route_with_care
from ._tensors import shown

T = TypeVar("T")

#: What serves an operation, by the type of q, logits or x; filled as types are met.
_attenders: dict[type, Callable[..., Any]] = {}
_routers: dict[type, Callable[..., Any]] = {}
_layers: dict[type, Callable[..., Any]] = {}


def _served(
    handlers: dict[type, Callable[..., Any]], name: str, first: Any, careful: Callable[..., Any], by_torch: str
) -> Callable[..., Any]:
    """What serves arrays of first's type from now on: `careful`, which takes their package first, or the function of
    _torch. first: the argument `name`."""
    package = package_of(first, name)
    if package is TORCH:
        from . import _torch  # imports torch, which is there: first is one of its tensors

        handler: Callable[..., Any] = getattr(_torch, by_torch)
        if _torch.is_compiling():
            return handler  # what follows is for calls that run
        _torch.answer_first(attention)
    else:
        handler = partial(careful, package)
    handlers[type(first)] = handler
    return handler


@overload
def attention(
    q: T,
    k: T,
    v: T,
    *,
    causal: bool = ...,
    softmax_scale: float | None = ...,
    window: tuple[int | None, int | None] | None = ...,
    softcap: float | None = ...,
    alibi_slopes: Any = ...,
    sinks: Any = ...,
    bias: Any = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    seqused_k: Any = ...,
    batch_invariant: bool = ...,
    workspace: Any = ...,
    layout: Literal["bshd", "bhsd"] = ...,
    return_lse: Literal[False] = ...,
    out: T | None = ...,
    stream: Any = ...,
    variant: str | None = ...,
) -> T: ...


@overload
def attention(
    q: T,
    k: T,
    v: T,
    *,
    causal: bool = ...,
    softmax_scale: float | None = ...,
    window: tuple[int | None, int | None] | None = ...,
    softcap: float | None = ...,
    alibi_slopes: Any = ...,
    sinks: Any = ...,
    bias: Any = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    seqused_k: Any = ...,
    batch_invariant: bool = ...,
    workspace: Any = ...,
    layout: Literal["bshd", "bhsd"] = ...,
    return_lse: Literal[True],
    out: T | None = ...,
    stream: Any = ...,
    variant: str | None = ...,
) -> tuple[T, T]: ...


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    bias: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    seqused_k: Any = None,
    batch_invariant: bool = False,
    workspace: Any = None,
    layout: Literal["bshd", "bhsd"] = "bshd",
    return_lse: bool = False,
    out: Any = None,
    stream: Any = None,
    variant: str | None = None,
    **others: Any,
) -> Any:
    """softmax(score(q k^T)) v over the keys that each query sees.

    The score of query i and key j is s = softmax_scale * q_i k_j; with softcap then s = softcap * tanh(s / softcap);
    with alibi_slopes then s -= slope * |i + seqlen_k - seqlen_q - j|; with bias then s += bias[i, j]. A query that sees
    no key gives 0, and -inf in lse.

    q, k, v: arrays of NumPy, torch, CuPy or JAX, or objects with __dlpack__ or __cuda_array_interface__, all alike:
        fp16, bf16 or, on the CPU, fp32; on the CPU or on one NVIDIA GPU; any strides with 1 in the last dimension.
        layout "bshd": q [batch, seqlen_q, heads_q, head_dim], k [batch, seqlen_k, heads_kv, head_dim], v [batch,
        seqlen_k, heads_kv, head_dim_v]; "bhsd": heads before seqlen. heads_q is a multiple of heads_kv: query head h
        reads key head h // (heads_q / heads_kv).
    causal: query i sees key j iff j <= i + seqlen_k - seqlen_q: aligned at the bottom right.
    softmax_scale: above 0; None for 1 / sqrt(head_dim).
    window: (left, right), in keys: query i sees keys i + seqlen_k - seqlen_q - left to i + seqlen_k - seqlen_q + right,
        both included; None or -1 on a side: no limit there. With causal, right counts as 0.
    softcap: above 0, in units of scores; None or 0 for none.
    alibi_slopes: fp32 [heads_q] or [batch, heads_q], contiguous, where q is; or lists or NumPy arrays, copied there.
    sinks: fp32 [heads_q] alike: a logit of each head that no value belongs to. It adds exp(sink) to the sum of each
        softmax, and so to lse.
    bias: [batch, heads_q, seqlen_q, seqlen_k] in any layout, where q is, any strides; each size may be 1, and leading
        dimensions left out, as broadcasting has it. q's dtype or fp32: added to the scores; -inf hides a key. bool:
        True where the key is seen. Not with cu_seqlens.
    cu_seqlens_q, cu_seqlens_k: both or neither. Sequences of any lengths, one after another: q [total_q, heads_q,
        head_dim] and so on ("bhsd": heads first); sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1]. int32 arrays
        where q is, or lists or NumPy arrays, which are copied there (on a GPU that waits: give tensors inside a CUDA
        graph). No max_seqlen is asked for: each thread block finds its sequence by binary search.
    seqused_k: int32 [batch], where q is, or a list or NumPy array: only the first so many keys of each sequence are
        there, and masks are aligned with their end.
    batch_invariant: the bits of a sequence's result do not depend on the batch around it.
    return_lse: also return the natural logarithm of each softmax's denominator, fp32 [batch, heads_q, seqlen_q], or
        [heads_q, total_q].
    out: where to write, of q's shape but for head_dim_v, and q's dtype; None for a new array (a JAX array never
        changes: None). Objects that only have __dlpack__ or __cuda_array_interface__ need it, and return no lse:
        flashfit allocates no memory for them.
    stream: for GPU arrays: None for the current stream of torch or CuPy, or the one that __cuda_array_interface__
        names, else the legacy default stream; or a torch.cuda.Stream, an object with __cuda_stream__, or an integer
        handle. What is returned belongs to that stream; of JAX arrays it is complete. For CPU arrays: None.
    workspace: where few query rows leave a GPU empty, as in decoding, the keys are cut into parts, whose results lie in
        this memory until they are combined. None: q's package allocates it, as it does out. An array of that package,
        contiguous, of any dtype; or a function that is called with the bytes, where the call needs any, and returns
        one: what has only __dlpack__ or __cuda_array_interface__ needs this. It is the caller's to keep until the
        stream has passed the call. In compiled code: None.
    variant: one of images(), by name, for tests and tuning; None to let flashfit choose.
    others: no argument has another name; those of other libraries (is_causal, attn_mask) are answered with ours.

    torch.compile, torch.export, autocast and fake tensors go through torch.ops.flashfit (docs/pytorch.md).

    Returns out, or (out, lse). Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all
    FlashfitError, and then has written nothing.
    """
    if others:
        refuse(others)
    if return_lse is not True and return_lse is not False:
        raise InvalidType(f"return_lse: {shown(return_lse)}; accepted: True, False")
    handler = _attenders.get(type(q)) or _served(_attenders, "q", q, attend_with_care, "attention")
    if (
        window is None
        and softcap is None
        and alibi_slopes is None
        and sinks is None
        and bias is None
        and seqused_k is None
        and workspace is None
        and batch_invariant is False
    ):
        return handler(
            q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant
        )
    asked = Asked(window, softcap, alibi_slopes, sinks, bias, seqused_k, batch_invariant, workspace)
    return handler(
        q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant, asked
    )


def moe_route(
    logits: T,
    top_k: int,
    *,
    router: Literal["softmax", "topk_softmax", "sigmoid", "sqrt_softplus"] = "softmax",
    renormalize: bool = True,
    router_bias: Any = None,
    groups: tuple[int, int] | None = None,
    scale: float = 1.0,
    weights: Any = None,
    ids: Any = None,
    stream: Any = None,
    variant: str | None = None,
) -> tuple[T, T]:
    """The router of a mixture of experts: each token's top_k experts and their weights.

    ids[t] are the experts of the largest logits[t], the largest first, the lower id first where two are equal; NaN
    counts as the largest. A NaN or an infinity makes NaN of its token's weights, as torch.softmax does, and of no
    other's; ids stay distinct and in range. Arithmetic in fp32, the same bits in every run.

    logits: [tokens, experts], 1 to 512 experts, an array of NumPy, torch, CuPy or JAX, or an object with __dlpack__ or
        __cuda_array_interface__; fp16, bf16 or fp32; on the CPU or on an NVIDIA GPU; any stride of rows, 0 as well.
    top_k: experts a token, 1 to 16 and to experts.
    router: "softmax": weights[t] = softmax(logits[t])[ids[t]], as Qwen and Mixtral have it; "topk_softmax": weights[t]
        = softmax(logits[t][ids[t]]), as gpt-oss has it; "sigmoid", as DeepSeek-V3 has it, and "sqrt_softplus", as
        DeepSeek-V4 does: weights[t] = score[ids[t]], where each expert's score is 1 / (1 + exp(-logit)), or
        sqrt(log(1 + exp(logit))).
    renormalize: a token's weights are divided by their sum; with "topk_softmax" that is 1 anyway.
    router_bias: of the latter two: fp32 [experts], an array or a list; ids are those of the largest score +
        router_bias, and weights those of the scores alone.
    groups: likewise: (groups, kept): the experts in so many equal groups, of which a token's are in the kept ones,
        those with the largest sum of their two largest score + router_bias; on a GPU to 32 groups.
    scale: multiplies weights.
    weights, ids: where to write, fp32 and int32 [tokens, top_k], contiguous, of logits' package and where logits is;
        None for new arrays (a JAX array never changes: None). Objects that only have __dlpack__ or
        __cuda_array_interface__ need both: flashfit allocates no memory for them.
    stream: for GPU arrays: None for the current stream of torch or CuPy, or the one that __cuda_array_interface__
        names, else the legacy default stream; or a torch.cuda.Stream, an object with __cuda_stream__, or an integer
        handle. For CPU arrays: None.
    variant: one of images(), by name, for tests and tuning; None to let flashfit choose. For CPU arrays: None.

    torch.compile, torch.export and fake tensors go through torch.ops.flashfit.moe_route (docs/pytorch.md).

    Returns (weights, ids). Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all
    FlashfitError, and then has written nothing.
    """
    handler = _routers.get(type(logits)) or _served(_routers, "logits", logits, route_with_care, "moe_route")
    plain = (logits, top_k, router, renormalize, weights, ids, stream, variant)
    if router_bias is None and groups is None and type(scale) is float and scale == 1.0:
        found: tuple[T, T] = handler(*plain)
    else:
        found = handler(*plain, router_bias, groups, scale)
    return found


def fused_moe(
    x: T,
    w13: Any,
    w2: Any,
    *,
    router_logits: Any = None,
    topk_weights: Any = None,
    topk_ids: Any = None,
    top_k: int | None = None,
    router: Literal["softmax", "topk_softmax", "sigmoid", "sqrt_softplus"] = "softmax",
    renormalize: bool = True,
    router_bias: Any = None,
    groups: tuple[int, int] | None = None,
    scale: float = 1.0,
    b13: Any = None,
    b2: Any = None,
    activation: str | Swiglu = "swiglu",
    gate_up: Literal["concatenated", "interleaved"] = "concatenated",
    transposed: bool = False,
    weight_on: Literal["output", "input"] = "output",
    experts: Any = None,
    shared: Any = None,
    recompute: bool = False,
    out: T | None = None,
    workspace: Any = None,
) -> T:
    """A layer of experts: each token's experts are small networks of two products, whose results are weighed and added.

    With e = topk_ids[t, k] and w = topk_weights[t, k]: (g, u) = x[t] w13[e]^T + b13[e], h = activation(g, u),
    y = h w2[e]^T + b2[e], out[t] = sum over k of w y, in this order, in fp32, rounded once: the same bits in every run.
    No token is dropped; experts without tokens, repeated ids and no tokens at all are legal. On the CPU a token's
    result does not depend on the tokens around it. docs/moe.md has every formula.

    x: [tokens, hidden], an array of NumPy, torch, CuPy or JAX, or an object with __dlpack__ or
        __cuda_array_interface__; fp16, bf16 or, on the CPU, fp32. w13, w2, b13, b2, shared and out are of its package,
        device and dtype, with any strides from 0, but 1 in the last dimension.
    w13: [experts, 2 intermediate, hidden]; of an activation without gate [experts, intermediate, hidden].
    w2: [experts, hidden, intermediate].
    router_logits: [tokens, experts], fp16, bf16 or fp32: ids and weights are then moe_route()'s, with its top_k,
        router, renormalize, router_bias, groups and scale.
    topk_weights, topk_ids: in place of router_logits: [tokens, top_k] of fp32 (fp16 and bf16 are copied) and int32
        (int64 is copied), top_k to 16. On the CPU an id that is no expert is refused, unless experts is given.
    b13, b2: biases [experts, 2 intermediate] and [experts, hidden].
    activation: "swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", or, without gate, "silu" or "relu2"; or a Swiglu of its
        own alpha, limit and shift.
    gate_up: how w13's outputs lie: all gates, then all ups; or gate and up of each feature side by side.
    transposed: w13 is [experts, hidden, 2 intermediate] and w2 [experts, intermediate, hidden].
    weight_on: "output": w multiplies y; "input": w multiplies x[t], as Llama 4 has it.
    experts: (low, high): w13[0] is expert low's, w13[-1] expert high - 1's, as a rank of expert parallelism has it; or
        a map, int32 [all experts], an array or a list: for each id its place in w13, or -1. Ids of other experts add 0,
        and so do ids that are none.
    shared: (w13, w2) or (w13, w2, gate) of an expert of every token, [2 intermediate, hidden], [hidden, intermediate],
        [hidden], with an intermediate size of its own: y times sigmoid(x[t] gate), or 1, is added last.
    recompute: of torch tensors that require grad on a GPU: True keeps no more than the inputs until the backward, which
        then computes the first product once more. False keeps that product, as docs/moe.md says where and how large.
    out: where to write, [tokens, hidden]; None for a new array (a JAX array never changes: None).
    workspace: memory on a GPU for what lies between the products; as of attention(). On the CPU: None, or any array.

    Returns out. Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all FlashfitError, and then
    has written nothing.
    """
    handler = _layers.get(type(x)) or _served(_layers, "x", x, moe_with_care, "moe")
    asked = AskedLayer(
        router_logits=router_logits,
        topk_weights=topk_weights,
        topk_ids=topk_ids,
        top_k=top_k,
        router=router,
        renormalize=renormalize,
        router_bias=router_bias,
        groups=groups,
        scale=scale,
        b13=b13,
        b2=b2,
        activation=activation,
        gate_up=gate_up,
        transposed=transposed,
        weight_on=weight_on,
        experts=experts,
        shared=shared,
        recompute=recompute,
    )
    found: T = handler(x, w13, w2, asked, out, workspace)
    return found


def grouped_mlp(
    x: T,
    w13: Any,
    w2: Any,
    offsets: Any,
    *,
    b13: Any = None,
    b2: Any = None,
    activation: str | Swiglu = "swiglu",
    gate_up: Literal["concatenated", "interleaved"] = "concatenated",
    transposed: bool = False,
    out: T | None = None,
    workspace: Any = None,
) -> T:
    """The experts of fused_moe() without routing: rows that lie sorted by expert, as they come from other ranks.

    out[r] = y of row r by expert e, where offsets[e] <= r < offsets[e + 1]; rows of no expert give 0.

    x: [rows, hidden]; x, w13, w2, b13, b2, activation, gate_up, transposed, out and workspace are fused_moe()'s: fp16,
        bf16 or, on the CPU, fp32.
    offsets: int32 [experts + 1], never falling, from 0 to the rows: an array where x is, or a list. Checked by value on
        the CPU.

    Returns out. Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all FlashfitError, and then
    has written nothing.
    """
    if offsets is None:
        raise InvalidType("offsets: None; accepted: an array or a list of experts + 1 integers")
    handler = _layers.get(type(x)) or _served(_layers, "x", x, moe_with_care, "moe")
    asked = AskedLayer(offsets=offsets, b13=b13, b2=b2, activation=activation, gate_up=gate_up, transposed=transposed)
    found: T = handler(x, w13, w2, asked, out, workspace)
    return found
