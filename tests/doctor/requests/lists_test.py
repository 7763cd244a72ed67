"""Requirements files, pylock.toml and Dockerfiles as targets of `flashfit doctor`: verdicts, lines, statuses."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

import flashfit
import pytest

from tests.doctor_command import APEX, L40, OLD_ABI, OLD_ABI_310, PLACE, doctor, judged, problems

ADDRESS = "https://example.invalid/releases/"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_an_address_of_a_wheel_for_another_python_is_told_by_name_with_its_line(tmp_path: Path) -> None:
    other = APEX.replace("cp311", "cp310")
    file = write(tmp_path / "requirements.txt", f"numpy>=1.26\n\n# attention\nflash-attn @ {ADDRESS}{other}\n")
    status, report = judged(file, *L40)
    (target,) = report["targets"]
    assert (status, report["verdict"], target["kind"]) == (1, "misfit", "requirements")
    assert problems(target) == [(4, "FF201", "misfit", "cp310 is not your cp311; the platform fits")]
    assert target["basis"] == "2 judged by name (names say nothing of GPUs)"
    lines = doctor(file, *L40)[1]
    assert f"  FAIL   FF201  line 4: {other}: cp310 is not your cp311; the platform fits" in lines


def test_a_wheel_is_judged_against_the_torch_that_the_same_list_pins(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", f"torch==2.8.0\nflash-attn @ {ADDRESS}{OLD_ABI}\n")
    status, report = judged(file, *L40)
    assert status == 1
    assert [p[:2] for p in problems(report["targets"][0])] == [(2, "FF210"), (2, "FF210")]
    assert "named for torch 2.7; the list's is 2.8.0" in problems(report["targets"][0])[0][3]
    write(file, f"torch==2.7.1\nflash-attn @ {ADDRESS}{OLD_ABI.replace('FALSE', 'TRUE')}\n")
    assert judged(file, *L40)[0] == 0


@pytest.mark.parametrize(
    ("line", "options", "codes"),
    [
        ("torch==2.6.7", L40, ["FF755"]),
        ("torch==2.4.1", ["--gpu", "L40", "--python", "3.13", *PLACE[2:]], ["FF755"]),
        ("torch==2.4.1", L40, []),
        ("torch==2.12.1", [*L40, "--driver", "535"], ["FF105"]),
        ("torch==2.12.1", [*L40, "--driver", "580.65.06"], []),
        ("torch==2.12.1", ["--gpu", "V100", *PLACE], ["FF101"]),
        ("torch==2.6.0", ["--gpu", "rtx 5090", *PLACE], ["FF101"]),
        ("torch==2.6.0+cu118", ["--gpu", "H100", *PLACE], []),
        ("torch==2.7.1+cpu", L40, ["FF211"]),
        ("torch==2.7.1+rocm6.3", L40, ["FF211"]),
        ("torch", [*L40, "--driver", "535"], ["FF756"]),
        # With vllm installers take 2.8.0 of CUDA 12.8; with a later vllm nothing is left that serves the driver.
        ("torch\nvllm==0.11.0", [*L40, "--driver", "535"], []),
        ("vllm==0.33.0\ntorch>=2.4", [*L40, "--driver", "535"], ["FF105"]),
        ("torchvision<0.28\ntorch>=2.4", [*L40, "--driver", "535"], ["FF756"]),
        # No line names PyTorch, and what installers bring for the package does not fit.
        ("vllm==0.33.0", [*L40, "--driver", "535"], ["FF105"]),
        ("vllm==0.33.0", [*L40, "--driver", "580.65.06"], []),
        ("vllm==0.33.0; python_version < '3.10'", [*L40, "--driver", "535"], []),
        ("vllm==0.33.0", [*L40, "--driver", "535", "--torch", "2.14.0+cu126"], []),
        ("xformers==0.0.29.post3", ["--gpu", "rtx 5090", *PLACE], ["FF101"]),
        ("xformers==0.0.29.post3", L40, []),
        ("torchvision", [*L40, "--driver", "535"], ["FF756"]),
        # Builds that PyTorch does not have. Beside the package index such an index changes nothing.
        ("torch==2.6.0+cu128", L40, ["FF755"]),
        ("torch==2.6.0+cu126", L40, []),
        ("--index-url https://example.invalid/whl/cu128\ntorch==2.6.0", L40, ["FF755"]),
        ("--extra-index-url https://example.invalid/whl/cu128\ntorch==2.6.0", L40, []),
        ("--extra-index-url https://example.invalid/whl/cu128\ntorch==2.6.0", ["--gpu", "5090", *PLACE], ["FF101"]),
        # Systems for which PyTorch has no wheels.
        ("torch==2.6.0", ["--gpu", "L40", "--python", "3.11", "--platform", "musllinux_1_2_x86_64"], ["FF755"]),
        ("torch", ["--gpu", "L40", "--python", "3.11", "--platform", "musllinux_1_2_x86_64"], ["FF755"]),
        ("torch==2.7.1", ["--gpu", "L40", "--python", "3.11", "--platform", "manylinux_2_17_x86_64"], ["FF755"]),
        ("torch==2.6.0", ["--gpu", "L40", "--python", "3.11", "--platform", "manylinux_2_17_x86_64"], []),
        ("torch", ["--gpu", "L40", "--python", "3.11", "--platform", "manylinux_2_17_x86_64"], []),
        ("torch==2.6.0+cu124", ["--python", "3.11", "--platform", "macosx_14_0_arm64"], ["FF755"]),
        ("torch==2.6.0", ["--python", "3.11", "--platform", "macosx_14_0_arm64"], []),
        ("torch>=2.12", [*L40, "--driver", "535"], ["FF105"]),
        ("torch<2.11", [*L40, "--driver", "535"], []),
        ("torch", L40, []),
        ("--index-url https://example.invalid/whl/cu126\ntorch==2.11.0", [*L40, "--driver", "535"], []),
        ("--index-url https://example.invalid/whl/cpu\ntorch==2.11.0", L40, ["FF211"]),
        ("nvidia-cublas-cu12==12.8.4.1", [*L40, "--driver", "470"], ["FF105"]),
        ("torch==2.12.1; sys_platform == 'win32'", [*L40, "--driver", "535"], []),
        ("torch==2.12.1", ["--gpu", "V100", "--python", "3.11", "--platform", "win_amd64"], []),
        ("torch==2.9.1\ntorchvision==0.23.0", L40, ["FF406"]),
        ("torch==2.9.1\ntorchvision==0.24.1", L40, []),
        ("torch==2.9.1\ntorchvision", L40, []),
        ("torch==2.9.1\ntorchtext==0.18.0", L40, ["FF406"]),
        ("torch==2.9.1\nauto-gptq==0.7.1", L40, ["FF406"]),
        ("torch==2.4.1\ntorchtext==0.18.0", L40, []),
        ("jaxlib==0.5.0\njax-cuda12-plugin==0.4.30", L40, ["FF712"]),
        ("jaxlib==0.5.0\njax-cuda12-plugin==0.5.0", L40, []),
        ("jaxlib>=0.5.0\njax-cuda12-plugin==0.4.30", L40, []),
        ("flashinfer-python==0.6.14\nflashinfer-cubin==0.6.13", L40, ["FF406"]),
        ("flashinfer-python==0.6.14\nflashinfer-cubin==0.6.14\nflashinfer-jit-cache==0.6.14+cu128", L40, []),
        ("torch==2.9.1\ntorchcodec==0.7.0", L40, ["FF406"]),
        ("torch~=2.9.0\ntorchvision==0.23.0", L40, ["FF406"]),
        ("torch>=2.9,<2.11\ntorchvision<0.24", L40, ["FF406"]),
        ("torch==2.9.1\ntorchvision<0.24", L40, ["FF406"]),
        ("torch==2.9.*\ntorchvision==0.24.*", L40, []),
        ("torch>=2.9\ntorchvision>=0.20", L40, []),
        ("torch\ntorchvision==0.23.0", L40, []),
        ("torchvision==0.23.0\ntorchaudio==2.9.1", L40, ["FF406"]),
        ("torchvision==0.24.1\ntorchaudio==2.9.1", L40, []),
        ("torchaudio==2.11.0\ntorchvision==0.29.2", L40, []),
        ("torchvision==0.23.0; sys_platform == 'win32'\ntorchaudio==2.9.1", L40, []),
        # The patch release, too: Requires-Dist of torchvision 0.24.1 is torch==2.9.1
        ("torch==2.9.0\ntorchvision==0.24.1", L40, ["FF406"]),
        ("torch==2.9.1+cu126\ntorchvision==0.24.1+cu126", L40, []),
        ("torch==2.9.1\nvllm==0.11.0", L40, ["FF406"]),
        ("torch==2.9.1\nvllm==0.15.1", L40, []),
        ("torch==2.9.1\nvllm==0.11.0", ["--gpu", "L40", "--python", "3.11", "--platform", "win_amd64"], []),
        ("vllm==0.15.1\ntorchvision==0.24.0", L40, ["FF406"]),
        ("vllm==0.11.0\nxformers==0.0.33.post1", L40, ["FF406"]),
        ("vllm==0.11.0\nxformers", L40, []),
        ("vllm==0.11.2\nflashinfer-python==0.6.1", L40, ["FF406"]),
        ("torch==2.9.1\nvllm>=0.30", L40, ["FF406"]),
        ("vllm>=0.30\ntorch==2.15.0", L40, []),  # a release that is not known yet may ask for it
        ("vllm==0.99.0\ntorch==2.9.1", L40, []),
        ("sglang==0.5.9\nsgl-kernel==0.3.16.post5", L40, ["FF406"]),
        ("sglang==0.5.9\nsgl-kernel==0.3.21", L40, []),
        ("torch==2.9.1\nsgl-kernel==0.3.16.post5", L40, ["FF406"]),
        # Wheels for another CUDA than PyTorch's build of the package index
        ("torch==2.9.1\ntorch-tensorrt==2.9.0", L40, ["FF405"]),
        ("torch==2.10.0\ntorch-tensorrt", L40, ["FF405"]),
        ("torch==2.9.1+cu130\ntorch-tensorrt==2.9.0", L40, []),
        ("--index-url https://example.invalid/whl/cu130\ntorch==2.9.1\ntorch-tensorrt==2.9.0", L40, []),
        ("torch==2.8.0\ntorch-tensorrt==2.8.0", L40, []),
        ("torch==2.12.1\ntorch-tensorrt", L40, []),
        ("torch>=2.9\ntorch-tensorrt", L40, []),
        ("torch==2.9.1\ntriton==3.1.0", L40, ["FF406"]),
        ("torch==2.9.1\ntriton==3.5.1", L40, []),
        ("torch==2.9.1\ntriton", L40, []),
        ("triton==3.1.0\ntorch==2.9.1+cpu", L40, ["FF211"]),
        ("torch==2.9.1\ntriton==3.1.0", ["--gpu", "L40", "--python", "3.11", "--platform", "win_amd64"], []),
        ("triton\nvllm==0.11.0\ntriton==3.1.0", L40, ["FF406"]),  # by the PyTorch that vllm asks for
        ("torch>=2.8\ntriton==3.1.0", L40, ["FF406"]),
        ("torch>=2.14\ntriton==99.0", L40, []),
        ("torch\ntriton==3.1.0", L40, []),
        ("torch==2.9.1\nnvidia-cudnn-cu12==8.9.7.29", L40, ["FF406"]),
        ("torch==2.9.1\nnvidia-cudnn-cu12==9.10.2.21", L40, []),
        # Other builds ask for other libraries of NVIDIA's.
        ("torch==2.9.1+cu130\nnvidia-cudnn-cu12==8.9.7.29", L40, []),
        ("torch==2.9.1\ntorch-tensorrt==2.8.0", L40, ["FF406"]),
        ("torch-tensorrt==2.8.0\ntensorrt==10.3.0", L40, ["FF406"]),
        ("torch-tensorrt==2.8.0\ntensorrt>10.12.1", L40, []),
        ("torch-tensorrt==2.8.0\ntensorrt>=10.12.5,<10.13", L40, []),
        ("torch==2.9.1\nfbgemm-gpu==1.3.0", L40, ["FF406"]),
        ("torch==2.9.1\nfbgemm-gpu==1.4.0", L40, []),
        ("torch==2.9.1\ntorchao==0.16.0", L40, ["FF406"]),
        ("torch==2.10.0\ntorchao==0.16.0", L40, []),
        ("torch==2.9.1\nlmdeploy==0.12.0", L40, ["FF406"]),
        ("nvidia-cudnn-cu12==9.1.0.70\nonnxruntime-gpu==1.17.1", L40, ["FF712"]),
        ("onnxruntime-gpu==1.23.2\nnvidia-cudnn-cu12==9.1.0.70", L40, []),
        ("torch==2.5.1\nonnxruntime-gpu==1.17.1", L40, ["FF712"]),
        ("torch==2.5.1\nonnxruntime-gpu==1.23.2", L40, []),
        ("jax==0.5.0\njaxlib==0.4.30", L40, ["FF406"]),
        ("jax==0.5.0\njaxlib==0.5.0\njax-cuda12-plugin==0.5.0\njax-cuda12-pjrt==0.4.30", L40, ["FF406"]),
        ("jaxlib==0.4.30", L40, []),
        # Of the same files in one folder
        ("onnxruntime==1.23.2\nonnxruntime-gpu==1.23.2", L40, ["FF713"]),
        ("onnxruntime-gpu\nnumpy\nonnxruntime", L40, ["FF713"]),
        ("onnxruntime==1.23.2; sys_platform == 'darwin'\nonnxruntime-gpu==1.23.2", L40, []),
        ("cupy-cuda12x==13.6.0\ncupy-cuda13x==13.6.0", L40, ["FF713"]),
        ("cupy-cuda12x==13.6.0\ncupy-cuda12x", L40, []),
        ("nvidia-cudnn-cu12==9.10.2.21\nnvidia-cudnn-cu13==9.13.0.50", L40, ["FF713"]),
        ("nvidia-cudnn-cu12==9.10.2.21\nnvidia-cublas==13.0.0.19", L40, []),
        ("gibberish=>1", L40, ["FF751"]),
        ("torch==2.6.0 --hash", L40, ["FF751"]),
        ("torch==2.7.0; foo bar", L40, ["FF751"]),
        ("torch==2.7.0; python_version", L40, ["FF751"]),
        ("--foo", L40, ["FF751"]),
        ("torch==2.7.0 --foo", L40, ["FF751"]),
        # Bounds that no release is in, and those of two lines.
        ("torch>=2.7,<2.7", L40, ["FF755"]),
        ("torch<0.9", L40, ["FF755"]),
        ("torch!=2.7.0,==2.7.0", L40, ["FF755"]),
        ("torch==2.7.0\ntorch==2.8.0", L40, ["FF755"]),
        ("torch>=2.4,<2.11\ntorch<2.3", L40, ["FF755"]),
        ("torch==2.7.0; sys_platform == 'win32'\ntorch==2.8.0", L40, []),
        ("torch==2.7.0; platform_release < '5'\ntorch==2.8.0; platform_release >= '5'", L40, []),
        ("torch==2.7.0\ntorch>=2.4", L40, []),
        # Bounds whose releases have no wheel there.
        ("torch>=2.0,<2.4", ["--gpu", "L40", "--python", "3.13", *PLACE[2:]], ["FF755"]),
        ("torch>=2.7", ["--gpu", "L40", "--python", "3.11", "--platform", "manylinux_2_17_x86_64"], ["FF755"]),
        ("torch<2.0", ["--gpu", "L40", "--python", "3.13", *PLACE[2:]], []),  # of those no wheels are known
    ],
)
def test_what_names_and_versions_say(tmp_path: Path, line: str, options: list[str], codes: list[str]) -> None:
    file = write(tmp_path / "requirements.txt", line + "\n")
    status, report = judged(file, *options)
    found = problems(report["targets"][0])
    assert [p[1] for p in found] == codes
    assert status == (0 if not codes else 2 if codes == ["FF751"] else 1)
    assert all(p[0] == line.count("\n") + 1 for p in found)


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("torch>=99.0", "3.11"),
        ("torch==99.*", "3.11"),
        ("torchvision==0.23.0\ntorch>=99.0", "3.11"),
        ("torch>=2.4", "3.99"),
    ],
)
def test_a_later_torch_than_is_known_is_unsettled(tmp_path: Path, line: str, python: str) -> None:
    file = write(tmp_path / "requirements.txt", line + "\n")
    status, report = judged(file, "--gpu", "L40", "--python", python, *PLACE[2:])
    found = problems(report["targets"][0])
    assert (status, [p[:3] for p in found]) == (2, [(line.count("\n") + 1, "FF755", "unknown")])


def test_commands_of_one_stage_may_install_one_torch_after_another(tmp_path: Path) -> None:
    text = "FROM python:3.11-slim-bookworm\nRUN pip install torch==2.7.0\nRUN pip install torch==2.8.0\n"
    assert judged(write(tmp_path / "Dockerfile", text), *L40)[0] == 0
    text = "FROM python:3.11-slim-bookworm\nRUN pip install torch==2.7.0 torch==2.8.0\n"
    status, report = judged(write(tmp_path / "Dockerfile", text), *L40)
    assert (status, [p[:2] for p in problems(report["targets"][0])]) == (1, [(2, "FF755")])


@pytest.mark.parametrize(
    "name", ["./none-1.0-py3-none-any.whl", "none-1.0-py3-none-any.whl", "file:///none-1.0-py3-none-any.whl"]
)
def test_a_wheel_that_a_list_names_by_its_path_and_that_is_not_there_is_not_cleared(tmp_path: Path, name: str) -> None:
    status, report = judged(write(tmp_path / "requirements.txt", f"numpy\n{name}\n"), *L40)
    (found,) = problems(report["targets"][0])
    assert (status, *found) == (2, 2, "FF903", "unknown", "no such file; nothing in its name stands against it")
    # A path in a Dockerfile's command is one of the image.
    docker = write(tmp_path / "Dockerfile", f"FROM python:3.11-slim-bookworm\nRUN pip install {name}\n")
    assert judged(docker, *L40)[0] == 0


def test_a_list_whose_packages_are_built_for_two_pytorchs_says_which(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", "torchvision==0.23.0\ntorchaudio==2.9.1\n")
    status, report = judged(file, *L40)
    assert (status, report["verdict"]) == (1, "misfit")
    (problem,) = report["targets"][0]["problems"]
    assert problem["message"] == "is built for torch ==2.9.1; line 1, torchvision==0.23.0, for torch ==2.8.0"
    assert problem["fix"] == "torchaudio==2.8.0"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "torch==2.9.1\ntriton==3.1.0\n",
            "the list's torch 2.9.1 asks for triton ==3.5.1",
            "triton==3.5.1",
        ),
        (
            "vllm==0.11.0\ntriton==3.1.0\n",
            "torch 2.8.0 (line 1, vllm==0.11.0, for torch ==2.8.0) asks for",
            "triton==3.4.0",
        ),
        (
            "vllm==0.11.2\nflashinfer-python==0.6.1\n",
            "asks for flashinfer-python ==0.5.2",
            "flashinfer-python==0.5.2",
        ),
        # The newest for this PyTorch is 0.24.1, which another request excludes.
        (
            "torch~=2.9.0\nxformers==0.0.33\ntorchvision==0.23.0\n",
            "is built for torch ==2.8.0; line 2",
            "torchvision==0.24.0",
        ),
        (
            "torch==2.9.1\ntorchao==0.16.0\n",
            "runs, but without its compiled kernels: made for torch ==2.10.0; the list's is 2.9.1",
            "torchao==0.15.0",
        ),
        (
            "onnxruntime-gpu==1.17.1\nnvidia-cudnn-cu12==9.1.0.70\n",
            "runs, but on the CPU: made for nvidia-cudnn-cu12 <9; the list asks for nvidia-cudnn-cu12==9.1.0.70",
            "onnxruntime-gpu==1.26.0",
        ),
        # No release of it goes with both others.
        ("torch==2.9.1\nvllm==0.15.1\nxformers==0.0.30\ntorch-tensorrt==2.9.0\ntorchtext==0.18.0\n", "", ""),
    ],
)
def test_a_remedy_is_one_that_the_same_rules_let_pass(tmp_path: Path, text: str, message: str, fix: str) -> None:
    file = write(tmp_path / "requirements.txt", text)
    found = [p for p in judged(file, *L40)[1]["targets"][0]["problems"] if message in p["message"]]
    assert found
    problem = found[-1]
    assert problem["fix"] == fix or not message
    if not problem["fix"]:
        return
    # Asked again with the remedy, nothing stands against that request.
    lines = text.splitlines()
    lines[problem["line"] - 1] = problem["fix"]
    write(file, "\n".join(lines) + "\n")
    assert problem["line"] not in [p[0] for p in problems(judged(file, *L40)[1]["targets"][0])]


#: Lists that installers take, as people freeze and write them.
SOUND = {
    "vllm 0.11": "vllm==0.11.0 torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 xformers==0.0.32.post1 triton==3.4.0 "
    "flashinfer-python==0.3.1 flash-attn==2.8.3 numba==0.61.2 nvidia-cudnn-cu12==9.10.2.21 nvidia-nccl-cu12==2.27.3 "
    "nvidia-cublas-cu12==12.8.4.1",
    "vllm 0.16": "vllm==0.16.0 torch==2.9.1 torchvision==0.24.1 torchaudio==2.9.1 triton==3.5.1 "
    "flashinfer-python==0.6.3",
    "sglang 0.5.9": "sglang==0.5.9 torch==2.9.1 torchaudio==2.9.1 sgl-kernel==0.3.21 torchcodec==0.8.0 torchao==0.9.0 "
    "flashinfer_python==0.6.3 flashinfer_cubin==0.6.3",
    "a frozen 2.9": "torch==2.9.1 torchvision==0.24.1 triton==3.5.1 nvidia-cudnn-cu12==9.10.2.21 "
    "nvidia-nccl-cu12==2.27.5 nvidia-cublas-cu12==12.8.4.1 nvidia-cuda-runtime-cu12==12.8.90 "
    "bitsandbytes==0.48.2 accelerate==1.10.1",
    "another build": "torch==2.9.1+cu130 torchvision==0.24.1+cu130 triton==3.5.1 nvidia-cudnn-cu13==9.13.0.50",
    "ranges": "torch>=2.4 torchvision>=0.19 torchaudio>=2.4 xformers triton vllm>=0.6",
    "bounds": "torch>=2.8,<2.10 torchvision>=0.23,<0.25 triton>=3.4,<3.6 lmdeploy<0.13",
    "comfyui": "torch torchvision torchaudio torchsde numpy>=1.25.0 einops transformers>=4.50.3 kornia>=0.7.1 spandrel",
    "whisperx": "torch==2.8.0 torchaudio==2.8.0 torchvision==0.23.0 ctranslate2>=4.5.0 faster-whisper>=1.1.1 "
    "triton>=3.3.0",
    "jax": "jax==0.6.2 jaxlib==0.6.2 jax-cuda12-plugin==0.6.2 jax-cuda12-pjrt==0.6.2 flax==0.10.6 optax==0.2.5",
    "jax and its extra": "jax[cuda12]==0.6.2 jaxlib>=0.6.2",
    "onnxruntime beside torch": "torch==2.6.0 onnxruntime-gpu==1.22.0 nvidia-cudnn-cu12==9.1.0.70 rembg==2.0.66",
    "tensorrt": "torch==2.8.0 torch-tensorrt==2.8.0 tensorrt==10.12.0.36 nvidia-modelopt==0.37.0",
    "recommenders": "torch==2.8.0 fbgemm-gpu==1.3.0 torchrec==1.3.0 tensordict==0.9.1",
    "reinforcement": "torch==2.8.0 torchrl==0.9.2 tensordict==0.9.1",
    "older": "torch==2.0.1 torchvision==0.15.2 torchaudio==2.0.2 triton==2.0.0 xformers==0.0.22 deepspeed==0.10.0",
    "later than what is known": "torch==2.14.1 vllm==0.99.0 torchvision==0.99.0 sglang==9.9 triton==3.8.0",
}


@pytest.mark.parametrize("name", SOUND)
def test_a_list_that_installers_take_fits(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "requirements.txt", "\n".join(SOUND[name].split()) + "\n")
    status, report = judged(file, *L40)
    assert problems(report["targets"][0]) == []
    assert status == 0


def test_a_list_of_very_many_packages_that_ask_for_each_other_is_not_wholly_compared(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", "".join(f"vllm>=0.4.{i}\n" for i in range(50_000)))
    found = problems(judged(file, *L40)[1]["targets"][0])
    assert [p[1] for p in found] == ["FF751"]
    assert found[0][3].startswith("more than 2000 requests for packages that ask for releases of each other")


def test_a_lock_may_pair_patch_releases_that_no_installer_would(tmp_path: Path) -> None:
    text = "".join(
        f'[[packages]]\nname = "{name}"\nversion = "{version}"\n'
        for name, version in (("torch", "2.9.0"), ("torchvision", "0.24.1"))
    )
    file = write(tmp_path / "pylock.toml", f'lock-version = "1.0"\ncreated-by = "by hand"\n{text}')
    assert [p[1] for p in problems(judged(file, *L40)[1]["targets"][0]) if p[1] == "FF406"] == []
    write(file, file.read_text().replace("0.24.1", "0.23.0"))
    assert [p[1] for p in problems(judged(file, *L40)[1]["targets"][0]) if p[1] == "FF406"] == ["FF406"]


def test_the_release_that_would_fit_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", "torch>=2.4\n")
    status, lines = doctor(file, *L40, "--driver", "535")
    assert status == 1
    assert "would fit: torch==2.10.0" in lines


def test_lines_go_on_behind_a_backslash_and_options_stand_anywhere(tmp_path: Path) -> None:
    text = (
        "--require-hashes\n"
        "-f wheels --pre\n"
        "torch==2.6.7 \\\n"
        "    --hash=sha256:" + "0" * 64 + " \\\n"
        "    --hash sha256:" + "1" * 64 + "\n"
        "numpy[dev]>=1.26,<3 ; python_version > '3.8'  # why not\n"
        f"{APEX.replace('cp311', 'cp39')}\n"
    )
    found = problems(judged(write(tmp_path / "requirements.txt", text), *L40)[1]["targets"][0])
    assert [(p[0], p[1]) for p in found] == [(3, "FF755"), (7, "FF201")]


def test_a_wheel_at_hand_is_judged_by_its_content(made: Path, tmp_path: Path) -> None:
    file = write(made / "requirements.txt", f"./{APEX}\n")
    status, report = judged(file, *L40)
    (target,) = report["targets"]
    assert (status, target["basis"]) == (1, "0 judged by name, 1 by the file")
    ((line, code, severity, message),) = problems(target)
    assert (line, code, severity) == (1, "FF101", "misfit")
    assert message.startswith("SASS 9.0a, no PTX. L40 is 8.9")
    (member,) = [p["member"] for p in target["problems"] if p["code"] == "FF101"]
    assert member == f"{APEX}!fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so"
    assert judged(file, "--gpu", "H100", *PLACE)[0] == 0
    # In a folder of --find-links a name and a version are enough; an older Python has none there.
    links = write(tmp_path / "requirements.txt", f"--find-links {made}\napex>=0.1\n")
    assert problems(judged(links, *L40)[1]["targets"][0])[0][:2] == (2, "FF101")
    assert judged(links, "--gpu", "L40", "--python", "3.9", *PLACE[2:])[1]["targets"][0]["basis"].startswith("1 judged")


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("--hash=sha256:{hash}", False),
        ("--hash=sha256:{HASH}", False),
        ("--hash=sha256:{other} --hash=sha256:{hash}", False),
        ("--hash=sha256:{other}", True),
        ("--hash=sha256:{other} --hash=sha256:{other}", True),
        ("--hash=sha256:{other} --hash=sha512:00", False),  # what is not computed is not held against it
        ("", False),
    ],
)
def test_a_wheel_at_hand_must_have_a_hash_of_its_request(
    made: Path, tmp_path: Path, options: str, refused: bool
) -> None:
    digest = hashlib.sha256((made / APEX).read_bytes()).hexdigest()
    given = options.format(hash=digest, HASH=digest.upper(), other="0" * 64)
    for request in (f"{made / APEX} {given}", f"--find-links {made}\napex==0.1 {given}"):
        (target,) = judged(write(tmp_path / "requirements.txt", request + "\n"), "--gpu", "H100", *PLACE)[1]["targets"]
        found = [(p["severity"], p["message"]) for p in target["problems"] if p["code"] == "FF757"]
        assert bool(found) == refused
        assert all(
            s == "misfit" and m.startswith(f"the file's sha256 is {digest}, and the list asks") for s, m in found
        )


@pytest.mark.parametrize("right", [True, False])
def test_a_wheel_at_hand_must_have_the_hash_of_its_lock(made: Path, right: bool) -> None:
    digest = hashlib.sha256((made / APEX).read_bytes()).hexdigest() if right else "0" * 64
    lock = f"""
lock-version = "1.0"
created-by = "made"
[[packages]]
name = "apex"
version = "0.1"
wheels = [{{path = "{APEX}", hashes = {{sha256 = "{digest}"}}}}]
"""
    (target,) = judged(write(made / "pylock.toml", lock), "--gpu", "H100", *PLACE)[1]["targets"]
    assert [p[:2] for p in problems(target) if p[1] == "FF757"] == ([] if right else [(4, "FF757")])


@pytest.mark.parametrize(
    ("image", "release", "words"),
    [
        ("python:3.11-alpine", "2.6.0", "manylinux, for glibc; yours is Linux x86_64 with musl"),
        ("nvidia/cuda:12.4.1-devel-ubuntu18.04", "2.7.1", "need glibc 2.28 or later; yours is Linux x86_64 with glibc"),
    ],
)
def test_an_image_whose_c_library_no_wheel_of_pytorch_takes(
    tmp_path: Path, image: str, release: str, words: str
) -> None:
    file = write(tmp_path / "Dockerfile", f"FROM {image}\nRUN pip install torch=={release}\n")
    status, report = judged(file, "--gpu", "L40", "--driver", "550")
    (problem,) = problems(report["targets"][0])
    assert (status, problem[:2]) == (1, (2, "FF755"))
    assert words in problem[3]


def test_the_torch_that_is_brought_is_judged_where_nothing_else_may_bring_one(tmp_path: Path) -> None:
    options = ["--gpu", "L40", "--driver", "535"]
    file = write(tmp_path / "Dockerfile", "FROM python:3.11\nRUN pip install vllm==0.33.0\n")
    assert [p[:2] for p in problems(judged(file, *options)[1]["targets"][0])] == [(2, "FF105")]
    # An image may have a PyTorch of its own, and another list may name one.
    write(file, "FROM nvcr.io/nvidia/pytorch:25.01-py3\nRUN pip install vllm==0.33.0\n")
    assert problems(judged(file, *options)[1]["targets"][0]) == []
    write(tmp_path / "torch.txt", "torch==2.14.0+cu126\n")
    for text, other in (("-r torch.txt\nvllm==0.33.0\n", ""), ("torch==2.14.0+cu126\n-r vllm.txt\n", "vllm==0.33.0\n")):
        write(tmp_path / "vllm.txt", other)
        status, report = judged(write(tmp_path / "requirements.txt", text), *L40, "--driver", "535")
        assert (status, [problems(target) for target in report["targets"]]) == (0, [[], []])


def test_included_lists_are_targets_of_their_own_but_none_outside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    file = write(
        folder / "requirements.txt",
        "-r more/base.txt\n-r ../outside.txt\n-r link.txt\n-r missing.txt\n-r https://example.invalid/r\n-c c.txt\n",
    )
    write(folder / "more/base.txt", "-r ../requirements.txt\ntorch==2.6.7\n")
    write(tmp_path / "outside.txt", "torch==2.6.7\n")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    status, report = judged(file, *L40)
    first, second = report["targets"]
    assert status == 2  # what was not read may hold anything
    assert [(p[0], p[1]) for p in problems(first)] == [(2, "FF751"), (3, "FF751"), (4, "FF751"), (5, "FF751")]
    assert "-r ../outside.txt: outside the list's own folder: name it as a target" in problems(first)[0][3]
    assert second["target"].endswith("more/base.txt")
    assert [(p[0], p[1]) for p in problems(second)] == [(2, "FF755")]


def test_an_index_holds_for_the_lists_that_are_included(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", "--index-url https://example.invalid/whl/cu126\n-r base.txt\n")
    write(tmp_path / "base.txt", "torch==2.12.1\n")
    assert judged(file, *L40, "--driver", "535")[0] == 0
    assert judged(tmp_path / "base.txt", *L40, "--driver", "535")[0] == 1


LOCK = """lock-version = "1.0"
created-by = "by hand"
requires-python = ">=3.10"

[[packages]]
name = "attn"
version = "2.0"

  [[packages.wheels]]
  url = "https://example.invalid/attn-2.0-cp310-cp310-manylinux_2_28_x86_64.whl"
  hashes = {sha256 = "00"}

  [[packages.wheels]]
  url = "https://example.invalid/attn-2.0-cp312-cp312-manylinux_2_28_x86_64.whl"
  hashes = {sha256 = "00"}

[[packages]]
name = "numpy"
version = "2.1.0"
wheels = [{name = "numpy-2.1.0-cp311-cp311-manylinux_2_17_x86_64.whl", url = "https://example.invalid/n", hashes = {}}]

[[packages]]
name = "later"
version = "1"
requires-python = ">=3.12"
wheels = [{url = "https://example.invalid/later-1-py3-none-any.whl", hashes = {}}]

[[packages]]
name = "built"
version = "1"
sdist = {url = "https://example.invalid/built-1.tar.gz", hashes = {}}
wheels = [{url = "https://example.invalid/built-1-cp39-cp39-win_amd64.whl", hashes = {}}]

[[packages]]
name = "elsewhere"
version = "1"
marker = "sys_platform == 'darwin'"
wheels = [{url = "https://example.invalid/elsewhere-1-cp311-cp311-macosx_11_0_arm64.whl", hashes = {}}]
"""


def test_a_lock_is_judged_by_the_wheel_that_installers_would_take(tmp_path: Path) -> None:
    file = write(tmp_path / "pylock.toml", LOCK)
    status, report = judged(file, *L40)
    (target,) = report["targets"]
    assert (status, target["kind"]) == (1, "lock")
    found = {(p[0], p[1], p[2]) for p in problems(target)}
    assert found == {(5, "FF753", "misfit"), (22, "FF203", "misfit"), (28, "FF754", "degrades")}
    assert "1 left out by their markers" in target["basis"]
    (none,) = [p[3] for p in problems(target) if p[1] == "FF753"]
    assert none == "none of its 2 wheels installs there; the first: cp310 is not your cp311; the platform fits"
    assert judged(file, "--gpu", "L40", "--python", "3.9", *PLACE[2:])[1]["targets"][0]["problems"][0]["line"] >= 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("lock-version = \n", 1, "no TOML: "),
        ("packages = []\n", 1, "lock-version: missing"),
        ('lock-version = "2.0"\npackages = []\n', 1, "lock-version '2.0': version 1.x is read"),
        ('lock-version = "1.0"\n', 1, "packages: missing"),
        ('lock-version = "1.0"\n[[packages]]\nversion = "1"\n', 2, "packages.name: missing"),
        ('lock-version = "1.0"\npackages = [1]\n', 2, "packages: an entry that is no table"),
        ("x = " + "[" * 5000 + "\n", 1, "malformed: nesting of a text beyond the limit of 64 at 68"),
    ],
)
def test_a_lock_that_is_none_is_told_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    status, report = judged(write(tmp_path / "pylock.x.toml", text), *L40)
    found = problems(report["targets"][0])
    assert status == 2
    assert found[0][:3] == (line, "FF751", "unknown")
    assert found[0][3].startswith(message)


DOCKERFILE = f"""# syntax=docker/dockerfile:1
ARG PYTHON=3.11
FROM python:${{PYTHON}}-slim-bookworm AS build
ARG TORCH=2.12.1
ENV CUDA=cu126 \\
    EXTRA="numpy scipy"
RUN apt-get update && \\
    # a comment within
    apt-get install -y git

RUN pip install --no-cache-dir \\
      "torch==${{TORCH}}" \\
      $EXTRA && \\
    python3 -m pip install '{ADDRESS}{OLD_ABI_310}'
FROM build
RUN --mount=type=cache,target=/srv/cache <<EOF
set -e
uv pip install --system torch==2.6.7
EOF
RUN ["pip", "install", "torch==2.6.6"]
RUN pip install attn==$UNSET && pip install -r requirements.txt -r /srv/gone.txt
"""


def test_a_dockerfile_is_read_as_its_commands_with_their_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "Dockerfile", DOCKERFILE)
    write(tmp_path / "requirements.txt", "torch==2.6.5\n")
    status, report = judged(file, "--gpu", "L40", "--driver", "535", "--platform", "linux_x86_64")
    first, second = report["targets"]
    assert (status, first["kind"]) == (1, "dockerfile")
    assert {(p[0], p[1]) for p in problems(first)} == {
        (12, "FF105"),  # torch 2.12.1 is built for CUDA 13
        (14, "FF201"),  # of the image's Python
        (14, "FF210"),  # of the torch that the stage pins
        (18, "FF755"),
        (20, "FF755"),
        (21, "FF751"),  # UNSET, and the list that the context lacks
    }
    assert {p[3] for p in problems(first) if p[1] == "FF751"} == {
        "'attn==$UNSET': UNSET has no value in this file",
        "-r /srv/gone.txt: no such file",
    }
    assert [(p[0], p[1]) for p in problems(second)] == [(1, "FF755")]


@pytest.mark.parametrize(
    ("image", "wheel", "codes"),
    [
        ("python:3.12-slim", "x-1-cp311-cp311-manylinux_2_28_x86_64.whl", ["FF201"]),
        ("python:3.11-alpine", "x-1-cp311-cp311-manylinux_2_28_x86_64.whl", ["FF202"]),
        ("python:3.11-bullseye", "x-1-cp311-cp311-manylinux_2_34_x86_64.whl", ["FF202"]),
        ("registry.example.invalid:5000/lib/python:3.11.9-bookworm", "x-1-cp311-cp311-manylinux_2_34_x86_64.whl", []),
        ("nobody/knows:1", "x-1-cp35-cp35m-manylinux_2_28_x86_64.whl", []),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "x-1+cu12torch2.7-py3-none-linux_x86_64.whl", ["FF210"]),
        ("pytorch/pytorch:2.7.1-cuda12.6-cudnn9-runtime", "x-1+cu12torch2.7-py3-none-linux_x86_64.whl", []),
        ("nvidia/cuda:13.0.1-runtime-ubuntu24.04", "x-1-py3-none-any.whl", ["FF105"]),
    ],
)
def test_an_image_by_its_name(tmp_path: Path, image: str, wheel: str, codes: list[str]) -> None:
    file = write(tmp_path / "gpu.Dockerfile", f"FROM {image}\nRUN pip3 install {ADDRESS}{wheel}\n")
    report = judged(file, "--gpu", "L40", "--driver", "550")[1]
    assert [p[1] for p in problems(report["targets"][0])] == codes


def test_an_image_has_its_own_python_whatever_is_asked(tmp_path: Path) -> None:
    wheel = f"{ADDRESS}x-1-cp311-cp311-manylinux_2_17_x86_64.whl"
    file = write(
        tmp_path / "Containerfile",
        f"FROM python:3.11\nRUN pip install {wheel}\nFROM scratch\nRUN pip install {wheel}\n",
    )
    found = problems(judged(file, "--gpu", "L40", "--python", "3.9", *PLACE[2:])[1]["targets"][0])
    assert [(p[0], p[1]) for p in found] == [(4, "FF201")]
    assert flashfit.doctor(file, gpu="L40", python="3.9", cache=False).targets[0].problems[0].line == 4


def test_nothing_of_a_list_reaches_the_terminal_as_more_than_text(tmp_path: Path) -> None:
    file = write(
        tmp_path / "requirements.txt",
        "\x1b]0;x\x07name\n-r \x1b[31m.txt\nhttps://user:secret@example.invalid/x-1-py3-none-any.whl\n",
    )
    status, lines = doctor(file, *L40, "-v")
    assert status == 2
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "secret" not in text


@pytest.mark.parametrize("name", ["requirements.txt", "Dockerfile", "pylock.toml"])
def test_what_is_too_large_or_no_text_is_said(tmp_path: Path, name: str) -> None:
    large = tmp_path / name
    with large.open("wb") as file:
        file.truncate(9 << 20)
    status, lines = doctor(large, *L40)
    assert status == 2
    assert any("larger than 8 MB" in line for line in lines)
    write(large, "x\0y\n")
    assert doctor(large, *L40)[0] == 2
    assert doctor(tmp_path / "none" / name, *L40)[0] == 2


def test_a_line_may_be_long_and_lines_may_be_many(tmp_path: Path) -> None:
    file = write(tmp_path / "requirements.txt", "a" * 300_000 + "\n")
    assert "longer than 256 KB" in problems(judged(file, *L40)[1]["targets"][0])[0][3]
    write(file, "numpy\n" * 200_000)
    assert judged(file, *L40)[1]["targets"][0]["basis"].startswith("100000 judged")
    docker = write(
        tmp_path / "Dockerfile", "FROM x\nENV A=a\n" + "ENV A=$A$A$A$A\n" * 200 + "RUN pip install $A\n" * 200
    )
    assert judged(docker, *L40)[0] in (0, 2)


PIP = """#!{python}
import shutil, sys
words = sys.argv[1:]
open({said!r}, "a").write(" ".join(words) + "\\n")
assert words[:4] == ["-I", "-m", "pip", "download"], words
for word in words:
    if word.startswith("--dest="):
        into = word[7:]
    if word.startswith("--requirement="):
        wanted = open(word[14:]).read()
open({said!r}, "a").write(wanted)
if wanted.startswith("apex"):
    shutil.copy({wheel!r}, into)
else:
    sys.exit("ERROR: No matching distribution found for " + wanted)
"""


def test_fetch_lets_pip_bring_wheels_and_nothing_else_does(made: Path, tmp_path: Path) -> None:
    """A pip that is none: which words it gets, and that what it brings is judged by content."""
    said = tmp_path / "said"
    fake = tmp_path / "bin/python3"
    write(fake, PIP.format(python=sys.executable, said=str(said), wheel=str(made / APEX)))
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    file = write(
        tmp_path / "requirements.txt", "apex==0.1 --hash=sha256:" + "0" * 64 + "\ngone>1\n-e .\n--trusted-host x\n"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    env = {"PATH": f"{fake.parent}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    assert judged(file, *L40, env=env)[0] == 0
    assert not said.exists()
    status, report = judged(file, *L40, "--fetch", env=env)
    assert status == 1
    assert problems(report["targets"][0])[0][:2] == (1, "FF101")
    text = said.read_text()
    assert "--no-deps --only-binary=:all: --no-input" in text
    assert (
        "--python-version=3.11 --implementation=cp --abi=cp311 --abi=abi3 --abi=none --platform=manylinux_2_36_x86_64"
        in text
    )
    assert "\napex ==0.1 --hash=sha256:" + "0" * 64 + "\n" in text
    assert any(line.startswith("not fetched: gone>1: ERROR: No matching") for line in report["asked"]["assumed"])
    assert not list(folder.iterdir())


def test_a_list_that_powershell_wrote_is_read(tmp_path: Path) -> None:
    """`pip freeze > requirements.txt` makes UTF-16 with a mark there, which pip reads."""
    file = tmp_path / "requirements.txt"
    file.write_bytes("torch==2.9.1\r\ntorchvision==0.23.0\r\n".encode("utf-16"))
    status, report = judged(file, *L40)
    assert status == 1
    assert [p[:2] for p in problems(report["targets"][0])] == [(2, "FF406")]


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("uv.lock", "uv export --format pylock.toml"),
        ("poetry.lock", "poetry export"),
        ("environment.yml", "flashfit doctor --env PREFIX"),
        ("pyproject.toml", "uv pip compile"),
        ("docker-compose.yml", "docker save"),
    ],
)
def test_a_list_that_is_not_read_says_which_is(tmp_path: Path, name: str, instead: str) -> None:
    status, report = judged(write(tmp_path / name, "x\n"), *L40)
    assert status == 2
    (message,) = [p["message"] for p in report["targets"][0]["problems"] if p["code"] == "FF902"]
    assert "is not read: " in message
    assert instead in message
