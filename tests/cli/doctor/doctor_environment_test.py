"""`flashfit doctor` on environments: the command, the live driver by its fake, and real packages that must fit.

The cases of misfit are in tests/doctor/environment; here is what only the whole command shows.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import flashfit
import pytest

from tests.cli.doctor.doctor_error_test import pasted
from tests.doctor.fetched import Wheel, fetch
from tests.doctor_command import COMMAND, ROOT, run

FAKE = COMMAND.parents[1] / "tests/fake_cuda/whole"
X86_OLD = ("manylinux2014_x86_64", "manylinux1_x86_64", "manylinux_2_17_x86_64")
X86 = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64")
CUPY = Wheel("cupy-cuda12x==13.3.0", X86_OLD, megabytes=91)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with one package of pure Python."""
    site = tmp_path / "venv/lib/python3.11/site-packages"
    info = site / "pure-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pure\nVersion: 1.0\n")
    (info / "RECORD").write_text("pure.py,,\n")
    (site / "pure.py").write_text("x = 1\n")
    return tmp_path / "venv"


def report(*words: str | Path, status: int = 0, **env: Any) -> Any:
    ran = run("doctor", "--json", "--no-cache", *words, env=env)
    assert (ran.returncode, ran.stderr) == (status, "")
    return json.loads(ran.stdout)


def test_the_environment_that_runs_this_fits() -> None:
    """But for xformers, which tests of flashfit.integrations bring: its kernels are CUDA's, torch the CPU's."""
    ran = run("doctor", "--env", sys.prefix, "--no-cache")
    first = ran.stdout.splitlines()[0]
    if importlib.util.find_spec("xformers"):
        assert re.search(r" does not fit: xformers [\d.]+$", first), ran.stdout
    else:
        assert ran.returncode == 0, ran.stdout
        assert " fits" in first
    assert "driver: " in ran.stdout


def test_a_command_called_by_its_path_judges_its_own_environment(venv: Path, tmp_path: Path) -> None:
    """As in every Dockerfile: not activated, and another python3 is first in PATH."""
    (venv / "bin").mkdir()
    (venv / "bin/flashfit").symlink_to(COMMAND)
    other = tmp_path / "other"
    shutil.copytree(venv, other, symlinks=True)
    for words in (["doctor", "--gpu", "L40"], ["doctor", "pure-1.0-cp311-cp311-linux_x86_64.whl"]):
        ran = subprocess.run(
            [venv / "bin/flashfit", *words, "--no-cache"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "VIRTUAL_ENV": str(other)},
        )
        assert f"{venv} (venv)" in ran.stdout
        assert str(other) not in ran.stdout
    named = run("doctor", "--gpu", "L40", "--active", other, "--no-cache", env={"VIRTUAL_ENV": str(venv)})
    assert named.stdout.startswith(f"{other} (venv) fits on L40 (8.9)\n")
    missing = run("doctor", "--gpu", "L40", "--active", other / "missing", "--no-cache")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith(f"flashfit: --active '{other / 'missing'}': must be a virtual environment, ")


def test_the_module_judges_the_python_that_runs_it(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    info = next((environment / "lib").glob("python3*")) / "site-packages/pure-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pure\nVersion: 1.0\n")
    ran = subprocess.run(
        [environment / "bin/python", "-m", "flashfit", "doctor", "--gpu", "L40", "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        env={
            **{k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"},
            "PYTHONPATH": str(ROOT / "python"),
            "FLASHFIT_COMMAND": str(COMMAND),
        },
    )
    assert ran.stdout.startswith(f"{environment} (venv) fits on L40 (8.9)\n"), ran.stderr


def test_schema_1_has_what_a_target_has_and_the_environment(venv: Path) -> None:
    found = report("--env", venv, "--gpu", "L40")
    assert set(found) == {"schema", "verdict", "asked", "targets", "environment"}
    assert (found["schema"], found["verdict"], found["targets"]) == (1, "fits", [])
    environment = found["environment"]
    assert (environment["prefix"], environment["kind"], environment["python"]) == (str(venv), "venv", "3.11.7")
    assert environment["installed"] == 1
    assert environment["system"]["driver"]["state"] == "not-asked", "another machine was described"


def test_without_a_driver_it_says_so(venv: Path) -> None:
    found = report("--env", venv, LD_LIBRARY_PATH=str(FAKE.parent / "damaged"))
    assert found["environment"]["system"]["driver"]["state"] == "no-library"
    assert found["verdict"] == "fits"


@pytest.mark.skipif(not FAKE.exists(), reason="this build has no fake driver")
def test_the_live_driver_is_asked_and_its_answers_told_apart(venv: Path) -> None:
    env: dict[str, Any] = {
        "LD_LIBRARY_PATH": str(FAKE),
        "FAKE_CUDA_GPUS": "NVIDIA L40:89",
        "FAKE_CUDA_VERSION": "12080",
    }
    found = report("--env", venv, "--probe", **env)
    driver = found["environment"]["system"]["driver"]
    assert (driver["state"], driver["status"], driver["cuda"], driver["launched"]) == ("answered", 0, "12.8", True)
    assert [g["name"] for g in driver["gpus"]] == ["NVIDIA L40"]
    assert [g["compute_capability"] for g in found["asked"]["gpus"]] == ["8.9"]
    failed = report("--env", venv, status=1, FAKE_CUDA_FAIL="cuInit:802", **env)
    assert (failed["verdict"], failed["environment"]["system"]["driver"]["status"]) == ("host", 802)
    assert failed["environment"]["problems"][0]["code"] == "FF701"
    no_gpu = report("--env", venv, **{**env, "FAKE_CUDA_GPUS": ""}, FAKE_CUDA_FAIL="cuInit:100")
    assert no_gpu["verdict"] == "fits"
    unlaunched = report("--env", venv, "--probe", status=1, FAKE_CUDA_FAIL="cuLaunchKernelEx:719", **env)
    assert "cuLaunchKernel" in unlaunched["environment"]["system"]["driver"]["launch_error"]


@pytest.mark.skipif(not FAKE.exists(), reason="this build has no fake driver")
def test_a_pasted_error_of_the_driver_is_held_against_its_live_answer(venv: Path) -> None:
    """Kind 11 of tests/cli/doctor/doctor_kinds_test.py, which needs a driver."""
    env: dict[str, Any] = {
        "LD_LIBRARY_PATH": str(FAKE),
        "FAKE_CUDA_GPUS": "NVIDIA H200:90",
        "FAKE_CUDA_VERSION": "12080",
    }
    text = pasted("kind_11_fabric_manager")
    found = report("--error", text, "--env", venv, status=1, FAKE_CUDA_FAIL="cuInit:802", **env)
    assert [(c["target"], c["code"]) for c in found["culprits"]] == [("this machine", "FF701")]
    assert "nvidia-fabricmanager" in found["look_for"]
    # It has passed by now, or the text is of another machine: no file is blamed, and the text stays a proof.
    found = report("--error", text, "--env", venv, status=1, **env)
    assert (found["culprits"], found["cleared"], found["cause_found"]) == ([], ["this machine"], True)
    # A machine that has no GPU has not made this error, and is not cleared of it.
    gone = {**env, "FAKE_CUDA_GPUS": ""}
    found = report("--error", text, "--env", venv, status=1, FAKE_CUDA_FAIL="cuInit:100", **gone)
    assert (found["culprits"], found["cleared"], found["cause_found"]) == ([], [], True)
    # Another answer of the driver is no evidence for this one.
    found = report("--error", text, "--env", venv, status=1, FAKE_CUDA_FAIL="cuInit:999", **env)
    assert found["culprits"] == []


def test_a_driver_that_crashes_is_the_hosts(venv: Path, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    source = tmp_path / "crash.c"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", source], check=True)
    found = report("--env", venv, status=1, LD_LIBRARY_PATH=str(tmp_path))
    assert (found["verdict"], found["environment"]["system"]["driver"]["state"]) == ("host", "crashed")
    assert found["environment"]["system"]["driver"]["why"] == "asking it ended in SIGABRT"


def test_real_packages_of_many_makers(venv: Path) -> None:
    """Unpacked as an installer does it. Of torchao 0.14.1 _C has nothing from 9.0 on, and a module that is for GPUs
    from 10.0 on is for Python 3.10 alone; the others fit."""
    site = venv / "lib/python3.11/site-packages"
    for wheel in (Wheel("torchvision==0.24.1", X86, megabytes=8), Wheel("torchao==0.14.1", X86, megabytes=7), CUPY):
        with zipfile.ZipFile(fetch(wheel)) as content:
            content.extractall(site)
    for gpu, codes in (("A100", []), ("L40", []), ("H100", ["FF101"]), ("B200", ["FF101", "FF222"])):
        found = report("--env", venv, "--gpu", gpu, "--driver", "580", "--glibc", "2.36", status=1 if codes else 0)
        faulty = ["torchao"] if codes else []
        assert found["environment"]["culprits"] == faulty, [t["problems"] for t in found["targets"]]
        assert {"cupy-cuda12x", "torchvision", *(["torchao"] if not codes else [])} <= set(
            found["environment"]["cleared"]
        )
        problems = [p for p in found["targets"][0]["problems"] if p["severity"] != "note"]
        assert [(p["code"], p["severity"]) for p in problems] == [(code, "degrades") for code in codes]


def test_wrong_uses_get_one_line(venv: Path) -> None:
    for words, line in (
        (["x.whl", "--env", str(venv)], "flashfit: --env: judges an environment, so it goes without targets"),
        (["--env", "nowhere"], "flashfit: --env 'nowhere': no such folder"),
        (["--env", str(venv), "--probe", "--gpu", "L40"], "flashfit: --probe: asks this machine's driver"),
        (["x.whl", "--probe"], "flashfit: --probe: goes with an environment"),
    ):
        ran = run("doctor", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.startswith(line), ran.stderr
        assert ran.stderr.count("\n") == 1


def test_python_gives_typed_objects(venv: Path) -> None:
    found = flashfit.doctor(env=venv, gpu="L40", cache=False)
    assert found
    assert found.environment is not None
    assert (found.environment.kind, found.environment.installed, found.targets) == ("venv", 1, ())
    assert found.environment.system["driver"]["state"] == "not-asked"
    here = flashfit.doctor(gpu="L40", cache=False).environment
    assert here is not None
    assert os.path.samefile(here.prefix, sys.prefix)
    with pytest.raises(flashfit.InvalidArgument, match="env"):
        flashfit.doctor("x.whl", env=venv)
