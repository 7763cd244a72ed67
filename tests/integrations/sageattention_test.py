"""flashfit.integrations.sageattention: SageAttention's parameters, and above all its default layout, in which heads
come before rows: mistaken for the other one, nothing is seen where there are as many heads as rows."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.integrations import sageattention as fit  # noqa: E402


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def by_formula(q: Any, k: Any, v: Any, scale: float, causal: bool = False) -> Any:
    """[batch, heads, rows, head_dim] in fp64."""
    q, k, v = (x.double() for x in (q, k, v))
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_come_first_where_there_are_as_many_rows(causal: bool) -> None:
    q, k, v = normal(2, 8, 8, 16), normal(2, 8, 8, 16) * 2, normal(2, 8, 8, 16) + 1
    want, want_lse = by_formula(q, k, v, 0.3, causal)
    found, lse = fit.sageattn(q, k, v, is_causal=causal, sm_scale=0.3, return_lse=True)
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(lse.double(), want_lse, rtol=1e-5, atol=1e-5)
    rows_first: Any = [x.transpose(1, 2) for x in (q, k, v)]
    other = fit.sageattn(rows_first[0], rows_first[1], rows_first[2], "NHD", causal, 0.3)
    torch.testing.assert_close(other.transpose(1, 2), found)
    assert not torch.allclose(fit.sageattn(q, k, v, "NHD", is_causal=causal, sm_scale=0.3), found)


def test_variable_lengths() -> None:
    q, k = normal(10, 4, 16), normal(10, 2, 16)
    cu = torch.tensor([0, 4, 10])
    found = fit.sageattn_varlen(q, k, k, cu, cu, 6, 6, is_causal=True)
    offsets = [0, 4, 10]
    want = flashfit.attention(q, k, k, causal=True, cu_seqlens_q=offsets, cu_seqlens_k=offsets)
    assert torch.equal(found, want)


def test_the_log_says_whose_backward_gives_gradients() -> None:
    q, k = normal(1, 2, 6, 16).requires_grad_(), normal(1, 2, 6, 16)
    rows = q.detach()[0].transpose(0, 1).requires_grad_()
    cu = torch.tensor([0, 2, 6])
    fit.HOST.notes.clear()
    fit.sageattn(q, k, k).sum().backward()
    fit.sageattn_varlen(rows, k[0].transpose(0, 1), k[0].transpose(0, 1), cu, cu, 4, 4).sum().backward()
    with torch.no_grad():
        fit.sageattn(q, k, k)
    assert q.grad is not None
    assert fit.log() == [
        "sageattention: took: fp32 on cpu, 2 heads of 16, gradients by PyTorch's flash attention (1 call)",
        "sageattention: took: fp32 on cpu, 2 heads of 16, variable lengths, gradients by PyTorch's flash attention "
        "(1 call)",
        "sageattention: took: fp32 on cpu, 2 heads of 16 (1 call)",
    ]


def test_parameters_are_sageattentions() -> None:
    parameters = [*inspect.signature(fit.sageattn).parameters]
    assert parameters[:6] == ["q", "k", "v", "tensor_layout", "is_causal", "sm_scale"]
    defaults = {name: p.default for name, p in inspect.signature(fit.sageattn).parameters.items()}
    assert (defaults["tensor_layout"], defaults["is_causal"], defaults["sm_scale"]) == ("HND", False, None)
    own = [*inspect.signature(fit.sageattn_varlen).parameters]
    assert own[3:9] == ["cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k", "is_causal", "sm_scale"]


def test_refused() -> None:
    q = normal(1, 2, 6, 16)
    fit.sageattn(q, q, q, smooth_k=False, pv_accum_dtype="fp32")
    with pytest.raises(flashfit.InvalidType, match=r"^attn_mask: not an argument of sageattn; accepted: tensor"):
        fit.sageattn(q, q, q, attn_mask=q)
    with pytest.raises(flashfit.InvalidArgument, match=r"^tensor_layout: 'bhsd'; accepted: \"HND\", \"NHD\"$"):
        fit.sageattn(q, q, q, "bhsd")
    with pytest.raises(flashfit.InvalidType, match=r"^sm_scale: '1'; accepted: a number above 0, or None"):
        fit.sageattn(q, q, q, sm_scale="1")  # type: ignore[arg-type]
    starts = torch.tensor([0, 2])
    with pytest.raises(flashfit.InvalidArgument, match=r"^sm_scale: -1; accepted: above 0 and finite in fp32"):
        fit.sageattn_varlen(q[0], q[0], q[0], starts, starts, 2, 2, sm_scale=-1.0)
    with pytest.raises(flashfit.InvalidArgument, match=r"^is_causal: True with 6 queries and 4 keys"):
        fit.sageattn(q, q[:, :, :4], q[:, :, :4], is_causal=True)
    with pytest.raises(flashfit.InvalidType, match=r"^k: builtins.list; accepted: a torch tensor$"):
        fit.sageattn(q, [1.0], q, is_causal=True)
    with pytest.raises(flashfit.InvalidType, match=r"^cu_seqlens_k: builtins.list; accepted: a torch tensor$"):
        fit.sageattn_varlen(q[0], q[0], q[0], torch.tensor([0, 2]), [0, 2], 2, 2)
    with pytest.raises(flashfit.InvalidType, match=r"^return_lse: not an argument of sageattn_varlen; accepted: is_"):
        fit.sageattn_varlen(q[0], q[0], q[0], torch.tensor([0, 2]), torch.tensor([0, 2]), 2, 2, return_lse=True)


def test_stands_in_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sageattention", raising=False)
    if importlib.util.find_spec("sageattention"):
        pytest.skip("SageAttention is installed")
    fit.HOST.notes.clear()
    with fit.installed():
        assert importlib.util.find_spec("sageattention") is not None
        scope: dict[str, Any] = {}
        exec("from sageattention import sageattn, sageattn_varlen", scope)
        q = normal(1, 2, 6, 16).requires_grad_()
        scope["sageattn"](q, q, q, is_causal=True).sum().backward()
        assert q.grad is not None
        assert fit.log() == [
            "sageattention: took: fp32 on cpu, 2 heads of 16, causal, gradients by PyTorch's flash attention (1 call)"
        ]
    assert "sageattention" not in sys.modules
    fit.HOST.notes.clear()


def test_stands_in_where_the_installed_one_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As SageAttention 1.0.6 does on a machine without Triton."""
    package = tmp_path / "sageattention"
    package.mkdir()
    (package / "__init__.py").write_text("from .core import sageattn\n")
    (package / "core.py").write_text("import a_triton_not_there\n")
    monkeypatch.delitem(sys.modules, "sageattention", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with fit.installed():
        scope: dict[str, Any] = {}
        exec("from sageattention import sageattn, sageattn_varlen", scope)
        assert scope["sageattn"] is fit.sageattn
    why = "ModuleNotFoundError: No module named 'a_triton_not_there'"
    assert caplog.messages == [f"sageattention cannot be imported ({why}): flashfit stands in for it"]
    assert "sageattention" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="a_triton"):
        importlib.import_module("sageattention")


def test_an_installed_one_gets_its_own_functions_back(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = ModuleType("sageattention")
    real.sageattn = own = lambda *_: "its own"
    monkeypatch.setitem(sys.modules, "sageattention", real)
    with fit.installed():
        assert real.sageattn is fit.sageattn
        assert real.sageattn_varlen is fit.sageattn_varlen
    assert real.sageattn is own
    assert not hasattr(real, "sageattn_varlen")
