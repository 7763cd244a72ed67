"""Every kind of misfit that people met, as a new user walks it.

The environment is as it was (tests/doctor/environment/made_kinds.cpp writes it), judged by `--env`; and the text that
was pasted (tests/doctor/pasted/cases) is judged by `--error` in that environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.doctor.doctor_error_test import pasted
from tests.doctor_command import COMMAND

MAKER = COMMAND.parents[1] / "tests/environment_make"


@dataclass
class Kind:
    env: str
    culprit: str  # its target, as reports name it
    code: str
    verdict: str = "misfit"
    try_env: str = ""  # the command that mends it; "": none is known, and `fix` is in words
    fix: str = ""
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    text: str = ""  # of tests/doctor/pasted/cases
    cleared: str = ""  # one that is suspected and is not it
    error_options: tuple[str, ...] | None = None  # where the text says what --env is told


UNSET = "unset LD_LIBRARY_PATH"
KINDS = {
    "kind_01": Kind(
        "/opt/venv",
        "flash-attn==2.8.3+cu12torch2.8",
        "FF402",
        try_env="pip install setuptools wheel packaging ninja psutil && FLASH_ATTN_CUDA_ARCHS='80' pip install "
        "--no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary flash-attn flash-attn==2.8.3",
        options=("--gpu", "A100"),
        text="kind_01_other_torch",
        cleared="apex==0.1",
    ),
    "kind_02": Kind(
        "/usr/local",
        "deep-ep==1.2.1",
        "FF330",
        try_env="pip install nvidia-cuda-runtime-cu12",
        options=("--gpu", "H100", "--driver", "580"),
        text="kind_02_runtime_absent",
        cleared="torch==2.9.1+cu130",
    ),
    "kind_03": Kind(
        "/home/user/miniconda3/envs/debug",
        "torch==2.6.0+cu124",
        "FF606",
        verdict="degraded",
        try_env=UNSET,
        variables={"LD_LIBRARY_PATH": "/opt/cudnn"},
        text="kind_03_two_cudnns",
    ),
    "kind_04": Kind(
        "/usr/local",
        "torch==2.5.1+cu124",
        "FF604",
        try_env=UNSET,
        variables={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
        text="kind_04_nvjitlink",
        cleared="nvidia-cusparse-cu12==12.3.1.170",
    ),
    "kind_05": Kind(
        "/opt/conda",
        "ktransformers==0.2.1",
        "FF603",
        try_env="export LD_PRELOAD=/usr/lib64/libstdc++.so.6",
        text="kind_05_libstdcxx_of_conda",
        cleared="flash-attn==2.7.4",
    ),
    "kind_06": Kind(
        "/home/user/.local",
        "ctranslate2==4.5.0",
        "FF608",
        try_env="export GLIBC_TUNABLES=glibc.rtld.execstack=2",
        text="kind_06_executable_stack",
    ),
    "kind_07": Kind(
        "/venv",
        "triton==3.5.0",
        "FF705",
        try_env="export TRITON_PTXAS_PATH=/usr/local/cuda-13.0/bin/ptxas",
        options=("--gpu", "DGX Spark"),
        text="kind_07_bundled_ptxas",
        cleared="torch==2.9.1+cu130",
    ),
    "kind_08": Kind(
        "/opt/omni",
        "flashinfer-python==0.6.1",
        "FF706",
        verdict="degraded",
        try_env="pip install flashinfer-jit-cache==0.6.1 --index-url https://flashinfer.ai/whl/cu128",
        options=("--gpu", "RTX 5090"),
        text="kind_08_nvcc_too_old",
        cleared="torch==2.9.1+cu128",
    ),
    "kind_09": Kind(
        "/home/user/anaconda3/envs/comfy",
        "sageattention==2.2.0",
        "FF708",
        try_env="pip install setuptools wheel packaging ninja && TORCH_CUDA_ARCH_LIST='12.0' pip install "
        "--no-build-isolation --no-cache-dir --force-reinstall --no-deps git+https://github.com/thu-ml/SageAttention",
        options=("--gpu", "RTX 5080"),
        text="kind_09_kernel_module",
        cleared="torch==2.9.1+cu128",
    ),
    "kind_10": Kind(
        "/venv",
        "xformers==0.0.32.post2",
        "FF101",
        try_env="pip install 'xformers>=0.0.33'",
        options=("--gpu", "RTX 5090"),
        variables={"VIRTUAL_ENV": "/venv"},
        text="kind_10_hopper_object",
        cleared="flash-attn==2.8.3",
        error_options=(),
    ),
    "kind_12": Kind(
        "/usr/local",
        "bitsandbytes==0.49.0",
        "FF707",
        try_env="export BNB_CUDA_VERSION=130",
        options=("--gpu", "H100"),
        text="kind_12_file_by_cuda_version",
        cleared="torch==2.12.0+cu131",
    ),
    "kind_13": Kind(
        "/venv",
        "onnxruntime-gpu==1.23.2",
        "FF712",
        verdict="degraded",
        try_env="pip install nvidia-cublas-cu12 nvidia-cuda-runtime-cu12 nvidia-cudnn-cu12",
        options=("--gpu", "H100"),
        text="kind_13_provider_on_linux",
    ),
    "kind_13_windows": Kind(
        "/app/venv",
        "onnxruntime-gpu==1.23.2",
        "FF712",
        verdict="degraded",
        try_env="pip install nvidia-cublas nvidia-cuda-runtime",
        options=("--gpu", "H100", "--platform", "win_amd64"),
        variables={"VIRTUAL_ENV": "/app/venv"},
        text="kind_13_provider_on_windows",
    ),
    "kind_14": Kind(
        "/opt/venv",
        "torch==2.9.1+cu130",
        "FF703",
        try_env="pip install uv && uv pip install --python python3 --torch-backend=cu128 torch==2.9.1+cu128",
        options=("--gpu", "A100", "--driver", "535"),
        text="kind_14_driver_too_old",
        error_options=("--gpu", "A100"),
    ),
    "kind_15": Kind(
        "/usr/local",
        "torch==2.9.1+cu130",
        "FF704",
        try_env="pip install uv && uv pip install --python python3 --torch-backend=cu128 torch==2.9.1+cu128",
        options=("--gpu", "V100", "--driver", "580"),
        text="kind_15_dropped_v100",
        error_options=("--driver", "580"),
    ),
    "kind_16": Kind(
        "/venv",
        "flash-attn==2.7.2.post1",
        "FF710",
        try_env="pip install --no-build-isolation 'flash-attn>=2.7.3'",
        options=("--gpu", "RTX 5090"),
        text="kind_16_gate",
        cleared="torch==2.7.1+cu128",
    ),
    "kind_17": Kind(
        "/ci/venv",
        "kernels-community/flash-attn2",
        "FF711",
        verdict="degraded",
        fix="a revision that has one",
        options=("--gpu", "H100"),
        variables={"HOME": "/home/ci"},
        text="kind_17_hub_variant",
        cleared="torch==2.13.0+cu130",
    ),
    "kind_18": Kind(
        "/venv",
        "sparse-attention==0.1",
        "FF324",
        fix="AVX-512",
        variables={"VIRTUAL_ENV": "/venv"},
        text="kind_18_illegal_instruction",
    ),
    "origin_1": Kind(
        "/workspace/venv",
        "apex==0.1",
        "FF101",
        try_env="pip install setuptools wheel packaging ninja && TORCH_CUDA_ARCH_LIST='8.9' pip install "
        "--no-build-isolation --no-cache-dir --force-reinstall --no-deps -C--build-option=--cpp_ext "
        "-C--build-option=--cuda_ext git+https://github.com/NVIDIA/apex@a1df80457ba67d60cbdb0d3ddfb08a2702c821a8",
        options=("--gpu", "L40", "--driver", "570"),
        text="origin_1_seedvr2",
        cleared="flash-attn==2.8.3",
        error_options=(),
    ),
    "origin_2": Kind(
        "/opt/hostedtoolcache/Python/3.11.13/x64",
        "flash-attn==2.8.3+cu12torch2.7cxx11abiFALSE",
        "FF401",
        try_env="pip install setuptools wheel packaging ninja psutil && FLASH_ATTN_CUDA_ARCHS='80' pip install "
        "--no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary flash-attn flash-attn==2.8.3",
        options=("--gpu", "A100"),
        text="origin_2_next_the_abi",
        cleared="torch==2.7.1+cu126",
    ),
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    subprocess.run([MAKER, folder], check=True)
    return folder


def doctor(root: Path, kind: Kind, *words: str, text: str | None = None) -> Any:
    variables = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH")}
    ran = subprocess.run(
        [COMMAND, "doctor", "--json", "--no-cache", "--root", root, *words],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**variables, "HOME": "/nowhere", "PATH": "/nowhere", **kind.variables},
    )
    assert ran.stderr == ""
    return json.loads(ran.stdout), ran.returncode


def addressed(command: str, root: Path, env: str) -> str:
    """The command for that environment, which need not be the active one: by its interpreter, where it has one."""
    programs = sorted((root / env.lstrip("/") / "bin").glob("python3.*"))
    if not programs:
        return command
    python = f"{env}/bin/{programs[0].name}"
    named = re.sub(r"(^|&& )((?:\w+='?\S+ )*)(pip|uv) ", rf"\1\2{python} -m \3 ", command)
    return named.replace("--python python3 ", f"--python {python} ")


@pytest.mark.parametrize("name", KINDS)
def test_the_environment_names_culprit_and_command(roots: Path, name: str) -> None:
    kind = KINDS[name]
    found, status = doctor(roots / name, kind, "--env", kind.env, *kind.options)
    assert (found["verdict"], status) == (kind.verdict, 1)
    culprits = [t for t in found["targets"] if t["verdict"] != "fits"]
    assert [t["target"] for t in culprits] == [kind.culprit]
    problems = [p for p in culprits[0]["problems"] if p["severity"] != "note"]
    assert kind.code in [p["code"] for p in problems]
    assert (culprits[0]["mend"] or "") == addressed(kind.try_env, roots / name, kind.env)
    if kind.fix:
        assert any(kind.fix in p["fix"] + p["message"] for p in problems)
    if kind.cleared:
        assert kind.cleared.split("==")[0] in found["environment"]["cleared"]


@pytest.mark.parametrize("name", KINDS)
def test_the_pasted_text_finds_the_evidence_by_itself(roots: Path, name: str) -> None:
    """Without --env: the environment is the one whose paths the text holds, or the active one."""
    kind = KINDS[name]
    options = kind.options if kind.error_options is None else kind.error_options
    found, status = doctor(roots / name, kind, "--error", "-", *options, text=pasted(kind.text))
    assert (found["cause_found"], status) == (True, 1)
    assert found["environment"].startswith(kind.env)
    assert {c["target"] for c in found["culprits"]} == {kind.culprit}
    assert kind.code in [c["code"] for c in found["culprits"]]
    named = "the environment is the one that the text names" in found["assumed"]
    assert found["mend"] == (addressed(kind.try_env, roots / name, kind.env) if named else kind.try_env)
    if not kind.try_env:
        assert kind.fix in found["look_for"] + str(found["culprits"])
    if kind.cleared:
        assert kind.cleared in found["cleared"]
    assert found["silent"] == [] or set(found["silent"]).isdisjoint({kind.culprit})


@pytest.mark.parametrize("name", KINDS)
def test_the_text_of_another_kind_blames_nobody(roots: Path, name: str) -> None:
    """What an environment has wrong is no evidence for an error of another kind."""
    kind = KINDS[name]
    found, status = doctor(
        roots / name, kind, "--error", "-", "--env", kind.env, *kind.options, text=pasted("static_tls")
    )
    assert found["culprits"] == []
    assert found["mend"] != kind.try_env or not kind.try_env
    assert status == 1, "that text proves its cause by itself"


def test_an_environment_that_is_certainly_another_proves_nothing(roots: Path) -> None:
    kind = KINDS["origin_1"]
    text = pasted("origin_1_seedvr2").replace("/workspace/venv/lib/python3.10", "/elsewhere/lib/python3.12")
    active = Kind(kind.env, kind.culprit, kind.code, variables={"VIRTUAL_ENV": "/workspace/venv"})
    found, status = doctor(roots / "origin_1", active, "--error", "-", text=text)
    assert (found["cause_found"], found["culprits"], found["environment"], status) == (False, [], "", 2)
    assert any("it is not counted" in line for line in found["assumed"])
    assert found["ask"] == "flashfit doctor --error FILE --env /elsewhere/lib/python3.12/site-packages"
    # Asked for by name it counts, and the difference is said.
    found, status = doctor(roots / "origin_1", active, "--error", "-", "--env", kind.env, text=text)
    assert ([c["target"] for c in found["culprits"]], status) == ([kind.culprit], 1)
    assert any("Python 3.10" in line and "3.12" in line for line in found["assumed"])


def test_origin_2_the_name_is_judged_for_the_environment_and_what_comes_next_is_said(roots: Path) -> None:
    prefix = "/opt/hostedtoolcache/Python/3.11.13/x64"
    active = Kind(prefix, "", "", variables={"VIRTUAL_ENV": prefix})
    text = pasted("origin_2_wheel_for_another_python")
    found, status = doctor(roots / "origin_2", active, "--error", "-", text=text)
    assert status == 1
    assert [(c["code"], c["message"]) for c in found["culprits"]] == [
        ("FF201", "cp310 is not your cp311; the platform fits")
    ]
    assert found["look_for"].startswith("cp311-cp311")
    (following,) = [line for line in found["concluded"] if line.startswith("next in line waits ")]
    assert "FF210: named for the old C++ ABI of PyTorch; yours has the new one" in following


def test_origin_3_and_4_blame_no_package(roots: Path) -> None:
    """A tile that is too large and a kernel that is slow: nothing that is installed is at fault."""
    root, options = roots / "kind_14", ("--gpu", "L4", "--driver", "580")
    active = Kind("/opt/venv", "", "", variables={"VIRTUAL_ENV": "/opt/venv"})
    found, status = doctor(root, active, "--env", "/opt/venv", *options)
    assert (found["verdict"], status) == ("fits", 0)
    found, status = doctor(root, active, "--error", "-", *options, text=pasted("origin_3_shared_memory"))
    assert (found["cause_found"], found["culprits"], status) == (True, [], 1)
    assert any("L4 (8.9): 99 KB a block by opting in; 160 KB do not fit" in line for line in found["concluded"])
    assert found["mend"].startswith("a smaller tile")
    found, status = doctor(
        roots / "kind_14", active, "--error", "-", *options, text=pasted("origin_4_slow_is_no_error")
    )
    assert (found["error"], found["culprits"], found["mend"], status) == (None, [], "", 2)


def test_red_herrings_and_the_cleared_stand_beside_the_culprit(roots: Path) -> None:
    kind = KINDS["origin_1"]
    found, _ = doctor(roots / "origin_1", kind, "--error", "-", text=pasted("origin_1_seedvr2"))
    assert [h["line"] for h in found["red_herrings"]] == [15, 26]
    assert "flash-attn==2.8.3" in found["cleared"]
    assert "the environment is the one that the text names" in found["assumed"]
