"""Runs a program of ByteDance's SeedVR as it is, without flash-attn and apex:

    torchrun --nproc-per-node=1 seedvr_program.py projects/inference_seedvr2_3b.py --video_path ...

Without a program it makes the call that NaDiT makes, on two windows.
"""

import os
import runpy
import sys

from flashfit.integrations import seedvr

seedvr.install()  # before NaDiT is imported
if len(sys.argv) > 1:
    sys.argv = sys.argv[1:]
    sys.path[0] = os.getcwd()  # SeedVR is run in its own folder
    runpy.run_path(sys.argv[0], run_name="__main__")
else:
    import torch
    from apex.normalization import FusedRMSNorm
    from flash_attn import flash_attn_varlen_func

    windows = torch.tensor([0, 40, 71], dtype=torch.int32)
    q, k, v = (FusedRMSNorm(128)(torch.randn(71, 2, 128)).bfloat16() for _ in range(3))
    print(tuple(flash_attn_varlen_func(q, k, v, windows, windows, 40, 40, deterministic=False).shape))
print(*seedvr.log(), sep="\n")
