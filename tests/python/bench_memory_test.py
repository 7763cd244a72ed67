"""Memory that runs out while flashfit.bench measures is no wrong result, and what a case needs fits a GPU of 80 GB."""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import flashfit
import pytest
from flashfit.bench import cases, gpu, race, timing
from flashfit.bench.arrays import NumPyArrays
from flashfit.bench.measure import measured
from flashfit.bench.parts import Method, message_of
from flashfit.bench.session import line_of, word_of

from tests.python.bench_parts import AGpu, MadeUp, case, faults, file_of, method, on_a_gpu, runner

needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch, and NumPy has no bf16")


class OutOfMemoryError(RuntimeError):
    """By the name of PyTorch's."""


def lacking(after: int = 0, name: str = "greedy") -> MadeUp:
    """A peer whose calls after so many find no memory."""

    def spoil(out: Any) -> Any:
        if peer.calls > after:
            raise OutOfMemoryError("CUDA: tried to allocate 14.00 GiB\nmore")
        return out

    peer = MadeUp(name, spoil)
    return peer


@pytest.mark.parametrize("error", [
    MemoryError("nothing left"),
    OutOfMemoryError("tried to allocate 14.00 GiB"),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    flashfit.CudaError("cuModuleLoadData: CUDA_ERROR_OUT_OF_MEMORY"),
    flashfit.OutOfMemory("host memory ran out"),
])  # fmt: skip
def test_what_lacks_memory_says_so_first(error: Exception) -> None:
    assert message_of(error) == f"out of memory: {error}"


@pytest.mark.parametrize("error", [
    RuntimeError("out of resource: shared memory, Required: 262144, Hardware limit: 232448"),
    RuntimeError("an illegal memory access was encountered"),
    ValueError("memory: 'odd'; accepted: contiguous"),
])  # fmt: skip
def test_other_errors_are_not_of_memory(error: Exception) -> None:
    assert message_of(error) == str(error)


def test_a_capture_that_lacked_memory_is_told_by_its_cause() -> None:
    def capture() -> None:
        try:
            raise OutOfMemoryError("tried to allocate 2 GiB")
        except OutOfMemoryError:
            raise RuntimeError("operation failed due to an error during capture")  # noqa: B904 - as PyTorch does

    with pytest.raises(RuntimeError) as raised:
        capture()
    assert message_of(raised.value).startswith("out of memory: operation failed")


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_peer_without_memory_leaves_the_others_their_times(after: int) -> None:
    """In its first call, as it is made ready, and in the middle of the rounds."""
    entry = measured(case(), method(lacking(after), MadeUp("good")))
    greedy, good = entry["peers"]["greedy"], entry["peers"]["good"]
    assert entry["correct"], entry
    assert greedy["message"] == "out of memory: CUDA: tried to allocate 14.00 GiB"
    assert not {"samples_us", "ratio"} & set(greedy)
    assert len(entry["samples_us"]) == len(good["samples_us"]) == 6
    assert good["ratio"] > 0
    assert "greedy: out of memory: CUDA" in line_of(entry)


def test_rounds_that_began_anew_leave_no_clocks_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr(AGpu, "clock_mhz", lambda self: float(next(ticks)))
    monkeypatch.setattr(timing, "calls_of_sample", lambda _: 1)
    entry = measured(case(), on_a_gpu(lacking(6)))
    assert entry["clock_mhz"]["high"] - entry["clock_mhz"]["low"] == 2
    assert entry["clock_mhz"]["low"] > 0


def test_any_other_failure_in_the_rounds_is_the_peer_s_own() -> None:
    def spoil(out: Any) -> Any:
        return out if peer.calls < 5 else out / [[]]

    peer = MadeUp("tired", spoil)
    entry = measured(case(), method(peer, MadeUp("good")))
    assert entry["correct"], entry
    assert "broadcast" in entry["peers"]["tired"]["message"]
    assert entry["peers"]["good"]["ratio"] > 0


@pytest.mark.parametrize("after", [0, 1, 5, "the rounds"])
def test_without_memory_for_flashfit_the_peers_have_their_times(after: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its first call, before, in and after the rounds: never "wrong", and no ratio to a time that is none."""
    right, fill, calls, fills = flashfit.attention, NumPyArrays.fill, 0, 0

    def short(*given: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if fills == 2 if after == "the rounds" else calls > after:
            raise MemoryError("nothing left")
        return right(*given, **options)

    def filled(*given: Any) -> None:
        nonlocal fills
        fills += 1
        fill(*given)

    twin = MadeUp("twin", compute=lambda case, inputs: right(inputs.q, inputs.k, inputs.v))
    monkeypatch.setattr(flashfit, "attention", short)
    monkeypatch.setattr(NumPyArrays, "fill", filled)
    monkeypatch.setattr(timing, "calls_of_sample", lambda _: 1)
    entry = measured(case(), method(twin))
    assert (entry["correct"], entry["message"]) == (False, "out of memory: nothing left")
    assert not {"samples_us", "median_us"} & set(entry)
    assert len(entry["peers"]["twin"]["samples_us"]) == 6
    assert "ratio" not in entry["peers"]["twin"]
    assert word_of(entry) == "out of memory"
    assert line_of(entry).startswith("origin/small: out of memory: nothing left\n    twin: ")
    assert "WRONG" not in line_of(entry)
    assert faults(file_of(SimpleNamespace(schema=1), entry), "docs/results.schema.json") == []


def test_without_memory_for_the_reference_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: Any) -> None:
        raise MemoryError("nothing left")

    monkeypatch.setattr(NumPyArrays, "fill", fill)
    entry = measured(case(), method(MadeUp("good")))
    assert line_of(entry) == "origin/small: out of memory: nothing left"


@pytest.mark.parametrize(
    ("error", "word"), [(flashfit.Misfit("no kernel"), "misfit"), (MemoryError("x"), "out of memory")]
)
def test_a_run_tells_what_was_not_computed_from_what_is_wrong(
    error: Exception, word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(flashfit, "attention", refuse)
    monkeypatch.setattr(cases, "listed", lambda: [case("origin/a")])
    status, result = runner(monkeypatch, tmp_path, "--repeats", "1", "--warmup", "0", "--peers", "none")()
    printed = capsys.readouterr().out
    name = result["cases"][0]["name"]
    assert (status, result["method"]["noise"]) == (1, None)
    assert f"{name}: {word}: {error}\n" in printed
    assert f"\n  {word}: {name}" in printed
    assert "wrong" not in printed.lower()


def test_room_is_made_where_memory_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[str] = []
    free = 60 << 30
    cuda: Any = SimpleNamespace(
        current_device=lambda: 0,
        get_device_properties=lambda _: SimpleNamespace(L2_cache_size=0),
        mem_get_info=lambda: (free, 80 << 30),
        empty_cache=lambda: did.append("emptied"),
    )
    monkeypatch.setattr(gpu, "torch_module", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(gc, "collect", lambda: did.append("collected"))
    device = gpu.Device(flushed=False)
    device.make_room()
    assert did == []
    device.make_room(at_once=True)
    free = 30 << 30
    device.make_room()
    assert did == ["collected", "emptied"] * 2


def test_room_is_made_once_nobody_holds_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture that fails leaves its tensors in the frames of its error."""

    class Big: ...

    held: list[weakref.ref[Big]] = []
    seen: list[bool] = []

    def capture(self: AGpu, call: Any) -> Any:
        x = Big()
        held.append(weakref.ref(x))
        raise OutOfMemoryError("tried to allocate 2 GiB")

    def make_room(self: AGpu, at_once: bool = False) -> None:
        if at_once:
            seen.append(held[-1]() is None)

    monkeypatch.setattr(AGpu, "graph", capture)
    monkeypatch.setattr(AGpu, "make_room", make_room)
    entry = measured(case(), on_a_gpu(MadeUp("twin")))
    assert seen == [True, True]
    assert entry["launch"] == "plain"
    assert "failed: out of memory: " in entry["peers"]["twin"]["message"]


def test_a_case_of_the_race_fits_into_78_gib_alone() -> None:
    """The figures are those of the module's own sum."""
    needs = {each.name.split("/")[1]: race.most_bytes(each) for each in race.RACE.listed("cuda")}
    assert max(sum(need.values()) for need in needs.values()) < 78 << 30
    deepseek = {what: round(size / (1 << 30), 1) for what, size in needs["DeepSeek-V3 T8192 random bf16"].items()}
    assert list(deepseek.values()) == [21.0, 14.0, 0.2, 1.1, 10.2, 4.0, 0.3, 5.0]
    both = [sum(needs[f"DeepSeek-V3 T{tokens} random bf16"].values()) for tokens in (16384, 8192)]
    assert sum(both) > 80 << 30


@pytest.fixture
def without_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@needs_torch
def test_a_case_leaves_no_weights_to_the_next(monkeypatch: pytest.MonkeyPatch, without_collection: None) -> None:
    """Cycles of Python's objects go at some later time. On a GPU two cases of DeepSeek-V3 have no room beside each
    other."""
    from flashfit.bench.arrays import TorchArrays

    kept: list[weakref.ref[Any]] = []

    def layer(x: Any, router: Any, w1: Any, b1: None, w2: Any, b2: None, top_k: int, *_: Any, **told: Any) -> Any:
        kept.extend(weakref.ref(each) for each in (x, w1._base))
        return (flashfit.fused_moe(x, *(w.permute(2, 0, 1) for w in (w1, w2)), router_logits=router.logits, top_k=top_k,
                                   gate_up="interleaved"),)  # fmt: skip

    def make(arrays: Any, case: Any, seed: int) -> Any:
        inputs = right(arrays, case, seed)
        kept.extend(weakref.ref(each) for each in (inputs.x, inputs.w13, inputs.w2))
        return inputs

    right: Callable[..., Any] = race.RACE.make
    monkeypatch.setattr(race.RACE, "make", make)
    monkeypatch.setitem(sys.modules, "sonicmoe", SimpleNamespace(moe_TC_softmax_topk_layer=layer))
    peers = race.RACE.peers()
    one = next(each for each in race.RACE.listed("cpu") if each.tokens == 64)
    entry = measured(one, Method(TorchArrays("cpu"), peers, repeats=2, warmup=0, operation=race.RACE))
    assert [peer["correct"] for peer in entry["peers"].values()] == [True, True], entry
    assert len(kept) >= 5
    assert [each() for each in kept] == [None] * len(kept)


@needs_torch
def test_a_peer_without_memory_takes_its_copy_of_the_weights_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from flashfit.bench.arrays import TorchArrays

    copies: list[weakref.ref[Any]] = []

    def layer(x: Any, router: Any, w1: Any, *_: Any, **told: Any) -> Any:
        copies.append(weakref.ref(w1._base))
        raise MemoryError("nothing left")

    def judged(*given: Any) -> Any:
        held.append([copy() is not None for copy in copies])
        return expected(*given)

    held: list[list[bool]] = []
    expected = race.RACE.expected
    monkeypatch.setattr(race.RACE, "expected", judged)
    monkeypatch.setitem(sys.modules, "sonicmoe", SimpleNamespace(moe_TC_softmax_topk_layer=layer))
    one = next(each for each in race.RACE.listed("cpu") if each.tokens == 64)
    entry = measured(one, Method(TorchArrays("cpu"), race.RACE.peers(), repeats=2, warmup=0, operation=race.RACE))
    assert entry["peers"]["sonic-moe"]["message"] == "out of memory: nothing left"
    assert entry["peers"]["torch-grouped"]["ratio"] > 0
    assert held == [[], [False]]
