"""Times a layer of experts under every product that fits it, interleaved, beside PyTorch's grouped layer:
`python -m tools.gpu.time_products MODEL TOKENS [TEXT]`, on a GPU; TEXT: variants whose name has it. Also says whether
all products over mma.sync, which add in one order whatever the tile, gave the same bits; fails if not.
"""

from __future__ import annotations

import ctypes
import random
import statistics
import sys
from collections.abc import Callable
from typing import Any

import flashfit
import torch
from flashfit._library import library
from flashfit._packages.dlpack_arrays import _DLTensor as DLTensor
from flashfit.bench import moe
from flashfit.bench.arrays import TorchArrays
from flashfit.bench.gpu import Device, loops
from flashfit.bench.peers.experts import TorchGrouped

ROUNDS = 9
KINDS = {torch.bfloat16: (4, 16), torch.float16: (2, 16), torch.float32: (2, 32), torch.int32: (0, 32)}
TENSORS = ("x", "w13", "w2", "out", "topk_ids", "topk_weights", "router_logits", "offsets", "b13", "b2", "router_bias",
           "expert_map", "shared_w13", "shared_w2", "shared_gate")  # fmt: skip


class FusedMoeArgs(ctypes.Structure):
    """flashfit_fused_moe_args."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        *((name, ctypes.POINTER(DLTensor)) for name in TENSORS),
        ("stream", ctypes.c_void_p),
        ("variant", ctypes.c_char_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
        *((name, ctypes.c_int32) for name in ("experts_low", "experts_high", "activation")),
        *((name, ctypes.c_float) for name in ("alpha", "limit", "shift")),
        *((name, ctypes.c_int32) for name in ("top_k", "groups", "groups_kept")),
        ("scale", ctypes.c_float),
        ("z", ctypes.POINTER(DLTensor)),
    ]


def described(tensor: Any) -> DLTensor:
    numbers = ctypes.c_int64 * tensor.ndim
    return DLTensor(tensor.data_ptr(), 2, tensor.device.index or 0, tensor.ndim, *KINDS[tensor.dtype], 1,
                    numbers(*tensor.shape), numbers(*tensor.stride()), 0)  # fmt: skip


def forced(variant: str, tensors: dict[str, Any]) -> Callable[[], Any] | None:
    """The layer by that product; None where it does not fit."""
    given = {name: ctypes.pointer(described(tensor)) for name, tensor in tensors.items()}
    args = FusedMoeArgs(struct_size=ctypes.sizeof(FusedMoeArgs), variant=variant.encode(), **given)
    size, c = ctypes.c_uint64(), library().c
    if c.flashfit_fused_moe_workspace(ctypes.byref(args), ctypes.byref(size)):
        return None
    space = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    args.workspace, args.workspace_bytes = space.data_ptr(), size.value
    if c.flashfit_fused_moe_prepare(ctypes.byref(args)):
        return None

    def call(space: Any = space) -> Any:
        args.stream = torch.cuda.current_stream().cuda_stream
        if status := c.flashfit_fused_moe(ctypes.byref(args)):
            raise RuntimeError(f"{variant}: status {status}")
        return tensors["out"]

    return call


def layer_of(model: Any, tokens: int) -> tuple[Any, Any, dict[str, Any]]:
    """A layer of random tokens that are routed already: its case, its inputs, and the tensors that forced() takes."""
    case = moe.case_of(model, tokens, "random")
    inputs = moe.MOE.make(TorchArrays("cuda"), case, 0)
    weights, ids = flashfit.moe_route(inputs.logits, case.top_k)
    return case, inputs, {"x": inputs.x, "w13": inputs.w13, "w2": inputs.w2, "out": inputs.out, "topk_ids": ids,
                          "topk_weights": weights}  # fmt: skip


def main() -> int:
    model, tokens, text = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:4])
    case, inputs, tensors = layer_of({each.name: each for each in moe.MODELS}[model], tokens)
    device = Device(flushed=False)
    # A graph does not keep its call's workspace.
    calls, timers, bits = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name in sorted({image["variant"] for image in flashfit.images()}):
        if not name.startswith(("experts_mma_", "experts_wgmma_")) or text not in name:
            continue
        if (call := forced(name, tensors)) is not None:
            calls[name] = call
            inputs.out.fill_(float("nan"))
            bits[name] = call().clone()
            timers[name] = device.graph(call)
    if not timers:
        print("no product fits")
        return 1
    timers["PyTorch grouped"] = device.plain(TorchGrouped().prepare(case, inputs))
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name in random.sample(list(timers), len(timers)):
            times[name].append(timers[name].sample())
    peer = statistics.median(times["PyTorch grouped"])
    for name, samples in times.items():
        us = statistics.median(samples)
        print(f"{name}: {us:.1f} us, {case.work['flop'] / us / 1e6:.0f} TFLOP/s, {peer / us:.3f} of PyTorch's")
    found = loops()
    for name in ("tensor_tflops", "mma_sync_tflops"):
        print(f"{name}:", {dtype: round(each["value"]) for dtype, each in found.get(name, {}).items()})
    own = [out for name, out in bits.items() if name.startswith("experts_mma_")]
    same = all(torch.equal(out.view(torch.int16), own[0].view(torch.int16)) for out in own)
    print("same bits from every product over mma.sync:", same)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
