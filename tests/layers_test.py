"""The layer rules of docs/architecture.md: who may include whom, and where asm and architectures may be spoken of.

Each rule is a function from a tree (path -> text) to its violations, tried on this repository and on small trees that
break it.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[1]
Tree = Mapping[str, str]
Rule = Callable[[Tree], list[str]]

# Each layer includes itself and those that its line names: the design of docs/architecture.md. "kernels/*" is every
# layer of that wing.
SEES: dict[str, tuple[str, ...]] = {
    "core/base": (),
    "core/gpu": ("core/base",),
    "core/launch": ("core/base", "core/gpu"),
    "kernels/layout": ("core/base",),
    "kernels/arch": ("core/*", "kernels/layout"),
    "kernels/tile": ("core/*", "kernels/layout", "kernels/arch"),
    "kernels/attention": ("core/*", "kernels/layout", "kernels/arch", "kernels/tile"),
    "kernels/moe": ("core/*", "kernels/layout", "kernels/arch", "kernels/tile"),
    "runtime/images": ("core/*", "kernels/*"),
    "runtime/cpu": ("core/*", "kernels/*"),
    "runtime/api": ("core/*", "kernels/*", "runtime/images", "runtime/cpu"),
    "runtime/python": ("runtime/api",),
    "proof/emu": ("core/*", "kernels/layout", "kernels/arch"),
    "proof/ptx": ("core/*", "kernels/layout", "kernels/arch", "proof/emu"),
    "proof/reference": ("core/*", "kernels/attention", "kernels/moe"),
    "proof/emulated": ("core/*", "kernels/*", "runtime/images", "proof/emu", "proof/reference"),
    "proof/lab": ("core/*", "kernels/layout", "runtime/images", "proof/emu", "proof/ptx"),
    "measure": ("core/*", "kernels/*", "runtime/api", "proof/reference", "proof/lab"),
    "cli": ("core/*", "kernels/*", "runtime/*", "proof/*", "measure", "doctor"),
    "doctor": ("core/*",),
}
DEVICE_LAYERS = {
    "kernels/arch",
    "kernels/tile",
    "kernels/attention",
    "kernels/moe",
    "proof/emu",
    "proof/emulated",
    "measure",
}
# An operation of a folder of kernels sees that folder's own files, never the other operations in it.
OPERATIONS = ("kernels/attention", "kernels/moe")
# The doctor's folders, each of which sees those before it, `base` and `gpu`; DOCTOR_NARROWER says which see fewer.
DOCTOR = [
    "bytes",
    "binaries",
    "gpu_code",
    "packaging",
    "knowledge",
    "facts",
    "rules",
    "mends",
    "examine",
    "dynamic_loader",
    "environment",
    "container",
    "requests",
    "pasted",
]
DOCTOR_NARROWER = {
    "packaging": {"bytes"},
    "dynamic_loader": {"bytes", "binaries", "packaging", "knowledge", "facts", "rules"},
    "requests": set(DOCTOR[:9]),
    "pasted": set(DOCTOR[:9]),
}
GENERATED = (".git", ".venv", "build", "build-*", "out", "__pycache__", ".*_cache", ".hypothesis")
MADE_OF_CODE = (".h", ".hpp", ".cpp", ".cuh", ".c", ".cc")


def read_tree() -> dict[str, str]:
    """All text files of the repository, without what is generated."""
    tree = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not any(fnmatch.fnmatch(f, g) for g in GENERATED)]
        for file in set(files) - set(GENERATED):  # .git is a file in a work tree beside another
            path = Path(folder, file)
            try:
                tree[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return tree


def code(tree: Tree, *folders: str) -> Iterator[tuple[str, str]]:
    """C++ files under the folders."""
    for path, text in tree.items():
        if path.endswith(MADE_OF_CODE) and path.startswith(tuple(f + "/" for f in folders)):
            yield path, text


# Raw strings before comments, as kernel sources made by a build tool may hold either.
NOT_CODE = re.compile(
    r"""R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*\"""", re.DOTALL
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<][^">\n]+[">])', re.MULTILINE)


def bare(text: str) -> str:
    """The text without comments, strings and characters."""
    return NOT_CODE.sub('""', text)


def includes(text: str) -> list[str]:
    """What the text includes, each with its quotes or angles."""
    without = NOT_CODE.sub(lambda m: m.group() if m.group().startswith('"') else "", text)
    return INCLUDE.findall(without)


def layer_of(path: str) -> str | None:
    """The layer that a file of src/, or an included name, belongs to; the public header is the API's."""
    parts = path.removeprefix("src/").split("/")
    if parts[0] == "flashfit":
        return "runtime/api"
    return next((layer for layer in (parts[0], "/".join(parts[:2])) if layer in SEES), None)


def layers_look_left(tree: Tree) -> list[str]:
    wrong = []
    for path, text in code(tree, "src"):
        own = layer_of(path)
        if own is None:
            wrong.append(f"{path}: src/ has no such layer")
            continue
        for include in includes(text):
            name = include.strip('<>"')
            other = layer_of(name)
            if other is None and include.startswith('"'):
                wrong.append(f'{path}: includes "{name}", which names no layer')
            if other is None or other == own:
                continue
            if not any(fnmatch.fnmatch(other, seen) for seen in SEES[own]):
                wrong.append(f"{path}: {own} includes {name} of {other}")
    return wrong


def operations_see_no_siblings(tree: Tree) -> list[str]:
    wrong = []
    for folder in OPERATIONS:
        for path, text in code(tree, f"src/{folder}"):
            own = path.removeprefix(f"src/{folder}/").split("/")
            for include in includes(text):
                other = include.strip('<>"').removeprefix(f"{folder}/").split("/")
                if include.strip('<>"').startswith(f"{folder}/") and len(other) > 1 and other[0] != own[0]:
                    wrong.append(f"{path}: {own[0]} includes {include} of its sibling {other[0]}")
    return wrong


def doctor_folders_look_left(tree: Tree) -> list[str]:
    wrong = []
    for path, text in code(tree, "src/doctor"):
        own = path.split("/")[2]
        if own not in DOCTOR:
            wrong.append(f"{path}: src/doctor has no such folder")
            continue
        allowed = {own, *DOCTOR_NARROWER.get(own, DOCTOR[: DOCTOR.index(own)])}
        names = [i.strip('<>"') for i in includes(text)]
        others = [n.split("/")[1] for n in names if n.startswith("doctor/")]
        wrong += [f"{path}: {own} includes {o} of the doctor" for o in others if o not in allowed]
    return wrong


def host_code_includes_no_kernel(tree: Tree) -> list[str]:
    return [
        f"{path}: host code includes {include}"
        for path, text in code(tree, "src")
        if not (layer_of(path) == "proof/emulated" or (layer_of(path) in DEVICE_LAYERS and path.endswith(".cuh")))
        for include in includes(text)
        if include.strip('<>"').endswith(".cuh")
    ]


def runtime_names_no_family(tree: Tree) -> list[str]:
    """What carries, loads and launches kernels knows them by their rows; the catalogue alone lists the families."""
    return [
        f"{path}: runtime/images includes {include}"
        for path, text in code(tree, "src/runtime/images")
        for include in includes(text)
        if include.strip('"').startswith(OPERATIONS) and path != "src/runtime/images/catalogue.cpp"
    ]


PARTS_OF_ARCH = ("arch", "fragments", "steps")


def only_backends_implement_arch(tree: Tree) -> list[str]:
    wrong = []
    for path, text in code(tree, "src", "include", "tests", "tools", "examples"):
        implements = Path(path).name in {f"flashfit_{part}.hpp" for part in PARTS_OF_ARCH}
        if implements and Path(path).parent.as_posix() not in ("src/kernels/arch/cuda", "src/proof/emu"):
            wrong.append(f"{path}: a third backend of arch")
        wrong += [
            f"{path}: includes a backend past kernels/arch/{part}.hpp"
            for part in PARTS_OF_ARCH
            if path != f"src/kernels/arch/{part}.hpp" and any(f"flashfit_{part}.hpp" in i for i in includes(text))
        ]
    return wrong


def asm_is_in_arch_cuda_alone(tree: Tree) -> list[str]:
    return [
        f"{path}: asm outside src/kernels/arch/cuda"
        for path, text in code(tree, "src", "include", "examples")
        if not path.startswith("src/kernels/arch/cuda/") and re.search(r"\b(asm|__asm|__asm__)\b", bare(text))
    ]


def no_triple_angle_launch(tree: Tree) -> list[str]:
    return [f"{path}: <<<" for path, text in code(tree, "src", "include", "tests", "examples") if "<<<" in bare(text)]


ARCHITECTURE = re.compile(r"__CUDA_ARCH|__CUDACC|__CUDA__|__NVCC__|FLASHFIT_ARCH|\bSM_?\d+|CUDA_VERSION")


def no_condition_on_an_architecture(tree: Tree) -> list[str]:
    return [
        f"{path}: {line.strip()}"
        for path, text in code(tree, "src", "include")
        if not path.startswith("src/kernels/arch/cuda/")
        for line in bare(text).splitlines()
        if "__CUDA_ARCH" in line or (re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line) and ARCHITECTURE.search(line))
    ]


FOREIGN = re.compile(
    r'^["<]((cuda|cuda_runtime|cuda_runtime_api|nvrtc|Python)\.h|(torch|ATen|c10|pybind11|nanobind)/.*)[">]$'
)


def no_foreign_header(tree: Tree) -> list[str]:
    return [
        f"{path}: includes {include}"
        for path, text in code(tree, "src", "include", "tests", "tools", "examples")
        for include in includes(text)
        if FOREIGN.match(include) and not (include == "<Python.h>" and layer_of(path) == "runtime/python")
    ]


def no_include_cycle(tree: Tree) -> list[str]:
    files = dict(code(tree, "src", "include", "tests"))
    edges = {}
    for path, text in files.items():
        names = [i.strip('"') for i in includes(text) if i.startswith('"')]
        candidates = [[f"src/{n}", f"include/{n}", f"tests/{n}", f"{Path(path).parent.as_posix()}/{n}"] for n in names]
        edges[path] = [next(c for c in cs if c in files) for cs in candidates if any(c in files for c in cs)]
    wrong = []
    done: set[str] = set()

    def visit(path: str, trail: list[str]) -> None:
        if path in trail:
            wrong.append(" -> ".join([*trail[trail.index(path) :], path]))
        elif path not in done:
            for target in edges[path]:
                visit(target, [*trail, path])
            done.add(path)

    for path in edges:
        visit(path, [])
    return wrong


# Written in pieces, so that this file does not break its own rule.
HOSTS = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "debian" + ".org/debian",
    "archive.ubuntu" + ".com",
    "download.pytorch" + ".org",
]
MACHINE_PATH = re.compile(r"(?<![\w.$}/~-])/(?:" + "work|root" + r")(?![\w.-])")
OTHER_INDEX = re.compile(r"^\s*(--(extra-)?index-url|--find-links|-i|-f)\b", re.MULTILINE)


def speaks_of_no_machine(tree: Tree) -> list[str]:
    wrong = []
    for path, text in tree.items():
        wrong += [f"{path}: names the host {host}" for host in HOSTS if host in text]
        wrong += [f"{path}: a path of one machine: {m.group()}" for m in MACHINE_PATH.finditer(text)]
        if path.startswith("requirements/") and OTHER_INDEX.search(text):
            wrong.append(f"{path}: names a package index")
    return wrong


RULES: list[Rule] = [
    layers_look_left,
    doctor_folders_look_left,
    host_code_includes_no_kernel,
    operations_see_no_siblings,
    runtime_names_no_family,
    only_backends_implement_arch,
    asm_is_in_arch_cuda_alone,
    no_triple_angle_launch,
    no_condition_on_an_architecture,
    no_foreign_header,
    no_include_cycle,
    speaks_of_no_machine,
]


@pytest.fixture(scope="module")
def repository() -> dict[str, str]:
    tree = read_tree()
    assert sum(path.startswith("src/") for path in tree) > 30, "the walk does not see src/"
    return tree


@pytest.mark.parametrize("rule", RULES)
def test_holds_here(rule: Rule, repository: dict[str, str]) -> None:
    assert rule(repository) == []


BREACHES: list[tuple[Rule, dict[str, str]]] = [
    (layers_look_left, {"src/core/base/a.hpp": '#include "core/gpu/gpu.hpp"'}),
    (layers_look_left, {"src/core/gpu/a.cpp": '#include "kernels/layout/swizzle.hpp"'}),
    (layers_look_left, {"src/kernels/attention/forward/plan/a.cpp": "#  include <runtime/cpu/attention.hpp>"}),
    (layers_look_left, {"src/kernels/attention/a.hpp": '#include "kernels/moe/route/problem.hpp"'}),
    (layers_look_left, {"src/runtime/cpu/a.cpp": '#include "runtime/images/carried.hpp"'}),
    (layers_look_left, {"src/runtime/images/a.cpp": '#include "flashfit/flashfit.h"'}),
    (layers_look_left, {"src/doctor/rules/a.cpp": '#include "kernels/attention/problem.hpp"'}),
    (layers_look_left, {"src/kernels/attention/forward/plan/a.cpp": '#include "doctor/bytes/zip.hpp"'}),
    (doctor_folders_look_left, {"src/doctor/rules/a.cpp": '#include "doctor/dynamic_loader/file_tree.hpp"'}),
    (doctor_folders_look_left, {"src/doctor/facts/a.cpp": '#include "doctor/rules/judge.hpp"'}),
    (doctor_folders_look_left, {"src/doctor/requests/a.cpp": '#include "doctor/environment/environment.hpp"'}),
    (doctor_folders_look_left, {"src/doctor/a.cpp": '#include "doctor/bytes/zip.hpp"'}),
    (layers_look_left, {"src/proof/emu/a.cpp": '#include "kernels/tile/copy.cuh"'}),
    (layers_look_left, {"src/kernels/tile/a.cuh": '#include "doctor/binaries/elf.hpp"'}),
    (layers_look_left, {"src/core/base/a.hpp": '#include "b.hpp"'}),
    (layers_look_left, {"src/utils/a.hpp": ""}),
    (host_code_includes_no_kernel, {"src/runtime/cpu/a.cpp": '#include "kernels/attention/mask.cuh"'}),
    (
        host_code_includes_no_kernel,
        {"src/kernels/attention/forward/variants.hpp": '#include "kernels/attention/forward/forward.cuh"'},
    ),
    (layers_look_left, {"src/kernels/attention/forward/plan/a.cpp": '#include "runtime/images/loader.hpp"'}),
    (
        operations_see_no_siblings,
        {"src/kernels/attention/backward/a.cuh": '#include "kernels/attention/forward/output.cuh"'},
    ),
    (runtime_names_no_family, {"src/runtime/images/loader.cpp": '#include "kernels/attention/forward/config.hpp"'}),
    (only_backends_implement_arch, {"src/kernels/tile/flashfit_arch.hpp": ""}),
    (only_backends_implement_arch, {"src/kernels/tile/a.cuh": "#include <flashfit_arch.hpp>"}),
    (only_backends_implement_arch, {"src/kernels/tile/flashfit_fragments.hpp": ""}),
    (only_backends_implement_arch, {"src/kernels/tile/flashfit_steps.hpp": ""}),
    (only_backends_implement_arch, {"src/kernels/tile/a.cuh": "#include <flashfit_steps.hpp>"}),
    (asm_is_in_arch_cuda_alone, {"src/kernels/attention/a.cuh": 'asm volatile("mov.u32 %0, 1;");'}),
    (asm_is_in_arch_cuda_alone, {"src/kernels/arch/a.hpp": '__asm__("nop");'}),
    (no_triple_angle_launch, {"src/runtime/images/a.cpp": "kernel<<<1, 32>>>(p);"}),
    (no_condition_on_an_architecture, {"src/kernels/tile/a.cuh": "#if __CUDA_ARCH__ >= 800"}),
    (no_condition_on_an_architecture, {"src/kernels/tile/a.cuh": "constexpr int kArch = __CUDA_ARCH__;"}),
    (no_condition_on_an_architecture, {"src/core/base/a.hpp": "# ifdef __CUDACC_RTC__"}),
    (no_foreign_header, {"src/core/gpu/a.cpp": "#include <cuda.h>"}),
    (no_foreign_header, {"tests/runtime/api/a.cpp": "#include <torch/torch.h>"}),
    (
        no_include_cycle,
        {"src/core/gpu/a.hpp": '#include "core/gpu/b.hpp"', "src/core/gpu/b.hpp": '#include "core/gpu/a.hpp"'},
    ),
    (speaks_of_no_machine, {"docs/a.md": f"see {HOSTS[0]}"}),
    (speaks_of_no_machine, {"tools/a.sh": "cd /" + "work/main"}),
    (speaks_of_no_machine, {"tools/a.py": '"/' + 'root"'}),
    (speaks_of_no_machine, {"requirements/run.txt": "--extra-index-url x"}),
]


@pytest.mark.parametrize(("rule", "tree"), BREACHES)
def test_sees_a_breach(rule: Rule, tree: dict[str, str]) -> None:
    assert len(rule(tree)) == 1


def test_every_rule_was_seen_to_fail() -> None:
    assert {rule for rule, _ in BREACHES} == set(RULES)


CLEAN = {
    "src/core/base/a.hpp": "#include <cstdint>",
    "src/kernels/arch/arch.hpp": "#include <flashfit_arch.hpp>",
    "src/kernels/arch/cuda/flashfit_arch.hpp": 'asm volatile("nop;");\n#if __CUDA_ARCH__ >= 800\n#endif',
    "src/kernels/attention/a.cuh": '#include "kernels/tile/copy.cuh"  // asm lives in kernels/arch/cuda, no <<<',
    "src/kernels/attention/forward/b.hpp": '#include "kernels/attention/problem.hpp"',
    "src/kernels/moe/route/a.hpp": '#include "core/launch/image.hpp"\n#include "kernels/moe/route/b.hpp"',
    "src/runtime/images/a.cpp": 'f(R"(\n#include "kernels/moe/route/route.cuh"\n#if __CUDA_ARCH__\n)", "<<<");',
    "src/runtime/api/a.cpp": '#include "runtime/cpu/a.hpp"\n#include "flashfit/flashfit.h"',
    "docs/a.md": "src/work/ and ~/work and /workspace",
}


@pytest.mark.parametrize("rule", RULES)
def test_lets_clean_code_pass(rule: Rule) -> None:
    assert rule(CLEAN) == []
