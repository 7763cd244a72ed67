"""xformers' memory_efficient_attention on flashfit, with sequences of any lengths."""

import torch
import xformers.ops as xops
from flashfit.integrations import xformers as fit
from xformers.ops.fmha.attn_bias import BlockDiagonalCausalMask

fit.install()
q, k, v = (torch.randn(1, 12, 4, 32) for _ in range(3))
mask = BlockDiagonalCausalMask.from_seqlens([5, 3, 4])
print(tuple(xops.memory_efficient_attention(q, k, v, mask).shape))
print(*fit.log(), sep="\n")
