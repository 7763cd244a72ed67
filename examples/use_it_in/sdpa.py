"""PyTorch's own modules on flashfit: one line before, and a log of what it took."""

import torch
from flashfit.integrations import sdpa

torch.manual_seed(0)
encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), 2)
x = torch.randn(2, 32, 64)
before = encoder(x)

sdpa.install()
after = encoder(x)
after.square().mean().backward()
print(f"largest difference {(after - before).abs().max().item():.0e}")
print(*sdpa.log(), sep="\n")
