"""Gradients of attention on torch tensors: PyTorch's own flash backward, given flashfit's output and LSE.

P = exp(score - lse) and dP need nothing else of the forward, so any backward that reads an output and an LSE serves.
`_gradients.py` says which problems PyTorch's takes; all else is refused at the forward. The sinks' gradient, which no
backward of PyTorch has, is a sum over rows and is computed here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from ._attention import heads_are_first, lse_shape, scale_of
from ._errors import InvalidArgument
from ._gradients import Problem, misfit_of
from ._options import TENSORS, Asked, window_of
from ._packages.torch_tensors import NO_GRADIENT
from ._tensors import lengths_list, offsets_list
from ._torch_compute import all_plain
from ._torch_fakes import check_call, check_like_q
from ._torch_operators import Gradients, Operator
from ._torch_rules import NO_SECOND

_TENSORS = ("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", *TENSORS)
_WITH_GRADIENTS = ("q", "k", "v", "sinks")
#: The first release whose backward reads the LSE of variable lengths as [heads, total]; older ones pad it.
_UNPADDED_LSE = (2, 8)
_RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
_deterministic_lock = threading.Lock()


@cache
def _capability(device: int) -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability(device)
    return major, minor


def problem_of(
    q: Any, v: Any, softcap: float = 0.0, alibi_slopes: Any = None, bias: Any = None, seqused_k: Any = None
) -> Problem:
    """The problem that torch tensors of any kind ask gradients of."""
    capability = _capability(q.get_device()) if q.is_cuda else None
    dims = int(q.shape[-1]), int(v.shape[-1])
    return Problem(capability, *dims, float(softcap), alibi_slopes is not None, bias is not None, seqused_k is not None)


def check_gradients(tensors: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuses, in one line, what PyTorch's backward does not take."""
    given = dict(zip(_TENSORS, tensors))
    for name, x in given.items():
        if x is not None and name not in _WITH_GRADIENTS and x.requires_grad:
            raise InvalidArgument(f"{name}: {NO_GRADIENT}")
    q, v = given["q"], given["v"]
    others = {name: given.get(name) for name in ("alibi_slopes", "bias", "seqused_k")}
    misfit = misfit_of(problem_of(q, v, options.get("softcap", 0.0), **others))
    if misfit is not None:
        raise InvalidArgument(misfit.words)
    if q.is_cuda and given.get("cu_seqlens_q") is not None and _RELEASE < _UNPADDED_LSE:
        raise InvalidArgument(
            f"cu_seqlens_q: given in a call that needs gradients with torch {torch.__version__} on a GPU; accepted: "
            "torch 2.8 or newer, or a call under torch.no_grad()"
        )


def _gradients_of(ctx: Any, needs: tuple[bool, ...], grad: Any) -> tuple[Any, ...]:
    out, lse, *tensors = ctx.saved_tensors
    options = {key: x for key, x in ctx.options.items() if key not in ("softcap", "batch_invariant")}
    # Past the dispatcher where it would do nothing: a trip through it and back costs more than a small backward does.
    plain = all_plain((grad, out, lse, *tensors)) and not grad.is_meta
    run: Any = _compute if plain else torch.ops.flashfit.attention_backward.default
    given = run(grad, *tensors[:3], out, lse, *tensors[3:], **options)
    wanted = dict(zip(_WITH_GRADIENTS, given))
    return tuple(wanted[name] if needed else None for name, needed in zip(_TENSORS, needs))


def gradients(return_lse: bool) -> Gradients:
    """Of attention, or of attention_lse, whose LSE has none, as PyTorch's and FlashAttention's has not."""
    results = 2 if return_lse else 1
    return Gradients("attention_lse", _gradients_of, results, saves=2, check=check_gradients)


@contextmanager
def _deterministic(asked: bool) -> Iterator[None]:
    """PyTorch's flash backward is deterministic where all of PyTorch is asked to be; the switch is the process's."""
    if not asked or (
        torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
    ):
        yield
        return
    with _deterministic_lock:
        before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def _as_q(x: Any, q: Any) -> Any:
    """The gradient with the strides that the fake promises."""
    if x.stride() == q.stride() and q.is_contiguous():  # what is asked most, asked quickly
        return x
    return x if x.stride() == torch.empty_like(q, device="meta").stride() else torch.empty_like(q).copy_(x)


def _longest(cu_seqlens: Any) -> int:
    """At least the longest sequence's rows. Reading it waits for the GPU; a graph that is captured cannot."""
    if torch.cuda.is_current_stream_capturing():
        return 0
    lengths = cu_seqlens.diff()
    return int(lengths.max()) if lengths.numel() else 0


def _by_gpu(
    grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, cu_q: Any, cu_k: Any, options: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """All in "bshd" order."""
    head_dim = q.shape[-1]
    if head_dim % 8:  # PyTorch's kernels take multiples of 8; zeros change no score
        grad, q, k, v, out = (torch.nn.functional.pad(x, (0, -head_dim % 8)) for x in (grad, q, k, v, out))
    if cu_q is None:
        longest_q, longest_k = q.shape[1], k.shape[1]
    else:
        longest_q, longest_k = _longest(cu_q) or q.shape[0], _longest(cu_k) or k.shape[0]
    random = torch.empty(2, dtype=torch.uint64, device=q.device)  # of dropout: not read
    window = {f"window_size_{side}": options[side] for side in ("left", "right") if options[side] >= 0}
    with _deterministic(options["deterministic"]):
        found = torch.ops.aten._flash_attention_backward.default(
            *(grad, q, k, v, out, lse, cu_q, cu_k, longest_q, longest_k, 0.0, options["causal"], random, random[0]),
            scale=options["scale"],
            **window,
        )
    dq, dk, dv = (x[..., :head_dim] for x in found) if head_dim % 8 else found
    return dq, dk, dv


def _mask(q: Any, k: Any, slopes: Any, bias: Any, lengths: Any, options: dict[str, Any]) -> tuple[bool, Any]:
    """Whether PyTorch's own causal mask serves, and the additive mask of all that a call asks for; q and k in "bhsd"
    order. PyTorch's causal mask begins at the first key, ours ends with the last one."""
    rows, columns, causal = q.shape[2], k.shape[2], options["causal"]
    left, right = options["left"], 0 if causal else options["right"]
    if slopes is None and bias is None and lengths is None and left < 0 and (right < 0 or (causal and rows == columns)):
        return causal, None
    device = q.device
    keys = torch.arange(columns, device=device)
    there = torch.tensor([columns], device=device) if lengths is None else lengths.long()
    there = there.view(-1, 1, 1, 1)
    distance = torch.arange(rows, device=device).view(-1, 1) + there - rows - keys  # [1 or batch, 1, rows, keys]
    seen = keys < there
    if left >= 0:
        seen = seen & (distance <= left)
    if right >= 0:
        seen = seen & (distance >= -right)
    added = torch.zeros((), device=device)
    if slopes is not None:
        added = added - slopes[(None,) * (2 - slopes.dim())][..., None, None] * distance.abs()
    if bias is not None:
        bias = bias[(None,) * (4 - bias.dim())]
        added = added + (torch.where(bias, 0.0, -torch.inf) if bias.dtype == torch.bool else bias)
    # PyTorch before 2.5 reads the keys of a row as if they lay side by side, and a bias may be a transposed one.
    mask = torch.where(seen, added.float(), -torch.inf).contiguous()
    return False, mask.expand(*torch.broadcast_shapes(mask.shape, (1, 1, rows, columns)))


def _by_cpu(
    grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, mask: tuple[bool, Any], scale: float
) -> tuple[Any, Any, Any]:
    """All in "bhsd" order. PyTorch's kernel for the CPU has no groups of heads: keys are repeated, gradients summed."""
    group = q.shape[1] // max(k.shape[1], 1)
    if 0 in (*q.shape, *k.shape):
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    several = [x.repeat_interleave(group, 1) if group > 1 else x for x in (k, v)]
    causal, added = mask
    found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        grad, q, *several, out, lse, 0.0, causal, attn_mask=added, scale=scale
    )
    dq, *of_keys = found
    if group == 1:
        return dq, of_keys[0], of_keys[1]
    dk, dv = (x.unflatten(1, (-1, group)).sum(2, dtype=torch.float32).to(x.dtype) for x in of_keys)
    return dq, dk, dv


def _sequences(
    tensors: tuple[Any, ...], slopes: Any, lengths: Any, cu_q: Any, cu_k: Any, options: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Each sequence by itself on the CPU; tensors as "hsd", sequences one after another."""
    grad, q, k, v, out, lse = tensors
    results = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    starts_q, starts_k = cu_q.tolist(), cu_k.tolist()
    for i, (first_q, last_q, first_k, last_k) in enumerate(zip(starts_q, starts_q[1:], starts_k, starts_k[1:])):
        rows, keys = slice(first_q, last_q), slice(first_k, last_k)
        of_rows = [x[None, :, rows] for x in (grad, q, out, lse)]
        of_keys = [x[None, :, keys] for x in (k, v)]
        of_one = slopes if slopes is None or slopes.dim() == 1 else slopes[i]
        mask = _mask(of_rows[1], of_keys[0], of_one, None, None if lengths is None else lengths[i : i + 1], options)
        (grad_1, q_1, out_1, lse_1), (k_1, v_1) = of_rows, of_keys
        found = _by_cpu(grad_1, q_1, k_1, v_1, out_1, lse_1, mask, options["scale"])
        for result, part, x in zip(results, (rows, keys, keys), found):
            result[:, part] = x[0]
    return results


def _of_sinks(grad: Any, out: Any, lse: Any, sinks: Any, heads: int) -> Any:
    """-sum over rows of exp(sink - lse) (grad . out): a sink has a share in each softmax, and no value."""
    shares = (grad.float() * out.float()).sum(-1)
    if heads == -2:  # tokens before heads: as lse lies
        shares = shares.transpose(-1, -2)
    empty = lse == -torch.inf  # of a row without keys whose sink is -inf: a difference of infinities would be NaN
    each = (torch.exp(sinks[:, None] - lse.masked_fill(empty, torch.inf)) * shares).sum(-1)
    return -(each if each.dim() == 1 else each.sum(0))  # [heads], or [batch, heads]


def _compute(
    grad_out: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    bias: Any = None,
    seqused_k: Any = None,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    layout: str = "bshd",
    window_left: int = -1,
    window_right: int = -1,
    deterministic: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """Gradients of q, k, v and the sinks, of whatever strides."""
    heads_first = heads_are_first(layout)
    if sinks is None:
        of_sinks = q.new_empty(0, dtype=torch.float32)  # an operator gives no None
    else:
        of_sinks = _of_sinks(grad_out, out, lse, sinks, -3 if heads_first else -2)
    options = {
        "causal": causal,
        "scale": q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale,
        "left": window_left,
        "right": window_right,
        "deterministic": deterministic,
    }
    whole = cu_seqlens_q is None and bias is None and seqused_k is None and window_left < 0 and window_right < 0
    rows = -2 if heads_first else -3
    if not whole or (causal and k.shape[rows] < q.shape[rows]):  # else each row sees a key
        # What FlashAttention calls the LSE of a row that sees no key: then exp(score - lse) is 0, not NaN.
        lse = lse.masked_fill(lse == -torch.inf, torch.inf)
    tensors = grad_out, q, k, v, out
    if q.is_cuda:
        if heads_first:
            tensors = tuple(x.transpose(-2, -3) for x in tensors)
        if 0 in (*q.shape, *k.shape):
            found: Any = tuple(torch.zeros_like(x) for x in (q, k, v))
        else:
            found = _by_gpu(*tensors, lse, cu_seqlens_q, cu_seqlens_k, options)
            found = tuple(x.transpose(-2, -3) if heads_first else x for x in found)
    else:
        if not heads_first:
            tensors = tuple(x.transpose(-2, -3) for x in tensors)
        if cu_seqlens_q is None:
            mask = _mask(tensors[1], tensors[2], alibi_slopes, bias, seqused_k, options)
            found = _by_cpu(*tensors, lse, mask, options["scale"])
        else:
            found = _sequences((*tensors, lse), alibi_slopes, seqused_k, cu_seqlens_q, cu_seqlens_k, options)
        found = tuple(x if heads_first else x.transpose(-2, -3) for x in found)
    return *found, of_sinks


def _check_tensors(
    grad_out: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    offsets: tuple[Any, Any],
    asked: Asked,
    layout: str,
    softmax_scale: float | None,
) -> None:
    """What the forward checks without a look at memory, and that its results are of such a call."""
    check_call(q, k, v, *offsets, softmax_scale, layout, asked)
    check_like_q(q, {"grad_out": grad_out, "out": out})
    if lse.dtype != torch.float32 or lse.device != q.device:
        raise InvalidArgument(f"lse: {lse.dtype} on {lse.device}; accepted: torch.float32 on {q.device}, where q is")
    misfit = misfit_of(problem_of(q, v, 0.0, asked.alibi_slopes, asked.bias, asked.seqused_k))
    if misfit is not None:
        raise InvalidArgument(misfit.words)


def _check_memory(
    grad_out: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, offsets: tuple[Any, Any], asked: Asked, layout: str
) -> None:
    """What PyTorch's kernels would read wrongly, or past the end: shapes, strides, and values that lie on the CPU."""
    window_of(asked.window)
    heads_first = heads_are_first(layout)
    shape, of_lse = (*q.shape[:-1], v.shape[-1]), lse_shape(q.shape, heads_first)
    for name, x, want in (("grad_out", grad_out, shape), ("out", out, shape), ("lse", lse, of_lse)):
        if tuple(x.shape) != tuple(want):
            raise InvalidArgument(f"{name}: shape is {tuple(x.shape)}; accepted: {tuple(want)}")
    for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
        if x.shape[-1] > 1 and x.stride(-1) != 1 and x.numel():
            raise InvalidArgument(f"{name}: strides are {x.stride()}; accepted: 1 in the last dimension")
    if q.is_cuda:
        return
    tokens = -2 if heads_first else -3
    keys = [k.shape[tokens]] * k.shape[0]
    if offsets[0] is not None:
        offsets_list("cu_seqlens_q", offsets[0].tolist(), q.shape[tokens])
        starts = offsets_list("cu_seqlens_k", offsets[1].tolist(), k.shape[tokens])
        keys = [end - start for start, end in zip(starts, starts[1:])]
    if asked.seqused_k is not None:
        lengths_list("seqused_k", asked.seqused_k.tolist(), keys)


def _operator(run: Any) -> Any:
    """The operator's kernel, which anybody may call, or its fake: `run` after the checks that the forward makes."""

    def kernel(
        grad_out: Any,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        lse: Any,
        cu_seqlens_q: Any = None,
        cu_seqlens_k: Any = None,
        *tensors: Any,
        layout: str = "bshd",
        softmax_scale: float | None = None,
        window_left: int = -1,
        window_right: int = -1,
        **flags: bool,
    ) -> tuple[Any, ...]:
        offsets = cu_seqlens_q, cu_seqlens_k
        asked = Asked((window_left, window_right), **dict(zip(TENSORS, tensors)))
        _check_tensors(grad_out, q, k, v, out, lse, offsets, asked, layout, softmax_scale)
        found: tuple[Any, ...] = run(grad_out, q, k, v, out, lse, offsets, asked, layout, softmax_scale, flags)
        return found

    return kernel


def _checked(
    grad_out: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    offsets: tuple[Any, Any],
    asked: Asked,
    layout: str,
    softmax_scale: float | None,
    flags: dict[str, bool],
) -> tuple[Any, ...]:
    """_compute() after a look at memory and values."""
    scale_of(softmax_scale)
    _check_memory(grad_out, q, k, v, out, lse, offsets, asked, layout)
    left, right = asked.window
    options = {"layout": layout, "softmax_scale": softmax_scale, "window_left": left, "window_right": right, **flags}
    *gradients, of_sinks = _compute(grad_out, q, k, v, out, lse, *offsets, *asked.tensors(), **options)
    return *(_as_q(x, like) for x, like in zip(gradients, (q, k, v))), of_sinks


def _fake(_: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, offsets: Any, asked: Asked, *__: Any) -> Any:
    of_sinks = q.new_empty((0,) if asked.sinks is None else asked.sinks.shape, dtype=torch.float32)
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), of_sinks


OPERATORS = (
    Operator(
        "attention_backward",
        _operator(_checked),
        _operator(_fake),
        inputs=("grad_out", "q", "k", "v", "out", "lse"),
        options=_TENSORS[3:],
        arguments='*, bool causal=False, float? softmax_scale=None, str layout="bshd", SymInt window_left=-1, '
        "SymInt window_right=-1, bool deterministic=False",
        returns="(Tensor, Tensor, Tensor, Tensor)",
        refusal=NO_SECOND,
    ),
)
