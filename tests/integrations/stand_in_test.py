"""The stand-in for flash-attn: its package, its hub kernel, and each host's gate, with the hosts' own code where it is
installed. Hosts ask for a GPU before they look for flash-attn, so they are told that there is one."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import flashfit
import pytest
from flashfit._stand_in import hub_kernel, shim

torch: Any = pytest.importorskip("torch")
from flashfit._stand_in import extension, functions  # noqa: E402

from tests.integrations.fresh_python import python  # noqa: E402

needs_transformers = pytest.mark.skipif(not importlib.util.find_spec("transformers"), reason="no Transformers")
needs_diffusers = pytest.mark.skipif(not importlib.util.find_spec("diffusers"), reason="no diffusers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def normal(*shape: int, dtype: Any = torch.bfloat16) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    shim.write(tmp_path)
    return tmp_path


def test_metadata_and_record(site: Path) -> None:
    (found,) = importlib.metadata.distributions(name="flash-attn", path=[str(site)])
    assert (found.metadata["Name"], found.version) == ("flash-attn", "2.8.0")
    assert found.metadata["Keywords"] == "flashfit-stand-in"
    recorded = {str(file): file for file in found.files or ()}
    assert set(recorded) == {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    for name, file in recorded.items():
        if file.hash is None:
            assert name.endswith("RECORD")
            continue
        content = (site / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (file.hash.mode, file.hash.value, file.size) == ("sha256", digest, len(content))


def test_what_hosts_import(site: Path) -> None:
    code = """
import flash_attn, flash_attn_2_cuda
from flash_attn import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache
from flash_attn.bert_padding import index_first_axis, pad_input, unpad_input
from flash_attn.flash_attn_interface import _wrapped_flash_attn_backward, _wrapped_flash_attn_forward, flash_attn_gpu
print(flash_attn.__version__, flash_attn_gpu is flash_attn_2_cuda)
for name in ("layers.rotary", "ops.triton.rotary", "losses.cross_entropy", "modules.mha"):
    try:
        __import__("flash_attn." + name)
    except ModuleNotFoundError as error:
        print(error)
"""
    first, *absent = python(code, site).splitlines()
    assert first == "2.8.0 True"
    assert [line.split(":")[0] for line in absent] == [
        "flash_attn.layers",
        "flash_attn.ops",
        "flash_attn.losses",
        "flash_attn.modules",
    ]
    assert all("not in flashfit's stand-in for flash-attn; there are: flash_attn, " in line for line in absent)


def test_written_again_and_removed_whole(site: Path) -> None:
    shim.write(site)
    python("import flash_attn.bert_padding, flash_attn_2_cuda", site, PYTHONDONTWRITEBYTECODE="")
    assert list(site.rglob("*.pyc"))
    assert shim.remove(site)
    assert list(site.iterdir()) == []
    assert not shim.remove(site)


def test_a_real_one_is_never_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = tmp_path / "flash_attn-2.8.3.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: flash_attn\nVersion: 2.8.3\n")
    for words in ([], ["--remove"]):
        assert shim.main(["flash-attn", "--target", str(tmp_path), *words]) == 3
        said = capsys.readouterr().err
        assert said == (
            f"flashfit: flash-attn: 2.8.3 is in {tmp_path}, and it is not flashfit's stand-in; accepted: a folder "
            "without flash-attn\n"
        )
    assert [p.name for p in tmp_path.rglob("*")] == ["flash_attn-2.8.3.dist-info", "METADATA"]
    metadata.unlink()
    metadata.parent.rmdir()
    (tmp_path / "flash_attn").mkdir()
    assert shim.main(["flash-attn", "--target", str(tmp_path)]) == 3
    assert "is there without metadata" in capsys.readouterr().err
    assert [p.name for p in tmp_path.rglob("*")] == ["flash_attn"]


def test_the_compiled_module_of_a_real_one_is_a_real_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = tmp_path / "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"
    compiled.touch()
    assert shim.main(["flash-attn", "--target", str(tmp_path)]) == 3
    assert f"{compiled} is there" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [compiled]


def test_a_real_one_in_another_folder_of_packages_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    shim.write(other)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(own))
    monkeypatch.setattr(sys, "path", [str(other), str(own), str(tmp_path / "gone"), *sys.path])
    assert shim.main(["flash-attn"]) == 0  # another stand-in is no real one
    assert shim.main(["flash-attn", "--remove"]) == 0
    metadata = other / "flash_attn-2.8.0.dist-info/METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: flash_attn\nVersion: 2.8.0\n")
    capsys.readouterr()
    assert shim.main(["flash-attn"]) == 3
    said = capsys.readouterr().err
    assert f"2.8.0 is in {other}" in said
    assert "--target DIR" in said
    assert list(own.iterdir()) == []
    assert shim.main(["flash-attn", "--target", str(own)]) == 0


def test_the_verbs(tmp_path: Path) -> None:
    def run(*words: object) -> str:
        command = [sys.executable, "-m", "flashfit", *map(str, words)]
        environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    site = tmp_path / "site"
    site.mkdir()
    assert "flashfit's stand-in for 2.8.0 is in" in run("shim", "flash-attn", "--target", site)
    assert "was removed from" in run("shim", "flash-attn", "--target", site, "--remove")
    for folder in (tmp_path / "kernel", tmp_path / "a $HOME of kernels"):
        shell = run("hub-kernel", folder) + 'printf %s "$LOCAL_KERNELS"'
        assert shell.startswith("export LOCAL_KERNELS=")
        local = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout
        assert local == f"kernels-community/flash-attn2={folder}:kernels-community/vllm-flash-attn3={folder}"


#: xformers asks the GPU itself, so it must not be there.
GATES = """
import sys
import sysconfig
import torch
torch.cuda.is_available = lambda: True
sys.modules["xformers"] = None
"""


@needs_transformers
def test_the_gate_of_transformers(site: Path) -> None:
    code = f"""{GATES}
from transformers.modeling_flash_attention_utils import _flash_attention_forward, lazy_import_flash_attention
from transformers.utils import is_flash_attn_2_available
print(is_flash_attn_2_available())
lazy_import_flash_attention("flash_attention_2")
import flashfit
q, k, v = (torch.randn(2, 9, n, 16).bfloat16() for n in (4, 2, 2))
mask, sinks = torch.ones(2, 9, dtype=torch.long), torch.linspace(-1, 2, 4)
mask[1, 6:] = 0
options = dict(softcap=2.0, sliding_window=4, s_aux=sinks, implementation="flash_attention_2")
out = _flash_attention_forward(q, k, v, mask, 9, is_causal=True, **options)
want = flashfit.attention(q[1:, :6], k[1:, :6], v[1:, :6], causal=True, softcap=2.0, window=(3, 0), sinks=sinks)
print(torch.equal(out[1:, :6], want), float(out[1, 6:].abs().max()))
"""
    assert python(code, site).splitlines()[-2:] == ["True", "True 0.0"]


@needs_diffusers
def test_the_gate_of_diffusers(site: Path) -> None:
    code = f"""{GATES}
import diffusers.models.attention_dispatch as dispatch
print(dispatch._CAN_USE_FLASH_ATTN, dispatch.flash_attn_func.__module__)
q = torch.randn(1, 6, 2, 16).bfloat16()
with dispatch.attention_backend("flash"):
    out = dispatch.dispatch_attention_fn(q, q, q, is_causal=True)
import flashfit
print(torch.equal(out, flashfit.attention(q, q, q, causal=True)))
"""
    assert python(code, site).splitlines()[-2:] == ["True flashfit._stand_in.functions", "True"]


def test_signatures_that_hosts_read() -> None:
    function: Any
    for function in (functions.flash_attn_func, functions.flash_attn_varlen_func):
        parameters = inspect.signature(function).parameters
        wanted = {"window_size", "softcap", "deterministic", "s_aux", "dropout_p", "softmax_scale", "causal"}
        assert wanted <= set(parameters)
    for function in (functions.flash_attn_varlen_func, functions.flash_attn_with_kvcache):
        assert "block_table" in inspect.signature(function).parameters
    # All of FlashAttention-2's own parameters come first, in its order.
    for name in ("flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"):
        own = [*inspect.signature(getattr(flashfit.flash_attn, name)).parameters]
        assert [*inspect.signature(getattr(functions, name)).parameters] == [*own, "s_aux"]


def test_sinks_are_never_dropped() -> None:
    q = normal(2, 7, 4, 16)
    sinks = torch.linspace(-1, 2, 4).bfloat16()
    want = flashfit.attention(q, q, q, causal=True, sinks=sinks.float())
    assert torch.equal(functions.flash_attn_func(q, q, q, causal=True, s_aux=sinks), want)
    cu = torch.tensor([0, 7, 14], dtype=torch.int32)
    flat = q.flatten(0, 1)
    ragged = functions.flash_attn_varlen_func(flat, flat, flat, cu, cu, 7, 7, causal=True, s_aux=sinks)
    assert torch.equal(ragged.view_as(want), want)
    assert torch.equal(functions.flash_attn_with_kvcache(q, q, q, causal=True, s_aux=sinks), want)
    with pytest.raises(flashfit.InvalidArgument, match=r"^s_aux: shape is "):
        functions.flash_attn_func(q, q, q, s_aux=sinks[:3])


@pytest.mark.parametrize("window", [(3, 1), (torch.tensor(3), torch.tensor(1)), torch.tensor([3, 1])])
def test_windows_are_integers_or_tensors(window: Any) -> None:
    q = normal(1, 9, 2, 16)
    assert torch.equal(
        functions.flash_attn_func(q, q, q, window_size=window), flashfit.attention(q, q, q, window=(3, 1))
    )


def test_the_compiled_modules_functions() -> None:
    q, k, v = normal(2, 7, 4, 16), normal(2, 9, 2, 16), normal(2, 9, 2, 16)
    want, want_lse = flashfit.attention(q, k, v, causal=True, softmax_scale=0.3, return_lse=True)
    written = torch.zeros_like(q)
    out, lse, probabilities, state = extension.fwd(
        q, k, v, written, None, 0.0, 0.3, True, -1, -1, 0.0, False, None
    )  # fmt: skip
    assert out is written
    assert torch.equal(out, want)
    assert torch.equal(lse, want_lse)
    assert (probabilities.numel(), state.shape) == (0, (2,))
    cu_q, cu_k = (torch.tensor([0, n, 2 * n], dtype=torch.int32) for n in (7, 9))
    flat: Any = [x.flatten(0, 1) for x in (q, k, v)]
    varlen_fwd: Any = extension.varlen_fwd
    ragged = varlen_fwd(
        *flat, None, cu_q, cu_k, None, None, None, None, 7, 9, 0.0, 0.3, False, True, -1, -1, 0.0, False, None
    )  # fmt: skip
    assert torch.equal(ragged[0].view_as(want), want)
    lengths = torch.tensor([9, 5], dtype=torch.int32)
    cached = extension.fwd_kvcache(
        q, k, v, None, None, lengths, None, None, None, None, None, None, None, 0.3, True, -1, -1, 0.0, True, 0
    )  # fmt: skip
    by_length = flashfit.attention(q, k, v, causal=True, softmax_scale=0.3, seqused_k=lengths)
    assert torch.equal(cached[0], by_length)
    assert not torch.equal(by_length, want)
    with pytest.raises(flashfit.Unsupported, match=r"^bwd: .*by autograd$"):
        extension.bwd(q)
    with pytest.raises(flashfit.Unsupported, match=r"^leftpad_k: given"):
        varlen_fwd(
            *flat, None, cu_q, cu_k, None, cu_q, None, None, 7, 9, 0.0, 0.3, False, True, -1, -1, 0.0, False, None
        )  # fmt: skip


def test_training_and_dropout() -> None:
    q = normal(1, 5, 2, 16, dtype=torch.float32).requires_grad_()
    functions.flash_attn_func(q, q, q, causal=True).square().sum().backward()
    assert q.grad.abs().max() > 0
    with pytest.raises(flashfit.Unsupported, match=r"^dropout_p: 0.1 is not in flashfit yet"):
        functions.flash_attn_func(q, q, q, 0.1)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_padding_takes_indices_of_both_widths(dtype: Any) -> None:
    from flashfit.flash_attn.bert_padding import index_first_axis, pad_input, unpad_input

    states, mask = normal(2, 4, 3), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0]])
    rows, indices, *_ = unpad_input(states, mask)
    assert torch.equal(pad_input(rows, indices.to(dtype), 2, 4), states * mask[..., None])
    assert torch.equal(index_first_axis(states.flatten(0, 1), indices.to(dtype)), rows)


def load_as_kernels_does(folder: Path) -> Any:
    """The module of a kernel's folder for the CPU."""
    spec = importlib.util.spec_from_file_location("_flashfit_hub_kernel", folder / "torch-cpu/__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_transformers
@pytest.mark.parametrize("name", ["Llama", "Gemma2", "GptOss"])
def test_transformers_runs_on_the_hub_kernel(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in attn_implementation="flash_attention_2" without flash-attn: Transformers' own code around our functions."""
    import transformers
    from transformers.integrations import hub_kernels

    hub_kernel.write(tmp_path)
    module = load_as_kernels_does(tmp_path)
    assert module.flash_attn_interface._flash_attn_forward
    monkeypatch.setattr(hub_kernels, "is_kernels_available", lambda: True)
    monkeypatch.setattr(hub_kernels, "get_kernel", lambda *_, **__: module)
    sizes: dict[str, Any] = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    sizes.update(num_attention_heads=4, num_key_value_heads=2, head_dim=16, pad_token_id=0, initializer_range=0.3)
    if name == "Gemma2":
        sizes.update(sliding_window=16, attn_logit_softcapping=1.0, query_pre_attn_scalar=16)
    if name == "GptOss":
        sizes.update(sliding_window=16, num_local_experts=4, num_experts_per_tok=2)
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**sizes)
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval().bfloat16()
    ids, mask = torch.randint(2, 98, (2, 24)), torch.ones(2, 24, dtype=torch.long)
    mask[1, :7] = 0

    def logits(attention: str) -> Any:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            return model(ids, attention_mask=mask).logits[mask.bool()].float()

    kernel = hub_kernel.REPOSITORIES[1 if name == "GptOss" else 0]
    ours, eager = logits(kernel), logits("eager")
    model.float()
    want = logits("eager")
    difference, bound = float((ours - want).norm()), 2 * float((eager - want).norm())
    assert 0 < difference <= bound


def test_the_folder_of_the_hub_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kernel"
    hub_kernel.write(folder)
    hub_kernel.write(folder)
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.json")) == [
        "torch-cpu/metadata.json",
        "torch-cuda/metadata.json",
    ]
    (folder / "notes.txt").touch()
    assert hub_kernel.main([str(folder)]) == 3
    assert "accepted: a folder that is new, empty or made by this" in capsys.readouterr().err
    assert hub_kernel.main([str(folder / "torch-cpu/__init__.py")]) == 3
    assert "torch-cpu/__init__.py is a file; accepted: a folder that is new, empty or" in capsys.readouterr().err
    assert hub_kernel.main([str(tmp_path / "a:b")]) == 3
    assert "accepted: a path without ':'" in capsys.readouterr().err


def test_the_package_kernels_loads_it(tmp_path: Path) -> None:
    pytest.importorskip("kernels", minversion="0.17")
    hub_kernel.write(tmp_path)
    code = """
from kernels import get_kernel
print(get_kernel("kernels-community/flash-attn2", version=4).flash_attn_varlen_func.__module__)
"""
    local = f"kernels-community/flash-attn2={tmp_path}"
    said = python(code, LOCAL_KERNELS=local, HF_HUB_OFFLINE="1")
    assert said == "flashfit._stand_in.functions\n"


@needs_diffusers
def test_diffusers_loads_it_by_two_of_its_backends(tmp_path: Path) -> None:
    pytest.importorskip("kernels", minversion="0.17")
    hub_kernel.write(tmp_path)
    code = """
import torch
import diffusers.models.attention_dispatch as dispatch

q, k, v = (torch.randn(1, rows, 2, 16).half() for rows in (9, 7, 7))
want = torch.nn.functional.scaled_dot_product_attention(*(x.float().transpose(1, 2) for x in (q, k, v)))
for name in ("FLASH_HUB", "FLASH_VARLEN_HUB"):
    backend = dispatch.AttentionBackendName[name]
    dispatch._maybe_download_kernel_for_backend(backend)
    print(dispatch._HUB_KERNELS_REGISTRY[backend].kernel_fn.__module__)
    found = dispatch._AttentionBackendRegistry._backends[backend](q, k, v)
    assert (found.transpose(1, 2).float() - want).abs().max() < 3e-3
"""
    local = f"kernels-community/flash-attn2={tmp_path}"
    said = python(code, LOCAL_KERNELS=local, HF_HUB_OFFLINE="1")  # else it asks the hub who publishes the kernel
    assert said == 2 * "flashfit._stand_in.functions\n"
