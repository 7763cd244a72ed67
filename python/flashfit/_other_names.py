"""What other libraries call the arguments of attention(), for the answer to a caller who used their name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import InvalidType

_BIAS = "bias=, added to the scores, or bool and True where a key is seen"
_NO_DROPOUT = "nothing: flashfit drops no weights"
_NO_MAXIMUM = "nothing: lengths are read from cu_seqlens_q and cu_seqlens_k"
#: From scaled_dot_product_attention, FlashAttention-2 and -3, xFormers, FlashInfer and Transformers.
_CALLED_HERE = {
    "query": "q=",
    "key": "k=",
    "value": "v=",
    "is_causal": "causal=",
    "scale": "softmax_scale=",
    "sm_scale": "softmax_scale=",
    "scaling": "softmax_scale=",
    "attn_mask": _BIAS,
    "attn_bias": _BIAS,
    "attention_mask": _BIAS,
    "window_size": "window=(left, right)",
    "sliding_window": "window=(left, right)",
    "window_left": "window=(left, right)",
    "logits_soft_cap": "softcap=",
    "s_aux": "sinks=",
    "learnable_sink": "sinks=",
    "seqused": "seqused_k=",
    "return_attn_probs": "return_lse=",
    "return_softmax_lse": "return_lse=",
    "enable_gqa": "nothing: k and v may have fewer heads than q",
    "max_seqlen_q": _NO_MAXIMUM,
    "max_seqlen_k": _NO_MAXIMUM,
    "dropout": _NO_DROPOUT,
    "dropout_p": _NO_DROPOUT,
}


def refuse(others: Mapping[str, Any]) -> None:
    """Raises InvalidType for arguments that attention() does not have, and says what it calls the first of them."""
    name = next(iter(others))
    accepted = _CALLED_HERE.get(name)
    if accepted is None:
        accepted = "its named arguments, see help(flashfit.attention)"
    raise InvalidType(f"{name}: not an argument of attention; accepted: {accepted}")
