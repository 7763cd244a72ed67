"""Products over mma.sync, cuBLAS's and ours: `python -m tools.gpu.mma_sync_peer FILE [SIZE [LIBRARY ...]]`, on a GPU
with PyTorch, cuBLASLt and NVML.

How near a library that is tuned for years comes to what `mma.sync` does from registers (`flashfit bench --ceilings`),
on a GPU whose own products are wgmma's. Of every algorithm that cuBLASLt has for a bf16 product of SIZE x SIZE x SIZE
(default 4096) each tile and number of stages that it lists is timed; the profiler says which kernels they launch. Those
for Ampere have "16816" in their names, the instruction's sizes. FILE gets the three fastest of each algorithm, and
whether all were timed.

Then the fastest two of those, and a layer of one expert of that size by each LIBRARY's large products over mma.sync
(without one, by this library's), take turns, each for a second, with random numbers and with zeros: TFLOP/s, SM clock
and watts, as in product_limits. A LIBRARY may be one whose loop lacks a part, to see what that costs.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t, c_uint32, c_void_p
from typing import Any

import flashfit
import torch
from flashfit import _library
from flashfit.bench.machine import describe, revision
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from tools.gpu.product_limits import Meter, in_turns
from tools.gpu.race_libraries import captured, use
from tools.gpu.time_products import forced

F32, BF16, COMPUTE_F32 = 0, 14, 68  # cudaDataType_t, cublasComputeType_t (library_types.h, cublas_api.h)
TRANSPOSE_A, TRANSPOSED = 3, 1  # cublasLtMatmulDescAttributes_t, cublasOperation_t
TILE_IDS, STAGES_IDS = 6, 13  # cublasLtMatmulAlgoCapAttributes_t
TILE, STAGES = 1, 6  # cublasLtMatmulAlgoConfigAttributes_t
WORKSPACE_BYTES = 32 << 20
MOST_IDS = 4096
SAMPLES = 20
SCAN_SECONDS = 30  # begin no configuration after this

ROUNDS = 3
LARGE = "experts_mma_bf16_128x"  # how the names of flashfit's products for many rows an expert begin

Algorithm = ctypes.c_uint64 * 8


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace_bytes", c_size_t),
        ("status", c_int),
        ("waves", ctypes.c_float),
        ("reserved", c_int * 4),
    )


class Product:
    """c = a b' of square bf16 matrices, by whichever algorithm."""

    def __init__(self, size: int) -> None:
        torch.zeros(1, device="cuda") @ torch.zeros(1, device="cuda")  # so that PyTorch loads cuBLASLt
        self.library = ctypes.CDLL(
            "libcublasLt.so.13" if str(torch.version.cuda).startswith("13") else "libcublasLt.so.12"
        )
        self.types = (COMPUTE_F32, F32, *(BF16,) * 4)
        self.handle, self.product, self.layout = c_void_p(), c_void_p(), c_void_p()
        self.call("Create", byref(self.handle))
        self.call("MatmulDescCreate", byref(self.product), COMPUTE_F32, F32)
        self.call("MatmulDescSetAttribute", self.product, TRANSPOSE_A, byref(c_int(TRANSPOSED)), c_size_t(4))
        sizes = (ctypes.c_uint64(size), ctypes.c_uint64(size), ctypes.c_int64(size))
        self.call("MatrixLayoutCreate", byref(self.layout), BF16, *sizes)
        self.a, self.b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
        self.c = torch.empty_like(self.a)
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self.library, f"cublasLt{name}")(*arguments):
            raise RuntimeError(f"cublasLt{name}: status {status}")

    def ids(self) -> list[int]:
        found, count = (c_int * MOST_IDS)(), c_int()
        self.call("MatmulAlgoGetIds", self.handle, *self.types, MOST_IDS, found, byref(count))
        return sorted(found[: count.value])

    def able(self, algorithm: Any, which: int) -> list[int]:
        """The numbers of a list that it is able to take, at least 0: none given."""
        found, written = (c_uint32 * MOST_IDS)(), c_size_t()
        get = self.library.cublasLtMatmulAlgoCapGetAttribute
        status = get(byref(algorithm), which, found, c_size_t(ctypes.sizeof(found)), byref(written))
        if status:
            return [0]
        return list(found[: written.value // 4]) or [0]

    def algorithms(self) -> Iterator[tuple[tuple[int, int, int], Any]]:
        """(id, tile, stages) and the algorithm, of all that cuBLASLt calls possible."""
        for number in self.ids():
            base = Algorithm()
            self.call("MatmulAlgoInit", self.handle, *self.types, number, byref(base))
            for tile in self.able(base, TILE_IDS):
                for stages in self.able(base, STAGES_IDS):
                    algorithm, result = Algorithm(*base), Heuristic()
                    for which, value in ((TILE, tile), (STAGES, stages)):
                        self.call(
                            "MatmulAlgoConfigSetAttribute", byref(algorithm), which, byref(c_uint32(value)), c_size_t(4)
                        )
                    matrices = (self.layout,) * 4
                    check = self.library.cublasLtMatmulAlgoCheck
                    status = check(self.handle, self.product, *matrices, byref(algorithm), byref(result))
                    if status == 0 and result.workspace_bytes <= WORKSPACE_BYTES:
                        yield (number, tile, stages), algorithm

    def run(self, algorithm: Any) -> bool:
        """False if cuBLASLt refuses it after all."""
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        pointers = [c_void_p(x.data_ptr()) for x in (self.a, self.b, self.c)]
        status: int = self.library.cublasLtMatmul(
            *(self.handle, self.product, byref(one)),
            *(pointers[0], self.layout, pointers[1], self.layout, byref(zero)),
            *(pointers[2], self.layout, pointers[2], self.layout, byref(algorithm)),
            *(
                c_void_p(self.workspace.data_ptr()),
                c_size_t(WORKSPACE_BYTES),
                c_void_p(torch.cuda.current_stream().cuda_stream),
            ),
        )
        return status == 0

    def milliseconds(self, algorithm: Any, samples: int) -> float:
        """The median of so many."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(samples + 1)]
        events[0].record()
        for event in events[1:]:
            self.run(algorithm)
            event.record()
        torch.cuda.synchronize()
        return float(statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:])))

    def kernel(self, algorithm: Any) -> str:
        """The name of the longest kernel that it launches."""
        with profile(activities=[ProfilerActivity.CUDA]) as recorded:
            self.run(algorithm)
            torch.cuda.synchronize()
        events = [e for e in recorded.events() or () if e.device_type == DeviceType.CUDA]
        return str(max(events, key=lambda e: e.device_time).name) if events else "?"


def one_expert(size: int) -> dict[str, torch.Tensor]:
    """A layer of one expert, all sizes the same: what time_products.forced() takes."""
    x, out = torch.randn(size, size, device="cuda").bfloat16(), torch.empty(size, size, device="cuda").bfloat16()
    w13, w2 = (torch.randn(1, n * size, size, device="cuda").div(size**0.5).bfloat16() for n in (2, 1))
    ids = torch.zeros(size, 1, dtype=torch.int32, device="cuda")
    return {"x": x, "w13": w13, "w2": w2, "out": out, "topk_ids": ids, "topk_weights": torch.ones_like(ids).float()}


def sustained(product: Product, size: int, fastest: list[tuple[str, Any]], libraries: list[str]) -> Any:
    """cuBLAS's `fastest` algorithms and each library's products in turns of a second."""
    tensors = one_expert(size)
    graphs = {}
    for name, algorithm in fastest:
        graphs[name] = captured(lambda algorithm=algorithm: product.run(algorithm)), 2.0 * size**3  # type: ignore[misc]
    calls = []  # a graph keeps no workspace
    for library in libraries:
        use(library)
        for variant in sorted({image["variant"] for image in flashfit.images()}):
            if not variant.startswith(LARGE):
                continue
            if (call := forced(variant, tensors)) is not None:
                calls.append(call)
                graphs[f"{library} {variant}"] = captured(call), 6.0 * size**3
    meter = Meter()
    found = in_turns(meter, str(size), "random", graphs, ROUNDS)
    for tensor in (product.a, product.b, tensors["x"], tensors["w13"], tensors["w2"]):
        tensor.zero_()
    return found + in_turns(meter, str(size), "zeros", graphs, ROUNDS)


def main() -> None:
    path, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    libraries = sys.argv[3:] or [str(_library.library().path)]
    product = Product(size)
    timed: list[tuple[float, tuple[int, int, int], Any]] = []
    end, complete = time.monotonic() + SCAN_SECONDS, True
    for key, algorithm in product.algorithms():
        if time.monotonic() > end:
            print("some configurations were left out: time has passed", file=sys.stderr)
            complete = False
            break
        if product.run(algorithm):
            timed.append((product.milliseconds(algorithm, 2), key, algorithm))
    torch.cuda.synchronize()
    fastest: dict[int, list[tuple[float, tuple[int, int, int], Any]]] = {}
    for one in sorted(timed, key=lambda t: t[0]):
        fastest.setdefault(one[1][0], []).append(one)
    exact = product.a.float()[:64] @ product.b.float().T
    found: list[dict[str, Any]] = []
    over_mma: dict[str, tuple[float, Any]] = {}  # of each kernel the fastest
    for number, some in fastest.items():
        for _, key, algorithm in some[:3]:
            product.c.zero_()
            name = product.kernel(algorithm)
            right = bool(torch.allclose(product.c.T[:64].float(), exact, rtol=2e-2, atol=1))
            rate = 2 * size**3 / product.milliseconds(algorithm, SAMPLES) / 1e9
            if "16816" in name and right:
                short = name.split("<")[-1].split(">")[0]
                over_mma[short] = max(over_mma.get(short, (0.0, None)), (rate, algorithm), key=lambda one: one[0])
            found.append(
                {"algorithm": number, "tile": key[1], "stages": key[2], "kernel": name, "tflops": rate, "right": right}
            )
    found.sort(key=lambda f: -f["tflops"])
    for each in found:
        print(f"{each['tflops']:6.0f} TFLOP/s  {'right' if each['right'] else 'WRONG'}  {each['kernel'][:120]}")
    two = sorted(over_mma.items(), key=lambda one: -one[1][0])[:2]
    report = {
        "machine": describe("cuda"),
        "torch": torch.__version__,
        "revision": revision(),
        "size": size,
        "configurations": len(timed),
        "complete": complete,
        "fastest": found,
        "sustained": sustained(product, size, [(name, algorithm) for name, (_, algorithm) in two], libraries),
    }
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
