"""ComfyUI's hooks, with a stand-in of comfy.ldm.modules.attention and of its patcher whose signatures are those of the
commit that docs/seedvr.md names."""

from __future__ import annotations

import copy
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.integrations import comfyui, sdpa, seedvr  # noqa: E402

from tests.integrations.negated_views import Case, expect_its_own_sign, parameters  # noqa: E402

HEADS, HEAD_DIM = 3, 16
NODES = Path(comfyui.__file__).parents[1] / "comfyui" / "flashfit_attention"


def attention_pytorch(
    q: Any,
    k: Any,
    v: Any,
    heads: int,
    mask: Any = None,
    attn_precision: Any = None,
    skip_reshape: bool = False,
    skip_output_reshape: bool = False,
    **kwargs: Any,
) -> Any:
    if not skip_reshape:
        q, k, v = (x.view(x.shape[0], -1, heads, x.shape[-1] // heads).transpose(1, 2) for x in (q, k, v))
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.ndim == 2 else mask
        mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out if skip_output_reshape else out.transpose(1, 2).reshape(q.shape[0], -1, heads * q.shape[-1])


def wrap_attn(func: Any) -> Any:
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if "_inside_attn_wrapper" not in kwargs:
            options = kwargs.get("transformer_options")
            kwargs["_inside_attn_wrapper"] = True
            if options is not None and "optimized_attention_override" in options:
                return options["optimized_attention_override"](func, *args, **kwargs)
        return func(*args, **kwargs)

    return wrapper


class Patcher:
    """As ModelPatcher, of which the node uses clone() and model_options."""

    def __init__(self) -> None:
        self.patches = {"weight": ["a LoRA"]}
        self.model_options: dict[str, Any] = {"transformer_options": {"mine": 1}}

    def clone(self) -> Patcher:
        other = Patcher()
        other.patches = dict(self.patches)
        other.model_options = copy.deepcopy(self.model_options)
        return other


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("FLASHFIT_DISABLE", "FLASHFIT_DISABLE_COMFYUI", "FLASHFIT_DISABLE_SEEDVR"):
        monkeypatch.delenv(name, raising=False)
    module: Any = ModuleType("comfy.ldm.modules.attention")
    module.REGISTERED_ATTENTION_FUNCTIONS = {"pytorch": wrap_attn(attention_pytorch)}
    module.register_attention_function = module.REGISTERED_ATTENTION_FUNCTIONS.setdefault
    module.wrap_attn = wrap_attn
    for name in ("comfy", "comfy.ldm", "comfy.ldm.modules"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "comfy.ldm.modules.attention", module)
    comfyui.HOST.notes.clear()
    yield module
    for each in (comfyui, seedvr, sdpa):
        each.uninstall()


def inputs(skip_reshape: bool) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, rows, HEADS * HEAD_DIM) for rows in (10, 14, 14))
    if skip_reshape:
        q, k, v = (x.view(2, -1, HEADS, HEAD_DIM).transpose(1, 2) for x in (q, k, v))
    return q, k, v


MASKS = {
    "none": None,
    "boolean, of two dimensions": torch.ones(10, 14, dtype=torch.bool).tril(4),
    "added, of three": torch.linspace(-2, 2, 2 * 10 * 14).view(2, 10, 14),
    "added, of four": torch.linspace(-2, 2, 2 * HEADS * 10 * 14).view(2, HEADS, 10, 14).sin(),
}


@pytest.mark.parametrize("skip_output_reshape", [False, True])
@pytest.mark.parametrize("skip_reshape", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_both_hooks_beside_comfyuis_own(host: Any, mask: str, skip_reshape: bool, skip_output_reshape: bool) -> None:
    assert comfyui.install()
    functions = host.REGISTERED_ATTENTION_FUNCTIONS
    q, k, v = inputs(skip_reshape)
    named = {"mask": MASKS[mask], "skip_reshape": skip_reshape, "skip_output_reshape": skip_output_reshape}
    want = functions["pytorch"](q, k, v, HEADS, **named)
    options = {"optimized_attention_override": comfyui.override()}
    by_override = functions["pytorch"](q, k, v, HEADS, transformer_options=options, **named)
    by_name = functions["flashfit"](q, k, v, HEADS, **named)
    for found in (by_override, by_name):
        assert found.shape == want.shape
        assert (found - want).abs().max() < 2e-6
    (line,) = comfyui.log()
    assert line.startswith("comfyui: took: fp32 on cpu, 3 heads of 16")
    assert line.endswith("(2 calls)")


def test_negated_views(host: Any) -> None:
    assert comfyui.install()
    attend = host.REGISTERED_ATTENTION_FUNCTIONS["flashfit"]
    tensors, mask = inputs(skip_reshape=False), MASKS["added, of three"]
    cases: dict[str, Case] = {
        "plain": (lambda q, k, v: attend(q, k, v, HEADS), tensors, 3),
        "mask": (lambda q, k, v, x: attend(q, k, v, HEADS, mask=x), (*tensors, mask), 3),
    }
    for parameter in parameters(cases):
        name, which, gradients = parameter.values
        expect_its_own_sign(cases[name], which, gradients)
    assert [line for line in comfyui.log() if ": left: " in line] == []


def test_what_is_left_goes_on(host: Any) -> None:
    comfyui.install()
    q, k, v = (x.double() for x in inputs(False))
    want = attention_pytorch(q, k, v, HEADS)
    seen: list[str] = []

    def before(function: Any, *given: Any, **named: Any) -> Any:
        seen.append(function.__name__)
        return function(*given, **named)

    for override in (comfyui.override(), comfyui.override(before)):
        options = {"optimized_attention_override": override}
        found = host.REGISTERED_ATTENTION_FUNCTIONS["pytorch"](q, k, v, HEADS, transformer_options=options)
        assert torch.equal(found, want)
    assert seen == ["attention_pytorch"]
    assert torch.equal(host.REGISTERED_ATTENTION_FUNCTIONS["flashfit"](q, k, v, HEADS), want)
    assert comfyui.log() == ["comfyui: left: fp64 on cpu, 3 heads of 16: query: dtype is torch.float64 (3 calls)"]


def test_an_argument_that_is_new_is_left_by_name_and_a_scale_is_not(host: Any) -> None:
    comfyui.install()
    function = host.REGISTERED_ATTENTION_FUNCTIONS["flashfit"]
    q, k, v = inputs(False)
    function(q, k, v, HEADS, rotation=1)
    function(q, k, v, HEADS, rotation=None, low_precision_attention=False)
    assert [line.split(": ", 2)[1] for line in comfyui.log()] == ["left", "took"]
    assert "rotation: not an argument" in comfyui.log()[0]
    scaled = function(q, k, v, HEADS, scale=0.5)
    assert (scaled - attention_pytorch(q * 0.5 * HEAD_DIM**0.5, k, v, HEADS)).abs().max() < 2e-6


def test_a_training_step(host: Any) -> None:
    """ComfyUI trains LoRAs through the same functions."""
    (patched,) = comfyui.FlashfitAttention().patch(Patcher())
    function = host.REGISTERED_ATTENTION_FUNCTIONS["pytorch"]
    found = []
    both: tuple[dict[str, Any], ...] = (patched.model_options["transformer_options"], {})
    for options in both:
        tensors = [x.requires_grad_() for x in inputs(False)]
        function(*tensors, HEADS, transformer_options=options).square().sum().backward()
        found.append([x.grad for x in tensors])
    for ours, its in zip(*found):
        torch.testing.assert_close(ours, its, rtol=1e-4, atol=1e-5)
    (line,) = comfyui.log()
    assert "gradients by PyTorch's flash attention" in line


def test_the_node_changes_the_override_of_a_clone_alone(host: Any) -> None:
    model = Patcher()
    (patched,) = comfyui.FlashfitAttention().patch(model)
    assert model.model_options == {"transformer_options": {"mine": 1}}
    assert patched.patches == model.patches
    options = patched.clone().model_options["transformer_options"]
    assert set(options) == {"mine", "optimized_attention_override"}
    q, k, v = inputs(False)
    function = host.REGISTERED_ATTENTION_FUNCTIONS["pytorch"]
    assert (function(q, k, v, HEADS, transformer_options=options) - function(q, k, v, HEADS)).abs().max() < 2e-6
    (line,) = comfyui.log()
    assert line.endswith("(1 call)")
    assert not sdpa.HOST.is_installed
    comfyui.FlashfitAttention().patch(model, everywhere=True)
    assert sdpa.HOST.is_installed


def test_uninstall_leaves_no_trace(host: Any) -> None:
    with comfyui.installed():
        override = comfyui.override()
    assert list(host.REGISTERED_ATTENTION_FUNCTIONS) == ["pytorch"]
    q, k, v = inputs(False)  # a model that was patched before computes by ComfyUI's own again
    options = {"optimized_attention_override": override}
    host.REGISTERED_ATTENTION_FUNCTIONS["pytorch"](q, k, v, HEADS, transformer_options=options)
    assert comfyui.log() == []


def test_off(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHFIT_DISABLE_COMFYUI", "1")
    model = Patcher()
    assert comfyui.FlashfitAttention().patch(model) == (model,)
    assert list(host.REGISTERED_ATTENTION_FUNCTIONS) == ["pytorch"]


def load(folder: Path) -> Any:
    """As ComfyUI's load_custom_node does."""
    name = str(folder).replace(".", "_x_")
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_folder(host: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(NODES, tmp_path / "flashfit_attention", ignore=shutil.ignore_patterns("__pycache__")))
    module = load(folder)
    assert list(module.NODE_CLASS_MAPPINGS) == list(module.NODE_DISPLAY_NAME_MAPPINGS) == ["FlashfitAttention"]
    node = module.NODE_CLASS_MAPPINGS["FlashfitAttention"]
    assert node.INPUT_TYPES()["required"] == {"model": ("MODEL",)}
    assert hasattr(node(), node.FUNCTION)
    assert "flashfit" in host.REGISTERED_ATTENTION_FUNCTIONS
    assert seedvr.HOST.is_installed  # flash-attn is not here
    assert [p.name for p in NODES.parent.iterdir() if p.name != "__pycache__"] == ["flashfit_attention"]


def test_the_folder_by_a_link_where_flashfit_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(NODES)
    shutil.copytree(NODES, tmp_path / "copied")
    code = """
import importlib.util, sys
from types import ModuleType
module = ModuleType("comfy.ldm.modules.attention")
module.REGISTERED_ATTENTION_FUNCTIONS = {"pytorch": print}
module.register_attention_function = module.REGISTERED_ATTENTION_FUNCTIONS.setdefault
module.wrap_attn = lambda function: function
for name in ("comfy", "comfy.ldm", "comfy.ldm.modules"):
    sys.modules[name] = ModuleType(name)
sys.modules[module.__name__] = module
spec = importlib.util.spec_from_file_location("node", sys.argv[1] + "/__init__.py")
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(list(module.REGISTERED_ATTENTION_FUNCTIONS))
"""
    package = str(NODES.parents[2])
    path = os.pathsep.join(x for x in sys.path if x and Path(x).resolve() != Path(package).resolve())
    environment = {**os.environ, "PYTHONPATH": path}

    def run(folder: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, str(tmp_path / folder)]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("linked")
    assert done.stdout == "['pytorch', 'flashfit']\n", done.stderr
    done = run("copied")
    assert done.returncode == 1
    assert "ImportError: flashfit: not in ComfyUI's Python" in done.stderr.splitlines()[-1]
