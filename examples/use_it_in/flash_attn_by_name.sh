#!/usr/bin/env bash
# Code that imports flash-attn, on flashfit: a stand-in by that name in a folder of its own, and out again.
set -euo pipefail
python=${PYTHON:-python3} folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$python" -m flashfit shim flash-attn --target "$folder"
PYTHONPATH="$folder:${PYTHONPATH:-}" "$python" - <<'CODE'
import torch
from flash_attn import flash_attn_func

q = torch.randn(1, 16, 4, 64, dtype=torch.float16)
print(tuple(flash_attn_func(q, q, q, causal=True).shape))
CODE
"$python" -m flashfit shim flash-attn --target "$folder" --remove
