"""Attention of Transformers' models: attn_implementation="fit_attention".

Transformers 5 keeps a registry of attention functions and one of the masks that they want; both get the name. It has no
"flash" in it, since Transformers takes such names for packages of FlashAttention. What flashfit does not take goes on
to Transformers' own function for scaled_dot_product_attention, or, with a softcap or sinks, which that drops, to the
model's eager one. docs/use-it-in.md says what was tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .._errors import CudaError, FlashfitError, OutOfMemory, Unsupported
from ._host import Host, off

#: What a model's attn_implementation is called.
NAME = "fit_attention"

#: What continuous batching gives: a cache in pages.
_OF_PAGES = ("block_table", "cache")


class _Decision(NamedTuple):
    """What was decided about a call."""

    causal: bool
    reason: str  # why it is left, "" if it is not
    options: str  # in words
    counter: Callable[[], Any] | None  # counts one more; None while it is traced


def _put_in() -> Callable[[], None]:
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask
    from transformers.modeling_utils import PreTrainedModel

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from .._operations import attention
    from .._tensors import shown
    from ._known_calls import LeftCalls
    from ._torch_fit import constant, misfit, misfit_of_gradients
    from ._torch_take import FOR_MATH, asks_for_math, noting, place_of, wants_gradients
    from ._torch_words import GRADIENTS, dtype_of_call, words

    setting = off(HOST.name)
    note = noting(HOST.notes.note)
    is_compiling = torch.compiler.is_dynamo_compiling
    in_autocast = torch._C._is_any_autocast_enabled
    known = LeftCalls(HOST.notes)

    #: What was decided about calls that are alike: looking at their tensors costs more than a small call does.
    decided: dict[tuple[Any, ...], _Decision] = {}

    def why_left(
        q: Any, k: Any, v: Any, mask: Any, dropout: float, position_bias: Any, softcap: Any, sinks: Any
    ) -> str:
        if setting:
            return f"{setting} turns it off"
        if dropout:
            return f"dropout: {shown(dropout)}"
        place = place_of(q)
        for name, x in (("position_bias", position_bias), ("attention_mask", mask)):
            if wants_gradients(x):
                return f"{name}: requires grad"
        if wants_gradients(q, k, v, sinks):
            if not is_compiling() and asks_for_math():
                return FOR_MATH
            has_bias = mask is not None or position_bias is not None
            reason = misfit_of_gradients(place, q.shape[-1], v.shape[-1], float(softcap or 0), has_bias)
            if reason:
                return reason
        return misfit(place, str(dtype_of_call(q)), q.shape[-1], v.shape[-1])

    def in_words(position_bias: Any, softcap: Any, sinks: Any, gradients: bool) -> str:
        """The options of a call."""
        given = {
            "position bias": position_bias is not None,
            "softcap": softcap is not None,
            "sinks": sinks is not None,
            GRADIENTS: gradients,
        }
        return ", ".join([word for word, there in given.items() if there])

    def decide(
        q: Any,
        k: Any,
        v: Any,
        mask: Any,
        dropout: float,
        is_causal: Any,
        position_bias: Any = None,
        softcap: Any = None,
        sinks: Any = None,
    ) -> _Decision:
        """is_causal: the module's, if it was not given. What is left is counted, unless it is traced."""
        causal = q.shape[2] > 1 and mask is None and bool(is_causal)
        needs = wants_gradients(q, k, v)
        if is_compiling():
            reason = why_left(q, k, v, mask, dropout, position_bias, softcap, sinks)
            return _Decision(causal, reason, in_words(position_bias, softcap, sinks, needs and not reason), None)
        key = (
            *(dtype_of_call(q), q.device, q.shape[1], k.shape[1], q.shape[-1], v.shape[-1]),
            *(causal, dropout, softcap, needs and (True, asks_for_math())),
            None if mask is None else (mask.dtype, wants_gradients(mask)),
            None if position_bias is None else wants_gradients(position_bias),
            None if sinks is None else wants_gradients(sinks),
            HOST.notes.cleared,
        )
        found = decided.get(key)
        if found is None:
            given = q, k, v, mask, dropout, position_bias, softcap, sinks
            reason = why_left(*given)
            with torch.no_grad():  # what is left for its gradients is taken without
                alike = why_left(*given)
            more = in_words(position_bias, softcap, sinks, needs and not reason)
            knower = known.knower if alike == reason else HOST.notes.counter
            count = knower(words(q, k, 1, causal, mask, more), reason)
            found = decided[key] = _Decision(causal, reason, more, count)
        if found.reason and found.counter is not None:
            found.counter()
        return found

    left_or_decided = known.left_or(decide)

    def of_model(module: Any, q: Any, k: Any, v: Any, mask: Any, dropout: float, **options: Any) -> Any:
        """What would have answered a call with a softcap or sinks without flashfit."""
        eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
        if eager is None:
            name = "softcap" if options.get("softcap") is not None else "s_aux"
            raise Unsupported(
                f"{name}: given to {type(module).__name__}, which has no eager attention for what flashfit leaves; "
                "accepted: None, or a call that flashfit takes: no dropout, torch.no_grad()"
            )
        causal = options.pop("is_causal", None)
        causal = getattr(module, "is_causal", True) if causal is None else causal
        if mask is None and causal and q.shape[2] > 1:
            k, v = k[:, :, : q.shape[2]], v[:, :, : q.shape[2]]
            mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).tril()[None, None]
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.zeros((), dtype=q.dtype, device=q.device).where(mask, torch.finfo(q.dtype).min)
        return eager(module, q, k, v, mask, dropout=dropout, **options)

    def fit_attention(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        dropout: float = 0.0,
        scaling: Any = None,
        is_causal: Any = None,
        position_bias: Any = None,
        softcap: Any = None,
        s_aux: Any = None,
        **others: Any,
    ) -> Any:
        """As Transformers calls attention: query [batch, heads, rows, head_dim], key and value [batch, heads_kv, keys,
        head_dim]; returns [batch, rows, heads, head_dim] and no weights, which are never in memory."""
        for name in _OF_PAGES if others else ():
            if others.get(name) is not None:
                raise Unsupported(
                    f"{name}: given by continuous batching, and flashfit reads no pages yet; accepted: None, or "
                    'attn_implementation="sdpa" for continuous batching'
                )
        of_module = getattr(module, "is_causal", True) if is_causal is None else is_causal
        has_more = position_bias is not None or softcap is not None or s_aux is not None
        if has_more or is_compiling() or in_autocast():  # what the memory of calls does not know
            found = decide(query, key, value, attention_mask, dropout, of_module, position_bias, softcap, s_aux)
        else:
            found = left_or_decided(query, key, value, attention_mask, dropout, of_module)
            if found is NotImplemented:
                # To unpack an empty dict would cost as much as the look.
                host = partial(sdpa_attention_forward, **others) if others else sdpa_attention_forward
                return host(
                    module,
                    query,
                    key,
                    value,
                    attention_mask,
                    dropout=dropout,
                    scaling=scaling,
                    is_causal=is_causal,
                )
        causal, reason, more, count = found
        if not reason:
            k, v, bias = key, value, attention_mask
            if position_bias is not None:
                bias = position_bias
                if attention_mask is not None:
                    of_mask = attention_mask
                    bias = (
                        torch.where(of_mask, position_bias, -torch.inf)
                        if of_mask.dtype == torch.bool
                        else position_bias + of_mask
                    )
            # Transformers' causal mask begins at the first key, flashfit's ends with the last.
            window = None
            if causal and k.shape[2] != query.shape[2]:
                rows = query.shape[2]
                if k.shape[2] > rows:  # a prefill into an empty static cache: keys behind the rows are not there yet
                    k, v = k[:, :, :rows], v[:, :, :rows]
                    bias = None if bias is None else bias[..., :rows]
                else:
                    window = (-1, rows - k.shape[2])
            try:
                out = attention(
                    query,
                    k,
                    v,
                    layout="bhsd",
                    causal=causal and window is None,
                    softmax_scale=scaling,
                    window=window,
                    softcap=softcap,
                    bias=bias,
                    sinks=None if s_aux is None else s_aux.float(),
                )
            except FlashfitError as error:
                if is_compiling() or isinstance(error, (CudaError, OutOfMemory)):
                    raise
                reason, count = str(error), None
            else:
                if count is None:
                    note(query, key, 1, causal, attention_mask, more)
                else:
                    count()
                return out.transpose(1, 2).contiguous(), None  # as Transformers' own: models take views of it
        if count is None:
            note(query, key, 1, causal, attention_mask, more, reason)
        if position_bias is not None:
            others["position_bias"] = position_bias
        given = module, query, key, value, attention_mask
        if softcap is None and s_aux is None:
            return sdpa_attention_forward(*given, dropout=dropout, scaling=scaling, is_causal=is_causal, **others)
        options = {"scaling": scaling, "is_causal": is_causal, "softcap": softcap, "s_aux": s_aux, **others}
        return of_model(*given, dropout, **options)

    @constant
    def say_that_they_are_causal(configuration: str) -> bool:
        """Whether the modules of such a model's attention say is_causal, on which a mask that is left out for being
        causal counts: those of models that are made for functions such as sdpa's. The others take a name that is not
        of Transformers, too. configuration: the module of the model's config."""
        models: Any = sys.modules.get(configuration.replace("configuration_", "modeling_"))
        kinds: list[Any] = [
            kind
            for kind in (vars(models).values() if models else ())
            if isinstance(kind, type) and issubclass(kind, PreTrainedModel) and kind.__module__ == models.__name__
        ]
        return bool(kinds) and all(kind._supports_sdpa or kind._supports_attention_backend for kind in kinds)

    def fit_mask(*given: Any, allow_is_causal_skip: bool = True, config: Any = None, **options: Any) -> Any:
        """sdpa's, or None where a mask would only be causal and the model's modules say so."""
        if allow_is_causal_skip and config is not None:
            allow_is_causal_skip = say_that_they_are_causal(type(config).__module__)
        return sdpa_mask(*given, allow_is_causal_skip=allow_is_causal_skip, config=config, **options)

    AttentionInterface.register(NAME, fit_attention)
    AttentionMaskInterface.register(NAME, fit_mask)

    def take_out() -> None:
        for registry in (AttentionInterface, AttentionMaskInterface):
            registry._global_mapping.pop(NAME, None)
        known.settle()

    return take_out


HOST = Host("transformers", _put_in, even_if_off=True)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
