"""What the doctor says of wheels, libraries and GPU code, as typed objects: the content of `flashfit doctor --json`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ._command import command, this_python
from ._errors import FlashfitError, InvalidArgument, InvalidType
from ._tensors import shown

Pathlike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or worth knowing. docs/doctor/CODE.md explains it."""

    code: str
    severity: str  #: "note", "degrades", "unknown", "host" or "misfit"
    message: str
    member: str  #: the library or cubin; "" where it is about the target
    fix: str  #: what would fit, in words; "" if nothing is known
    line: int = 0  #: of a requirements file, lock or Dockerfile; 0 where it is about none


@dataclass(frozen=True)
class GpuFit:
    """How a binary fares on one GPU."""

    best: str  #: "sass", "ptx-jit" or "no"
    covered: int  #: containers that have a usable image


@dataclass(frozen=True)
class Binary:
    """One library, object, cubin, fat binary or PTX text."""

    path: str  #: the member's name; "" for the target itself
    kind: str
    machine: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    ptx_isa: str
    toolkit: str  #: that made the GPU code: "12.8"; "" if unknown
    cudart: str  #: major version of a CUDA runtime linked into it: "12"; "" if there is none
    torch_abi: str  #: "cxx11", "pre-cxx11", "stable", "either" or "none"
    glibc: str  #: "2.28"; "" if it asks for none
    needed: tuple[str, ...]
    containers: int
    gpus: Mapping[str, GpuFit]  #: by the GPUs' names as given


@dataclass(frozen=True)
class Target:
    """One file or folder."""

    target: str
    kind: str
    verdict: str
    problems: tuple[Problem, ...]
    mend: str  #: a command under which it fits, by the same rules; "" if none is known
    look_for: str  #: where no command mends it: a driver or a system under which it fits; "" if none is known
    tags: str
    glibc: str
    binaries: tuple[Binary, ...]
    basis: str = ""  #: of a list of requests: what was judged by name and what by its file


@dataclass(frozen=True)
class Environment:
    """A virtual environment, a conda prefix or a folder of packages, with the machine around it."""

    prefix: str
    kind: str  #: "venv", "conda", "system", "folder" or "none"
    python: str
    installed: int  #: packages, with and without machine code
    files: int
    problems: tuple[Problem, ...]  #: of the whole: the driver, the GPU
    culprits: tuple[str, ...]  #: packages that do not fit, the first to mend first
    cleared: tuple[str, ...]  #: packages with GPU code, of PyTorch or of NVIDIA's libraries that fit
    not_cleared: tuple[str, ...]  #: packages that fit by what is known, and of which a note says why they may fail
    packages: tuple[Mapping[str, Any], ...]  #: in the order of Report.targets
    unread: tuple[str, ...]
    system: Mapping[str, Any]  #: docs/environment.md, "JSON"


@dataclass(frozen=True)
class Report:
    """Of all targets. `verdict` is the worst: "fits", "degraded", "unknown", "host" or "misfit"."""

    schema: int
    verdict: str
    asked: Mapping[str, Any]  #: what was judged for, and what of it was assumed
    targets: tuple[Target, ...]
    environment: Environment | None = None  #: where no targets were given: they are its packages

    def __bool__(self) -> bool:
        """Whether everything fits."""
        return self.verdict == "fits"


def _binary(j: dict[str, Any]) -> Binary:
    gpus = {name: GpuFit(**fit) for name, fit in j["gpus"].items()}
    lists = {key: tuple(j[key]) for key in ("sass", "ptx", "needed")}
    return Binary(**{**j, **lists, "gpus": gpus})


def _target(j: dict[str, Any]) -> Target:
    problems = tuple(Problem(**p) for p in j["problems"])
    return Target(**{**j, "problems": problems, "binaries": tuple(map(_binary, j["binaries"]))})


def _environment(j: dict[str, Any]) -> Environment:
    lists = {key: tuple(j[key]) for key in ("culprits", "cleared", "not_cleared", "packages", "unread")}
    return Environment(**{**j, **lists, "problems": tuple(Problem(**p) for p in j["problems"])})


def _word(name: str, value: Any, path: bool = False) -> str:
    """A value as a word of the command."""
    word = os.fspath(value) if path and isinstance(value, os.PathLike) else value
    if not isinstance(word, str):
        raise InvalidType(f"{name}: {shown(value)}; accepted: a text{' or a path' if path else ''}")
    if "\0" in word:
        raise InvalidArgument(f"{name}: {shown(value)}; accepted: a text without zero bytes")
    return word


def _words_of_gpus(gpu: Any) -> list[str]:
    try:
        names = [gpu] if isinstance(gpu, str) else list(gpu)
    except TypeError:
        raise InvalidType(f"gpu: {shown(gpu)}; accepted: a text, or a sequence of texts") from None
    return [_word("gpu", name) for name in names]


def doctor(
    *targets: Pathlike,
    env: Pathlike | None = None,
    gpu: str | Sequence[str] = (),
    driver: str | None = None,
    python: str | None = None,
    torch: Pathlike | None = None,
    glibc: str | None = None,
    platform: str | None = None,
    cache: bool = True,
    probe: bool = False,
) -> Report:
    """Whether wheels, libraries, cubins or folders fit, exactly why not, and what would. Nothing in them is run.

    targets: their paths; none: the environment `env` (a virtual environment, a conda prefix, a site-packages folder),
    by default the one that runs this, package by package. probe: also launch an empty kernel on every GPU here.
    gpu: "L40", "8.9", "all", or several; default: this machine's. driver: "535" or "12.2". python: "3.11"; default:
    this one. torch: a version, a wheel or a folder. glibc: "2.31"; platform: "linux_x86_64", "win_amd64"; default: this
    machine's. cache: whether what is known of unchanged files is used.
    docs/doctor.md explains the verdicts.
    Raises InvalidArgument for options that are none and InvalidType for values of another type.
    """
    if targets and env is not None:
        raise InvalidArgument("env: an environment is judged by itself; accepted: env, or targets")
    words = ["doctor", "--json"]
    if targets or env is None or python is not None:
        words += ["--python", this_python() if python is None else _word("python", python)]
    if not targets:
        prefix = sys.prefix if env is None else _word("env", env, path=True)
        words += ["--env", prefix, *(["--probe"] if probe else [])]
    for name in _words_of_gpus(gpu):
        words += ["--gpu", name]
    given = {"driver": driver, "torch": torch, "glibc": glibc, "platform": platform}
    for option, value in given.items():
        words += [] if value is None else [f"--{option}", _word(option, value, path=option == "torch")]
    paths = [_word("targets", target, path=True) for target in targets]
    words += [] if cache else ["--no-cache"]
    ran = subprocess.run([command(), *words, "--", *paths], capture_output=True, check=False)
    if not ran.stdout:
        message = ran.stderr.decode("utf-8", "replace").strip()
        raise (InvalidArgument if ran.returncode == 2 else FlashfitError)(message.removeprefix("flashfit: "))
    j = json.loads(ran.stdout)
    environment = _environment(j["environment"]) if "environment" in j else None
    return Report(**{**j, "targets": tuple(map(_target, j["targets"])), "environment": environment})
