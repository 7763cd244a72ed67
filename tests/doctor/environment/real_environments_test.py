"""Healthy environments of real packages, as people have them: the doctor finds nothing against any of them.

Each is unpacked from the package index's wheels and judged for GPUs and a driver that its makers say it is for. What
is found against one is a false alarm, or it is not as healthy as it is held to be here. The small ones run where there
is a network, the others with FLASHFIT_TEST_WHEELS=all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.environment.unpacked import make_environment, wheels
from tests.doctor.fetched import LARGE, fetch_all, tool

NUMPY = "numpy==2.4.6"
# What each PyTorch of the package index depends on.
CUDA_121 = (
    "nvidia-cublas-cu12==12.1.3.1 nvidia-cuda-cupti-cu12==12.1.105 nvidia-cuda-nvrtc-cu12==12.1.105 "
    "nvidia-cuda-runtime-cu12==12.1.105 nvidia-cudnn-cu12==9.1.0.70 nvidia-cufft-cu12==11.0.2.54 "
    "nvidia-curand-cu12==10.3.2.106 nvidia-cusolver-cu12==11.4.5.107 nvidia-cusparse-cu12==12.1.0.106 "
    "nvidia-nccl-cu12==2.20.5 nvidia-nvjitlink-cu12==12.9.86 nvidia-nvtx-cu12==12.1.105"
)
CUDA_124 = (
    "nvidia-cublas-cu12==12.4.5.8 nvidia-cuda-cupti-cu12==12.4.127 nvidia-cuda-nvrtc-cu12==12.4.127 "
    "nvidia-cuda-runtime-cu12==12.4.127 nvidia-cudnn-cu12==9.1.0.70 nvidia-cufft-cu12==11.2.1.3 "
    "nvidia-curand-cu12==10.3.5.147 nvidia-cusolver-cu12==11.6.1.9 nvidia-cusparse-cu12==12.3.1.170 "
    "nvidia-cusparselt-cu12==0.6.2 nvidia-nccl-cu12==2.21.5 nvidia-nvjitlink-cu12==12.4.127 "
    "nvidia-nvtx-cu12==12.4.127"
)
CUDA_128 = (
    "nvidia-cublas-cu12==12.8.4.1 nvidia-cuda-cupti-cu12==12.8.90 nvidia-cuda-nvrtc-cu12==12.8.93 "
    "nvidia-cuda-runtime-cu12==12.8.90 nvidia-cudnn-cu12==9.10.2.21 nvidia-cufft-cu12==11.3.3.83 "
    "nvidia-cufile-cu12==1.13.1.3 nvidia-curand-cu12==10.3.9.90 nvidia-cusolver-cu12==11.7.3.90 "
    "nvidia-cusparse-cu12==12.5.8.93 nvidia-cusparselt-cu12==0.7.1 nvidia-nvjitlink-cu12==12.8.93 "
    "nvidia-nvtx-cu12==12.8.90"
)
TORCH_28 = f"torch==2.8.0 triton==3.4.0 {CUDA_128} nvidia-nccl-cu12==2.27.3"
TORCH_29 = f"torch==2.9.1 triton==3.5.1 {CUDA_128} nvidia-nccl-cu12==2.27.5 nvidia-nvshmem-cu12==3.3.20"
CUDA_130 = (
    "nvidia-cublas==13.1.1.3 nvidia-cuda-cupti==13.0.85 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 "
    "nvidia-cudnn-cu13==9.20.0.48 nvidia-cufft==12.0.0.61 nvidia-cufile==1.15.1.6 nvidia-curand==10.4.0.35 "
    "nvidia-cusolver==12.0.4.66 nvidia-cusparse==12.6.3.3 nvidia-cusparselt-cu13==0.8.1 nvidia-nccl-cu13==2.29.7 "
    "nvidia-nvjitlink==13.5.37 nvidia-nvshmem-cu13==3.4.5 nvidia-nvtx==13.0.85 cuda-bindings==13.5.0"
)
CUDA_132 = (
    "nvidia-cublas==13.4.1.3 nvidia-cuda-cccl==13.3.5.0.6 nvidia-cuda-cupti==13.2.86 nvidia-cuda-nvrtc==13.2.86 "
    "nvidia-cuda-runtime==13.2.86 nvidia-cudnn-cu13==9.26.0.51 nvidia-cufft==12.2.0.57 nvidia-cufile==1.17.1.22 "
    "nvidia-cusolver==12.2.0.11 nvidia-cusparse==12.7.10.12 nvidia-cusparselt-cu13==0.8.1 nvidia-nccl-cu13==2.30.7 "
    "nvidia-nvjitlink==13.5.37 nvidia-nvshmem-cu13==3.7.2 nvidia-nvtx==13.2.86 cuda-bindings==13.5.0"
)
# The newest libraries of CUDA 12.
CUDA_129 = (
    "nvidia-cublas-cu12==12.9.3.13 nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86 "
    "nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cudnn-cu12==9.28.0.42 "
    "nvidia-cufft-cu12==11.4.1.4 nvidia-curand-cu12==10.3.10.19 nvidia-cusolver-cu12==11.7.5.82 "
    "nvidia-cusparse-cu12==12.5.10.65 nvidia-nccl-cu12==2.32.3 nvidia-nvjitlink-cu12==12.9.86 "
    "nvidia-nvshmem-cu12==3.8.0"
)


@dataclass(frozen=True)
class Real:
    """What is installed, what it is judged for, and what the report has to clear by name."""

    name: str
    requirements: str
    gpus: str = ""
    driver: str = ""
    cleared: str = ""
    megabytes: int = 0
    large: bool = True
    library_path: bool = False  #: NVIDIA's folders are in LD_LIBRARY_PATH, as these packages' pages ask for


ENVIRONMENTS = [
    Real("opencv", f"opencv-python-headless==5.0.0.93 {NUMPY}", "L40", "550", "", 70, large=False),
    Real("onnxruntime on the CPU", f"onnxruntime==1.32.0 {NUMPY}", "L40", "550", "", 35, large=False),
    Real(
        "data and learning without a GPU",
        f"scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 pyarrow==26.0.1 numba==0.68.1 llvmlite==0.50.0 {NUMPY}",
        "H100",
        "570",
        "",
        180,
        large=False,
    ),
    Real(
        "CTranslate2",
        f"ctranslate2==4.8.5 nvidia-cublas-cu12==12.8.4.1 nvidia-cuda-nvrtc-cu12==12.8.93 {NUMPY}",
        "T4,L4",
        "570",
        "ctranslate2",
        800,
    ),
    Real("CTranslate2 on the CPU", f"ctranslate2==4.8.5 {NUMPY}", "", "", "ctranslate2", 60, large=False),
    Real("JAX on the CPU", f"jax==0.10.2 jaxlib==0.10.2 {NUMPY}", "A100", "550", "", 110, large=False),
    Real("warp", f"warp-lang==1.19.0 {NUMPY}", "L40", "13.4", "warp-lang", 160),
    Real("torch for the CPU", f"torch==2.13.0+cpu {NUMPY}", "", "", "torch", 200),
    Real("torch 2.4, CUDA 12.1", f"torch==2.4.1 triton==3.0.0 {CUDA_121}", "V100,L40,H100", "535", "torch", 2700),
    Real("torch 2.6, CUDA 12.4", f"torch==2.6.0 triton==3.2.0 {CUDA_124}", "A100,H100", "550", "torch", 2700),
    Real(
        "torch 2.9 and its siblings, CUDA 12.8",
        f"{TORCH_29} torchvision==0.24.1 torchaudio==2.9.1",
        "A100,L40,H100,B200,rtx 5090",
        "570",
        "torch torchvision",
        3100,
    ),
    # Of its libraries one is for 9.0 alone, and one for 10.0 and CPython 3.10.
    Real("torchao", f"{TORCH_29} torchao==0.14.1", "A100,L40", "570", "torch torchao", 3000),
    Real("torch 2.13, CUDA 13.0", f"torch==2.13.0 triton==3.7.1 {CUDA_130}", "T4,L40,H100,B200", "580", "torch", 2500),
    Real("torch 2.15, CUDA 13.2", f"torch==2.15.0 triton==3.9.0 {CUDA_132}", "L4,H100", "13.2", "torch", 2500),
    Real("bitsandbytes", f"{TORCH_29} bitsandbytes==0.50.2", "T4,L40,H100", "570", "torch bitsandbytes", 3100),
    Real("xformers", f"{TORCH_29} xformers==0.0.33.post2", "A100,H100", "570", "torch xformers", 3200),
    Real("flashinfer", f"{TORCH_29} flashinfer-python==0.6.4 flashinfer-cubin==0.6.4", "B200", "570", "torch", 3300),
    Real("FBGEMM", f"{TORCH_29} fbgemm-gpu==1.4.2", "A100,H100", "570", "torch fbgemm-gpu", 3400),
    Real(
        "vLLM",
        f"{TORCH_28} vllm==0.11.0 torchvision==0.23.0 torchaudio==2.8.0 xformers==0.0.32.post1 xgrammar==0.1.25 "
        "cupy-cuda12x==14.2.0 numba==0.61.2 llvmlite==0.44.0 numpy==2.2.6",
        "A100,L40,H100",
        "570",
        "torch vllm xformers",
        3900,
    ),
    Real("Transformer Engine's library", f"{TORCH_29} transformer-engine-cu12==2.20.2", "H100", "570", "torch", 3500),
    Real(
        "JAX on CUDA 12",
        f"jax==0.10.2 jaxlib==0.10.2 jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2 {CUDA_129} {NUMPY}",
        "L40,H100",
        "575",
        "jax-cuda12-plugin",
        2900,
    ),
    Real("TensorFlow", f"tensorflow==2.21.0 {CUDA_129} {NUMPY}", "L40,H100", "575", "tensorflow", 3100),
    Real(
        "onnxruntime on CUDA 13",
        "onnxruntime-gpu==1.31.1 nvidia-cublas==13.10.0.20 nvidia-cuda-nvrtc==13.5.37 "
        f"nvidia-cuda-runtime==13.5.37 nvidia-cudnn-cu13==9.28.1.4 nvidia-cufft==12.5.0.14 nvidia-curand==10.4.5.25 "
        f"nvidia-nvjitlink==13.5.37 {NUMPY}",
        "L40,H100",
        "13.5",
        "onnxruntime-gpu",
        1800,
    ),
    Real(
        "numba-cuda",
        "numba-cuda==0.30.4 numba==0.68.1 llvmlite==0.50.0 cuda-bindings==12.9.10 cuda-core==1.2.2 "
        "cuda-pathfinder==1.9.0 nvidia-cuda-cccl-cu12==12.9.27 nvidia-cuda-nvcc-cu12==12.9.86 "
        f"nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79 nvidia-nvjitlink-cu12==12.9.86 {NUMPY}",
        "L40",
        "575",
        "numba-cuda cuda-core",
        300,
    ),
    Real(
        "CuPy for CUDA 12",
        "cupy-cuda12x==14.2.0 cuda-pathfinder==1.9.0 nvidia-cublas-cu12==12.9.2.10 nvidia-cuda-nvrtc-cu12==12.9.86 "
        "nvidia-cuda-runtime-cu12==12.9.79 nvidia-cufft-cu12==11.4.1.4 nvidia-curand-cu12==10.3.10.19 "
        f"nvidia-cusolver-cu12==11.7.5.82 nvidia-cusparse-cu12==12.5.10.65 nvidia-nvjitlink-cu12==12.9.86 {NUMPY}",
        "L40,H100",
        "575",
        "cupy-cuda12x",
        1700,
    ),
    Real(
        "CuPy for CUDA 11",
        "cupy-cuda11x==13.6.0 fastrlock==0.8.4 nvidia-cublas-cu11==11.11.3.6 nvidia-cuda-nvrtc-cu11==11.8.89 "
        "nvidia-cuda-runtime-cu11==11.8.89 nvidia-cufft-cu11==10.9.0.58 nvidia-curand-cu11==10.3.0.86 "
        f"nvidia-cusolver-cu11==11.4.1.48 nvidia-cusparse-cu11==11.7.5.86 {NUMPY}",
        "V100,A100",
        "525",
        "cupy-cuda11x",
        1200,
        library_path=True,
    ),
    Real("spconv", f"spconv-cu120==2.3.6 cumm-cu120==0.4.11 {NUMPY}", "A100,L40", "535", "spconv-cu120", 100),
    Real(
        "FAISS",
        "faiss-gpu-cu12==1.14.1.post1 nvidia-cublas-cu12==12.9.3.13 nvidia-cuda-nvrtc-cu12==12.9.86 "
        f"nvidia-cuda-runtime-cu12==12.9.79 {NUMPY}",
        "A100,L40",
        "575",
        "faiss-gpu-cu12",
        700,
    ),
    Real(
        "RAPIDS' RAFT",
        "pylibraft-cu12==25.8.0 libraft-cu12==25.8.0 rmm-cu12==25.8.0 librmm-cu12==25.8.0 cuda-bindings==12.9.10 "
        "nvidia-cublas-cu12==12.9.3.13 nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-curand-cu12==10.3.10.19 "
        "nvidia-cusolver-cu12==11.7.5.82 nvidia-cusparse-cu12==12.5.10.65 nvidia-nccl-cu12==2.32.3 "
        f"nvidia-nvjitlink-cu12==12.9.86 {NUMPY}",
        "A100,L40",
        "575",
        "libraft-cu12",
        1600,
    ),
    Real("XGBoost", f"xgboost==3.2.0 nvidia-nccl-cu12==2.32.3 scipy==1.17.1 {NUMPY}", "L40", "575", "xgboost", 500),
    Real("Open3D", f"open3d==0.18.0 {NUMPY}", "", "", "open3d", 400),
]


@pytest.fixture
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Real, Path]]:
    case: Real = request.param
    if case.large and not LARGE:  # even where they are in the cache: unpacking gigabytes takes minutes
        pytest.skip(f"{case.megabytes} MB of wheels are unpacked with FLASHFIT_TEST_WHEELS=all alone")
    packages = fetch_all(wheels(case.requirements.split(), case.megabytes, case.large))
    yield case, make_environment(tmp_path / "venv", packages)
    shutil.rmtree(tmp_path)  # gigabytes


def judged(case: Real, path: Path) -> dict[str, Any]:
    words = [str(tool().parents[1] / "bin/flashfit"), "doctor", "--env", str(path), "--json", "--no-cache"]
    for gpu in filter(None, case.gpus.split(",")):
        words += ["--gpu", gpu]
    words += ["--driver", case.driver] if case.driver else []
    library_path = ":".join(map(str, path.glob("lib/*/site-packages/nvidia/*/lib"))) if case.library_path else ""
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | {"LD_LIBRARY_PATH": library_path}
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def alarms(report: dict[str, Any]) -> list[str]:
    """Every problem that is more than a note, in one line each."""
    lines = [("", p) for p in report["environment"]["problems"]]
    lines += [(f"{target['target']}: ", p) for target in report["targets"] for p in target["problems"]]
    return [
        f"{of}{p['severity']} {p['code']} {p['member']}: {p['message']}" for of, p in lines if p["severity"] != "note"
    ]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=[e.name for e in ENVIRONMENTS], indirect=True)
def test_nothing_is_found_against_a_healthy_environment(environment: tuple[Real, Path]) -> None:
    case, path = environment
    report = judged(case, path)
    assert alarms(report) == []
    assert report["environment"]["unread"] == []
    assert report["verdict"] == "fits"
    assert report["environment"]["installed"] >= len(case.requirements.split())
    assert set(case.cleared.split()) <= set(report["environment"]["cleared"])


WITHOUT_CUBLAS = Real("CTranslate2 alone", f"ctranslate2==4.8.5 {NUMPY}", "T4,L4", "550", "", 60, large=False)


@pytest.mark.parametrize("environment", [WITHOUT_CUBLAS], ids=[WITHOUT_CUBLAS.name], indirect=True)
def test_a_library_that_is_opened_and_that_nothing_brings_is_found(environment: tuple[Real, Path]) -> None:
    report = judged(*environment)
    (alarm,) = alarms(report)
    assert alarm.startswith("ctranslate2==4.8.5: degrades FF330 ctranslate2.libs/libctranslate2-")
    assert "opens libcublas.so.12 when it first uses a GPU" in alarm


def test_there_are_twenty() -> None:
    assert len(ENVIRONMENTS) >= 20
    assert len({e.name for e in ENVIRONMENTS}) == len(ENVIRONMENTS)
