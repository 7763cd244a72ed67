"""Two sequences of different lengths, causal, on the CPU: PYTHONPATH=python python examples/hello.py."""

import flashfit
import numpy as np

rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((12, 4, 64)).astype(np.float16) for _ in range(3))  # [tokens, heads, head_dim]
out = flashfit.attention(q, k, v, causal=True, cu_seqlens_q=[0, 5, 12], cu_seqlens_k=[0, 5, 12])
assert np.array_equal(out[5], v[5])  # the first token of a sequence sees itself alone
print(out.shape, out.dtype, flashfit.explain("L4", head_dim=64, seqlen_q=512, heads_q=8)[0]["reason"])
