"""FlashAttention-2's forward functions over flashfit: `from flashfit.flash_attn import flash_attn_func`.

Names, parameters, their order and defaults are those of flash-attn 2.8, and so are its modules: bert_padding has the
padding helpers, flash_attn_interface the functions. docs/flash_attn.md lists what differs. Importing this imports
neither torch nor NumPy.
"""

from __future__ import annotations

from ._dense import flash_attn_func, flash_attn_kvpacked_func, flash_attn_qkvpacked_func
from ._kvcache import flash_attn_with_kvcache
from ._varlen import flash_attn_varlen_func, flash_attn_varlen_kvpacked_func, flash_attn_varlen_qkvpacked_func
from .bert_padding import (
    index_first_axis,
    index_put_first_axis,
    pad_input,
    unpad_input,
    unpad_input_for_concatenated_sequences,
)

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
    "index_first_axis",
    "index_put_first_axis",
    "pad_input",
    "unpad_input",
    "unpad_input_for_concatenated_sequences",
]
