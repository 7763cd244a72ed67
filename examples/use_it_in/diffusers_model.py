"""A transformer of diffusers on flashfit. This one is tiny and random; a pipeline's is the same."""

import torch
from diffusers import WanTransformer3DModel
from flashfit.integrations import diffusers as fit

fit.install()
model = WanTransformer3DModel(
    patch_size=(1, 2, 2),
    num_attention_heads=2,
    attention_head_dim=12,
    in_channels=4,
    out_channels=4,
    text_dim=16,
    freq_dim=32,
    ffn_dim=32,
    num_layers=2,
    rope_max_seq_len=32,
).eval()
with torch.no_grad():
    video = model(torch.randn(1, 4, 2, 8, 8), torch.tensor([3]), torch.randn(1, 7, 16)).sample
print(tuple(video.shape))
print(*fit.log(), sep="\n")
