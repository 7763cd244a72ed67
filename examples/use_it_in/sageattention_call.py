"""Code that calls SageAttention, on flashfit's exact kernels; the package itself is not needed."""

import torch
from flashfit.integrations import sageattention as fit

fit.install()
from sageattention import sageattn  # noqa: E402 - there from now on

q, k, v = (torch.randn(1, 4, 16, 64) for _ in range(3))  # [batch, heads, rows, head_dim]
print(tuple(sageattn(q, k, v, is_causal=True).shape))
print(*fit.log(), sep="\n")
