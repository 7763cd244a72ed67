"""What the bench asks of other packages and what it keeps from them, with modules made up in their place."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from flashfit.bench.arrays import Inputs, TorchArrays
from flashfit.bench.cases import Case
from flashfit.bench.peers import CannotError, Peer, all_peers, pytorch
from flashfit.bench.peers.others import why_not

from tests.python.bench_parts import case

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch")

REFUSAL = """No operator found for `memory_efficient_attention_forward` with inputs:
     query       : shape=(1, 2, 1, 65) (torch.float16)
     p           : 0.0
`fa3F@0.0.0` is not supported because:
    operator wasn't built - see `python -m xformers.info` for more info
`fa2F@2.5.7-pt` is not supported because:
    query.shape[-1] % 8 != 0"""


def peer(name: str) -> Peer:
    (found,) = [peer for peer in all_peers() if peer.name == name]
    return found


def made(asked: Case) -> Inputs:
    return TorchArrays("cpu").make(asked, 0)


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, **functions: Any) -> None:
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**functions))


@pytest.mark.parametrize("lengths", [None, (30, 10)])
def test_sageattention_s_change_of_k_is_of_a_copy(
    monkeypatch: pytest.MonkeyPatch, lengths: tuple[int, ...] | None
) -> None:
    def attend(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> Any:
        k -= k.mean(dim=0, keepdim=True)  # as 1.0.6 does
        return q

    stand_in(monkeypatch, "sageattention", sageattn=attend, sageattn_varlen=attend)
    asked = case(lengths=lengths, memory="packed_qkv")
    inputs = made(asked)
    before = inputs.k.clone()
    peer("sageattention").prepare(asked, inputs)()
    assert (inputs.k == before).all()


@pytest.mark.parametrize("name", ["flash-attn-2", "flashinfer"])
@pytest.mark.parametrize("lengths", [None, (30, 10)])
def test_rows_that_would_fault_are_refused(name: str, lengths: tuple[int, ...] | None) -> None:
    asked = case(lengths=lengths, head_dim=64, memory="unaligned")
    with pytest.raises(CannotError, match=r"does not check that rows begin|without a copy"):
        peer(name).prepare(asked, made(asked))


def test_flash_attention_2_copies_rows_of_other_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "flash_attn", flash_attn_func=lambda q, k, v, **_: q)
    asked = case(head_dim=33, memory="unaligned")
    assert peer("flash-attn-2").prepare(asked, made(asked))().shape[-1] == 33


@pytest.mark.parametrize(("dims", "taken"), [((64, 0), True), ((192, 128), True), ((96, 0), False), ((64, 32), False)])
def test_flashinfer_is_asked_for_the_head_dims_it_has(
    monkeypatch: pytest.MonkeyPatch, dims: tuple[int, int], taken: bool
) -> None:
    planned: list[dict[str, Any]] = []

    class Wrapper:
        def __init__(self, workspace: Any, layout: str) -> None:
            assert layout == "NHD"

        def plan(self, *_: Any, **options: Any) -> None:
            planned.append(options)

        def run(self, q: Any, k: Any, v: Any) -> Any:
            return q[..., : v.shape[-1]].contiguous()

    stand_in(monkeypatch, "flashinfer", BatchPrefillWithRaggedKVCacheWrapper=Wrapper)
    asked = case(head_dim=dims[0], head_dim_v=dims[1])
    if not taken:
        with pytest.raises(CannotError, match="head_dim 64, 128 and 256"):
            peer("flashinfer").prepare(asked, made(asked))
        return
    call = peer("flashinfer").prepare(asked, made(asked))
    assert [call().shape for _ in range(2)] == [(2, 40, 2, dims[1] or dims[0])] * 2
    assert len(planned) == 1  # outside of what is timed
    assert planned[0].get("head_dim_vo", 0) == dims[1]


@pytest.mark.parametrize("name", ["flash-attn-2", "flash-attn-3", "flash-attn-4"])
@pytest.mark.parametrize(("new", "decodes"), [(1, True), (16, True), (17, False)])
def test_flash_attention_decodes_by_the_function_that_its_users_call(
    monkeypatch: pytest.MonkeyPatch, name: str, new: int, decodes: bool
) -> None:
    called: list[tuple[str, Any]] = []

    def function(called_as: str) -> Any:
        def attend(q: Any, *_: Any, **options: Any) -> Any:
            called.append((called_as, options.get("num_splits")))
            return q

        return attend

    functions = {f: function(f) for f in ("flash_attn_func", "flash_attn_with_kvcache")}
    peer_of_that_name: Any = peer(name)
    for module in peer_of_that_name.modules:
        stand_in(monkeypatch, module, **functions)
    asked = case(seqlen_q=new, head_dim=64)
    peer_of_that_name.prepare(asked, made(asked))()
    by_cache = decodes and name != "flash-attn-4"  # which has no such function, and chooses when told 0
    splits = 0 if decodes and not by_cache else None
    assert called == [("flash_attn_with_kvcache" if by_cache else "flash_attn_func", splits)]


def test_a_cache_that_is_filled_unequally_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def attend(q: Any, *_: Any, **options: Any) -> Any:
        given.append(options["cache_seqlens"])
        return q

    stand_in(monkeypatch, "flash_attn", flash_attn_with_kvcache=attend, flash_attn_func=None)
    asked = case(seqlen_q=1, head_dim=64, seqused_k=(40, 7))
    peer("flash-attn-2").prepare(asked, made(asked))()
    assert [lengths.tolist() for lengths in given] == [[40, 7]]


@pytest.mark.parametrize(("heads_q", "tensor_cores"), [(6, False), (8, True)])
def test_flashinfer_decodes_over_pages(monkeypatch: pytest.MonkeyPatch, heads_q: int, tensor_cores: bool) -> None:
    planned: list[list[Any]] = []

    class Wrapper:
        def __init__(self, workspace: Any, layout: str, use_tensor_cores: bool) -> None:
            assert (layout, use_tensor_cores) == ("NHD", tensor_cores)

        def plan(self, *given: Any, **options: Any) -> None:
            planned.append([x.tolist() if hasattr(x, "tolist") else x for x in given])

        def run(self, q: Any, pages: Any) -> Any:
            assert [tuple(x.shape) for x in pages] == [(6, 16, 2, 64)] * 2
            return q

    wrappers = {f"Batch{of}Wrapper": Wrapper for of in ("DecodeWithPagedKVCache", "PrefillWithRaggedKVCache")}
    stand_in(monkeypatch, "flashinfer", **wrappers)
    asked = case(seqlen_q=1, seqlen_k=48, head_dim=64, heads_q=heads_q, seqused_k=(48, 17))
    inputs = made(asked)
    assert peer("flashinfer").prepare(asked, inputs)().shape == inputs.q.shape
    assert planned == [[[0, 3, 5], [0, 1, 2, 3, 4], [16, 1], heads_q, 2, 64, 16]]


def test_pytorch_s_math_leaves_memory_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = case()
    scores = 4 * asked.batch * asked.heads_q * asked.seqlen_q * asked.seqlen_k
    math = peer("sdpa-math")
    monkeypatch.setattr(pytorch, "memory_of", lambda _: scores * pytorch.MATH_SHARE)
    assert math.prepare(asked, made(asked))().shape == made(asked).q.shape
    monkeypatch.setattr(pytorch, "memory_of", lambda _: scores * pytorch.MATH_SHARE - 1)
    with pytest.raises(CannotError, match="no memory would be left for others"):
        math.prepare(asked, made(asked))


@pytest.mark.parametrize("causal", [False, True])
def test_varlen_attn_is_asked_for_its_mask_as_its_version_takes_it(
    monkeypatch: pytest.MonkeyPatch, causal: bool
) -> None:
    asked_for: list[Any] = []

    def with_flag(*_: Any, scale: float, is_causal: bool = False) -> None:
        asked_for.append(is_causal)

    def with_window(*_: Any, scale: float, window_size: tuple[int, int] = (-1, -1)) -> None:
        asked_for.append(window_size)

    asked = case(lengths=(30, 10), causal=causal)
    for attend in (with_flag, with_window):
        stand_in(monkeypatch, "torch.nn.attention.varlen", varlen_attn=attend)
        peer("torch-varlen").prepare(asked, made(asked))()
    assert asked_for == ([True, (-1, 0)] if causal else [False, (-1, -1)])


def test_xformers_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise NotImplementedError(REFUSAL)

    stand_in(monkeypatch, "xformers.ops", memory_efficient_attention=refuse, fmha=SimpleNamespace(attn_bias=None))
    asked = case(head_dim=65)
    call = peer("xformers").prepare(asked, made(asked))
    with pytest.raises(CannotError, match=r"^`fa3F@0.0.0` is not supported because: .* query.shape\[-1\] % 8 != 0$"):
        call()
    assert why_not("another refusal") == "another refusal"
