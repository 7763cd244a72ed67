"""SeedVR2's names: what NaDiT imports, its node's module, norms beside a formula; with stand-ins of both, whose imports
and calls are those of the commits that docs/seedvr.md names."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.integrations import seedvr  # noqa: E402

NAMES = (
    "flash_attn",
    "flash_attn.flash_attn_interface",
    "flash_attn.bert_padding",
    "flash_attn_2_cuda",
    "apex",
    "apex.normalization",
)
#: As models/dit_v2/attention.py imports and calls it.
NADIT = """
import torch
from flash_attn import flash_attn_varlen_func

def attend(**given):
    given["deterministic"] = torch.are_deterministic_algorithms_enabled()
    return flash_attn_varlen_func(**given)

def norm(kind, dim, eps, elementwise_affine):
    from apex.normalization import FusedLayerNorm, FusedRMSNorm

    kinds = {"fusedln": FusedLayerNorm, "fusedrms": FusedRMSNorm}
    return kinds[kind](normalized_shape=dim, elementwise_affine=elementwise_affine, eps=eps)
"""
#: As the node's src/optimization/compatibility.py does.
NODE = """
flash_attn_2_varlen_func = None
FLASH_ATTN_2_AVAILABLE = False
try:
    from flash_attn import flash_attn_varlen_func as _fa2_varlen
    import flash_attn_2_cuda
    flash_attn_2_varlen_func = _fa2_varlen
    FLASH_ATTN_2_AVAILABLE = True
except ImportError:
    pass
FLASH_ATTN_AVAILABLE = FLASH_ATTN_2_AVAILABLE

def call_flash_attn_2_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, **kwargs):
    return flash_attn_2_varlen_func(
        q=q, k=k, v=v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k,
        max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k, **kwargs
    )
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("FLASHFIT_DISABLE", "FLASHFIT_DISABLE_SEEDVR"):
        monkeypatch.delenv(name, raising=False)
    kept = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    seedvr.HOST.notes.clear()
    yield
    seedvr.uninstall()
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


def module_of(folder: Path, name: str, text: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def windows(dtype: Any = torch.bfloat16) -> tuple[dict[str, Any], Any]:
    """Arguments of a call on windows of ragged lengths, and its exact result."""
    torch.manual_seed(0)
    starts = [0, 75, 133, 191, 240]
    q, k, v = (torch.randn(starts[-1], 3, 32).to(dtype) for _ in range(3))
    cu = torch.tensor(starts, dtype=torch.int32)
    parts = []
    for first, last in zip(starts, starts[1:]):
        one = (x[first:last].transpose(0, 1).double() for x in (q, k, v))
        parts.append(torch.nn.functional.scaled_dot_product_attention(*one).transpose(0, 1))
    given = {"q": q, "k": k, "v": v, "cu_seqlens_q": cu, "cu_seqlens_k": cu, "max_seqlen_q": 75, "max_seqlen_k": 75}
    return given, torch.cat(parts)


def test_nadit(tmp_path: Path) -> None:
    assert seedvr.install()
    nadit = module_of(tmp_path, "nadit", NADIT)
    given, exact = windows()
    assert (nadit.attend(**given).double() - exact).abs().max() < 0.01
    nadit.attend(**{**given, "q": given["q"].requires_grad_()}).sum().backward()
    assert given["q"].grad is not None
    assert seedvr.log() == [
        "seedvr: took: bf16 on cpu, 3 heads of 32, variable lengths (1 call)",
        "seedvr: took: bf16 on cpu, 3 heads of 32, variable lengths, gradients by PyTorch's flash attention (1 call)",
    ]
    for kind in ("fusedln", "fusedrms"):
        assert nadit.norm(kind, 32, 1e-5, True)(torch.randn(4, 32)).shape == (4, 32)


def test_uninstall_leaves_no_trace(tmp_path: Path) -> None:
    before = {name for name in sys.modules if name.split(".")[0] in ("flash_attn", "flash_attn_2_cuda", "apex")}
    assert before == set()
    with seedvr.installed():
        assert importlib.util.find_spec("flash_attn") is not None
        assert sys.modules["flash_attn"].bert_padding.pad_input
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("flash_attn.layers")
    assert {name for name in sys.modules if name.split(".")[0] in ("flash_attn", "flash_attn_2_cuda", "apex")} == before
    with pytest.raises(ImportError):
        module_of(tmp_path, "nadit", NADIT)


def test_packages_that_were_imported_before_get_their_own_functions_back(tmp_path: Path) -> None:
    real, apex = ModuleType("flash_attn"), ModuleType("apex")
    own = vars(real).setdefault("flash_attn_varlen_func", lambda **_: "its own")
    sys.modules.update({"flash_attn": real, "apex": apex})
    with seedvr.installed():
        nadit = module_of(tmp_path, "nadit", NADIT)
        given, exact = windows()
        assert (nadit.attend(**given).double() - exact).abs().max() < 0.01
        assert nadit.norm("fusedrms", 32, 1e-5, True).weight.shape == (32,)
    assert real.flash_attn_varlen_func is own
    assert not hasattr(apex, "normalization")
    assert sys.modules["flash_attn"] is real
    assert module_of(tmp_path, "nadit", NADIT).attend() == "its own"


@pytest.mark.parametrize("before", [False, True])
def test_the_node_loaded_before_and_after(tmp_path: Path, before: bool) -> None:
    if before:
        node = sys.modules["node"] = module_of(tmp_path, "node", NODE)
        assert not node.FLASH_ATTN_2_AVAILABLE
    try:
        seedvr.install()
        if not before:
            node = module_of(tmp_path, "node", NODE)
        assert node.FLASH_ATTN_2_AVAILABLE
        assert node.FLASH_ATTN_AVAILABLE
        given, exact = windows(torch.float16)
        found = node.call_flash_attn_2_varlen(**given, deterministic=False)
        assert (found.double() - exact).abs().max() < 0.01
        if before:
            seedvr.uninstall()
            assert (node.flash_attn_2_varlen_func, node.FLASH_ATTN_2_AVAILABLE) == (None, False)
    finally:
        sys.modules.pop("node", None)


def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHFIT_DISABLE_SEEDVR", "1")
    assert not seedvr.install()
    with pytest.raises(ImportError):
        module_of(tmp_path, "nadit", NADIT)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_beside_a_formula(affine: bool, dtype: Any) -> None:
    seedvr.install()
    norms = importlib.import_module("apex.normalization")
    torch.manual_seed(0)
    x = 3 * torch.randn(7, 48).to(dtype)
    layer, rms = norms.FusedLayerNorm(48, 1e-3, affine), norms.FusedRMSNorm(48, 1e-3, affine)
    assert list(rms.state_dict()) == (["weight"] if affine else [])
    assert list(layer.state_dict()) == (["weight", "bias"] if affine else [])
    for each in (layer, rms):
        with torch.no_grad():
            for parameter in each.parameters():
                parameter.copy_(torch.randn(48))
        each.to(dtype)
    weight, bias = (layer.weight.double(), layer.bias.double()) if affine else (1.0, 0.0)
    exact, middle = x.double(), x.double().mean(-1, keepdim=True)
    of_layer = (exact - middle) / (exact.var(-1, correction=0, keepdim=True) + 1e-3).sqrt() * weight + bias
    weight = rms.weight.double() if affine else 1.0
    of_rms = exact / (exact.square().mean(-1, keepdim=True) + 1e-3).sqrt() * weight
    near = {torch.float32: 1e-5, torch.bfloat16: 0.05}[dtype]
    for found, want in ((layer(x), of_layer), (rms(x), of_rms)):
        assert found.dtype == dtype
        assert (found.double() - want).abs().max() < near


def test_norms_under_autocast_return_its_dtype() -> None:
    seedvr.install()
    norms = importlib.import_module("apex.normalization")
    for kind in (norms.FusedLayerNorm, norms.FusedRMSNorm):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert kind(16)(torch.randn(2, 16)).dtype == torch.bfloat16
        assert kind(16)(torch.randn(2, 16)).dtype == torch.float32


def test_a_model_with_norms_is_saved_whole() -> None:
    """As with apex: under its names, also after flashfit was taken out and put in again."""
    seedvr.install()
    norms = importlib.import_module("apex.normalization")
    model = torch.nn.Sequential(norms.FusedRMSNorm(8), norms.FusedLayerNorm(8))
    seedvr.uninstall()
    seedvr.install()
    file = io.BytesIO()
    torch.save(model, file)
    assert b"apex.normalization" in file.getvalue()
    assert b"flashfit" not in file.getvalue()
    file.seek(0)
    x = torch.randn(2, 8)
    assert torch.equal(torch.load(file, weights_only=False)(x), model(x))
