"""Healthy wheels of the package index, each for the environment that it is made for: the doctor finds nothing in them.

Beside the environments of tests/doctor/environment/real_environments_test.py, which are judged as a whole: here each
wheel is judged by itself, as before it is installed. What is found against one is a false alarm. They are small, and
need the network once (about 240 MB): without it each is skipped and named. A second list is larger (about 2 GB) and
fetched with FLASHFIT_TEST_WHEELS=all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.doctor.environment.unpacked import PLATFORMS
from tests.doctor.fetched import Wheel, fetch
from tests.doctor_command import run

AARCH64 = tuple(p.replace("x86_64", "aarch64") for p in PLATFORMS)
MUSL = ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64")
WINDOWS = ("win_amd64",)
MAC = tuple(f"macosx_{major}_0_arm64" for major in range(15, 10, -1))
LINUX = "--platform linux_x86_64 --glibc 2.36"
#: Platforms that a wheel may be for, and the question for each.
PLACES = {
    PLATFORMS: LINUX,
    AARCH64: "--platform linux_aarch64 --glibc 2.36",
    MUSL: "--platform musllinux_1_2_x86_64",
    WINDOWS: "--platform win_amd64",
    MAC: "--platform macosx_15_0_arm64",
}


@dataclass(frozen=True)
class Healthy:
    """A wheel, and what is asked beside its platform: GPUs, driver, PyTorch."""

    requirement: str
    asked: str = "--gpu L40"
    platforms: tuple[str, ...] = PLATFORMS
    python: str = "3.11"
    megabytes: int = 1
    large: bool = False  #: taken if it is in the cache, or where all are fetched

    @property
    def name(self) -> str:
        return f"{self.requirement} {self.platforms[0]}"


HEALTHY = [
    # PyTorch's own and its extensions
    Healthy("torchvision==0.19.1", "--gpu T4 --gpu A100 --gpu H100 --torch 2.4.1", megabytes=7),
    Healthy("torchvision==0.19.1", "--gpu L40 --torch 2.4.1", WINDOWS, megabytes=2),
    Healthy("torchvision==0.16.2", "--gpu V100 --torch 2.1.2", python="3.10", megabytes=7),
    Healthy("torchaudio==2.4.1", "--gpu L40 --torch 2.4.1", megabytes=4),
    Healthy("torchaudio==2.6.0", "--gpu L40 --torch 2.6.0", WINDOWS, megabytes=3),
    Healthy("torchtext==0.18.0", "--gpu L40 --torch 2.3.0", megabytes=2),
    Healthy("tensordict==0.4.0", "--gpu L40 --torch 2.3.0"),
    Healthy("torchrl==0.4.0", "--gpu L40 --torch 2.3.0", megabytes=6),
    Healthy("torchcodec==0.2.1", "--gpu L40 --torch 2.6.0"),
    Healthy("torch-tensorrt==2.4.0", "--gpu A100 --torch 2.4.1", megabytes=14),
    Healthy("xformers==0.0.30", "--gpu A100 --gpu H100 --driver 550 --torch 2.7.0", megabytes=32),
    Healthy("auto-gptq==0.7.1", "--gpu A100 --gpu L40 --torch 2.2.1", megabytes=24),
    Healthy("xgrammar==0.1.19", "--gpu H100 --torch 2.6.0", megabytes=6),
    Healthy("gsplat==1.4.0", "--gpu L40 --torch 2.4.1"),
    Healthy("nerfacc==0.5.3", "--gpu L40 --torch 2.1.2"),
    Healthy("optimum-quanto==0.2.4", "--gpu L40 --torch 2.4.1"),
    Healthy("torch-geometric==2.5.3", "--gpu L40 --torch 2.4.1", megabytes=2),
    # NVIDIA's libraries
    Healthy("nvidia-cuda-runtime-cu12==12.4.127", "--gpu H100 --driver 550"),
    Healthy("nvidia-cuda-runtime-cu12==12.4.127", "--gpu L40 --driver 551.61", WINDOWS),
    Healthy("nvidia-cuda-cupti-cu12==12.4.127", "--gpu H100 --driver 550", megabytes=14),
    Healthy("nvidia-nvtx-cu12==12.4.127", "--gpu H100 --driver 550"),
    Healthy("nvidia-cufile-cu12==1.13.1.3", "--gpu H100 --driver 570", megabytes=2),
    Healthy("nvidia-nvjpeg-cu12==12.3.1.117", "--gpu V100 --gpu H100 --driver 550", megabytes=3),
    Healthy("nvidia-cudnn-frontend==1.6.1", "--gpu H100 --driver 550"),
    Healthy("nvidia-cuda-runtime-cu11==11.8.89", "--gpu V100 --driver 525"),
    Healthy("nvidia-nvjitlink-cu12==12.4.127", "--gpu H100 --driver 550", AARCH64, megabytes=21),
    Healthy("cuda-bindings==12.9.0", "--gpu L40 --driver 575", megabytes=12),
    Healthy("nvidia-ml-py==12.560.30"),
    # other users of GPUs
    Healthy("onnxruntime==1.17.3", megabytes=7),
    Healthy("onnxruntime==1.17.3", "--gpu L40", AARCH64, megabytes=6),
    Healthy("onnxruntime-directml==1.17.3", "--gpu L40", WINDOWS, megabytes=16),
    Healthy("jax-cuda12-plugin==0.4.30", "--gpu V100 --gpu L40 --gpu H100 --driver 550", megabytes=16),
    Healthy("jax-cuda12-plugin==0.4.30", "--gpu H100 --driver 550", AARCH64, megabytes=16),
    Healthy("ctransformers==0.2.27", "--gpu L40 --driver 535", megabytes=10),
    Healthy("numba==0.60.0", megabytes=4),
    Healthy("lightgbm==4.5.0", megabytes=4),
    Healthy("decord==0.6.0", megabytes=14),
    # bystanders
    Healthy("pillow==10.4.0", megabytes=5),
    Healthy("pillow==10.4.0", "--gpu L40", WINDOWS, megabytes=3),
    Healthy("pillow==10.4.0", "", MAC, megabytes=4),
    Healthy("numpy==1.26.4", "--gpu L40", MUSL, megabytes=19),
    Healthy("numpy==1.26.4", "--gpu H100", AARCH64, megabytes=14),
    Healthy("scipy==1.14.1", megabytes=41, python="3.12"),
    Healthy("tokenizers==0.19.1", megabytes=4),
    Healthy("safetensors==0.4.3", "--gpu H100", AARCH64, megabytes=2),
    Healthy("orjson==3.10.6", "--gpu L40", MUSL),
    Healthy("cryptography==42.0.8", megabytes=4),
    Healthy("psutil==6.0.0", "--gpu L40", WINDOWS),
    Healthy("h5py==3.11.0", megabytes=6),
    Healthy("grpcio==1.64.1", megabytes=6),
    Healthy("transformers==4.44.2", megabytes=10),
]


def more(requirement: str, asked: str = "--gpu H100 --gpu L40 --driver 580", megabytes: int = 1) -> Healthy:
    """Of a second list, chosen apart from the rules: each is judged for CPython 3.12, and fetched on request alone."""
    return Healthy(requirement, asked, python="3.12", megabytes=megabytes, large=True)


def beside(torch: str, gpus: str = "--gpu H100 --gpu L40") -> str:
    return f"{gpus} --driver 580 --torch {torch}"


HEALTHY += [
    # PyTorch's extensions, each beside its PyTorch
    more("torchvision==0.24.1", beside("2.9.1"), 8),
    more("torchvision==0.29.0", beside("2.14.0"), 8),
    more("torchaudio==2.9.1", beside("2.9.1"), 2),
    more("torchaudio==2.11.0", beside("2.11.0"), 2),
    more("torchcodec==0.9.1", beside("2.9.1"), 2),
    more("tensordict==0.9.1", beside("2.8.0")),
    more("torchrl==0.9.2", beside("2.8.0"), 1),
    more("torchao==0.15.0", beside("2.9.1", "--gpu L40"), 7),
    more("torch-tensorrt==2.9.0", beside("2.9.0+cu130"), 4),
    more("xgrammar==0.1.27", beside("2.8.0"), 9),
    more("bitsandbytes==0.48.2", beside("2.8.0"), 60),
    more("lmdeploy==0.10.2", beside("2.8.0"), 112),
    more("fbgemm-gpu==1.4.0", beside("2.9.0", "--gpu H100"), 280),
    more("flashinfer-python==0.5.3", beside("2.9.1"), 7),
    more("vllm-flash-attn==2.6.1", beside("2.4.0", "--gpu H100 --gpu A100"), 76),
    more("xformers==0.0.33.post2", beside("2.9.1"), 123),
    more("liger-kernel==0.6.2", beside("2.8.0")),
    more("tilelang==0.1.6", beside("2.8.0"), 72),
    # NVIDIA's
    more("nvidia-cuda-nvcc-cu12==12.4.131", megabytes=20),
    more("nvidia-nvcomp-cu12==4.2.0.14", megabytes=45),
    more("pynvjitlink-cu12==0.6.0", megabytes=27),
    more("rmm-cu12==25.8.0", megabytes=2),
    more("librmm-cu12==25.8.0", megabytes=3),
    more("kvikio-cu12==25.8.0", megabytes=1),
    more("libkvikio-cu12==25.8.0", megabytes=2),
    more("libucx-cu12==1.18.1", megabytes=28),
    more("nvidia-cudnn-frontend==1.14.1", megabytes=2),
    more("nvidia-nvimgcodec-cu12==0.6.0.32", megabytes=33),
    more("cuda-core==0.3.2", megabytes=1),
    more("cuda-bindings==13.0.1", megabytes=12),
    more("nvidia-nvshmem-cu12==3.3.20", megabytes=124),
    more("jax-cuda12-plugin==0.7.2", megabytes=5),
    more("jax-cuda13-plugin==0.8.0", megabytes=5),
    # other users of GPUs
    more("triton==3.2.0", megabytes=254),
    more("faiss-gpu-cu12==1.12.0", "--gpu L40 --gpu A100 --driver 580", 46),
    more("taichi==1.7.4", megabytes=56),
    more("mitsuba==3.6.4", megabytes=47),
    more("drjit==1.0.5", megabytes=6),
    more("ctranslate2==4.5.0", megabytes=38),
    more("cupy-cuda13x==13.6.0", megabytes=60),
    more("lightgbm==4.6.0", megabytes=4),
    more("pycolmap==3.12.3", megabytes=16),
    more("apache-tvm-ffi==0.1.0", megabytes=2),
    # bystanders
    more("tensorstore==0.1.75", megabytes=18),
    more("pyarrow==21.0.0", megabytes=43),
    more("polars==1.33.0", megabytes=38),
    more("av==15.1.0", megabytes=40),
    more("onnxruntime==1.23.0", megabytes=17),
]


@pytest.mark.parametrize("case", HEALTHY, ids=[f"{h.name} {h.python}" for h in HEALTHY])
def test_nothing_is_found_against_a_healthy_wheel(case: Healthy) -> None:
    wheel = fetch(Wheel(case.requirement, case.platforms, case.python, case.megabytes, case.large))
    words = [*case.asked.split(), *PLACES[case.platforms].split(), "--python", case.python, "--json", "--no-cache"]
    ran = run("doctor", wheel, *words)
    assert ran.stderr == ""
    (target,) = json.loads(ran.stdout)["targets"]
    assert [f"{p['code']} {p['member']}: {p['message']}" for p in target["problems"] if p["severity"] != "note"] == []
    # Without a GPU its code is not judged.
    assert target["verdict"] == ("fits" if "--gpu" in case.asked or not target["binaries"] else target["verdict"])


def test_there_are_forty_of_small_size() -> None:
    names = [f"{h.name} {h.python}" for h in HEALTHY]
    assert len(set(names)) == len(names)
    small = [h for h in HEALTHY if not h.large]
    assert len(small) >= 40
    assert len(HEALTHY) - len(small) >= 40
    assert sum(h.megabytes for h in small) < 500
