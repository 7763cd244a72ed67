"""How flashfit.bench times a GPU, on a GPU whose clock the test turns."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flashfit
import pytest
from flashfit.bench import gpu, machine


class Gpu:
    """torch, as far as flashfit.bench.gpu uses it. `now` is the GPU's clock in microseconds."""

    float16, bfloat16, uint8 = "float16", "bfloat16", "uint8"

    def __init__(self, capability: tuple[int, int] = (9, 0)) -> None:
        self.now = 0.0
        self.captured: list[Any] | None = None
        self.stream = "default"
        self.flushes = 0
        self.cuda = self
        self.capability = capability

    def empty(self, size: int, dtype: str, device: str) -> Any:
        return SimpleNamespace(zero_=self.flush, size=size)

    def randn(self, *size: int, dtype: str, device: str) -> Any:
        return size

    def ones(self, count: int, device: str) -> Any:
        return SimpleNamespace(copy_=lambda _: self.work(8e-6 * count), amax=lambda: self.work(2e-6 * count))

    def matmul(self, a: Any, b: Any) -> None:
        self.work(a[0] ** 3 / 1e9)

    def flush(self) -> None:
        self.flushes += 1
        self.work(1000)

    def work(self, microseconds: float) -> None:
        if self.captured is None:
            self.now += microseconds
        else:
            self.captured.append(microseconds)

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802 - torch's name
        event = SimpleNamespace(at=0.0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda end: (end.at - event.at) / 1e3
        return event

    def CUDAGraph(self) -> Any:  # noqa: N802 - torch's name
        graph = SimpleNamespace(nodes=[])
        graph.replay = lambda: self.work(2 + sum(graph.nodes))
        return graph

    @contextlib.contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        self.captured, self.stream = graph.nodes, "capturing"
        yield  # what is raised here leaves the stream, as torch does where the end of a capture fails
        self.captured, self.stream = None, "default"

    def _sleep(self, cycles: int) -> None:
        self.work(3 + cycles / 1410)

    def synchronize(self) -> None: ...
    def empty_cache(self) -> None: ...

    def current_stream(self) -> str:
        return self.stream

    def set_stream(self, stream: str) -> None:
        self.stream = stream

    def current_device(self) -> int:
        return 0

    def get_device_properties(self, _: int) -> Any:
        return SimpleNamespace(L2_cache_size=50 << 20)

    def get_device_capability(self) -> tuple[int, int]:
        return self.capability

    def mem_get_info(self) -> tuple[int, int]:
        return 16 << 30, 80 << 30


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    found = Gpu()
    monkeypatch.setattr(gpu, "torch_module", lambda: found)
    return found


def test_a_sample_of_a_graph_holds_calls_for_300_us(fake: Gpu) -> None:
    device = gpu.Device(flushed=False)
    answers = iter(range(1000))

    def call() -> int:
        fake.work(10 if fake.captured is not None else 60)  # launched plainly it waits for the host
        return next(answers)

    timer = device.graph(call)
    assert timer.sample() == pytest.approx((2 + 25 * 10) / 25)  # of a replay of one, which takes 12, 25 fill 300
    assert timer.again() == 3 + 1 + 25 - 1  # what the last captured call gave
    assert device.plain(call).sample() == pytest.approx(60)


def test_a_clock_is_taken_again_where_a_pause_fell_into_it(fake: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = iter([9000.0, 0.0])
    spin = fake._sleep

    def paused(cycles: int) -> None:
        fake.work(next(pauses, 0.0))
        spin(cycles)

    monkeypatch.setattr(fake, "_sleep", paused)
    assert gpu.Device(flushed=False).clock_mhz() == pytest.approx(1410)


def test_a_flushed_sample_is_one_call_after_other_memory(fake: Gpu) -> None:
    device = gpu.Device(flushed=True)
    timer = device.graph(lambda: fake.work(10))
    before = fake.flushes
    assert timer.sample() == pytest.approx(12)
    assert fake.flushes == before + 1


def test_plain_launches_say_what_they_keep_the_host(fake: Gpu) -> None:
    timer = gpu.Device(flushed=False).plain(lambda: fake.work(100))
    for _ in range(4):
        timer.sample()
    assert len(timer.host_us) == 4
    assert all(us > 0 for us in timer.host_us)


def test_the_clock_is_cycles_over_time(fake: Gpu) -> None:
    assert gpu.Device(flushed=False).clock_mhz() == pytest.approx(1410)


def test_no_garbage_is_collected_in_a_capture(fake: Gpu) -> None:
    seen = set[tuple[bool, bool]]()
    gpu.Device(flushed=False).graph(lambda: seen.add((fake.captured is not None, gc.isenabled())))
    assert seen == {(False, True), (True, False)}
    assert gc.isenabled()


def test_a_capture_that_fails_is_the_callers_to_handle(fake: Gpu) -> None:
    def call() -> None:
        if fake.captured is not None:
            raise RuntimeError("not permitted")

    with pytest.raises(RuntimeError, match="not permitted"):
        gpu.Device(flushed=False).graph(call)
    assert fake.stream == "default"
    assert gc.isenabled()


def test_ceilings_are_the_fastest_of_this_run(fake: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "loops", dict)
    found = gpu.Device(flushed=False).ceilings()
    assert found["tensor_tflops"]["bf16"]["value"] == pytest.approx(2000)
    assert found["exp_g_per_s"] is None
    # A reduction reads 4 bytes an element in 2 ps, a copy moves 8 in 8 ps.
    assert found["memory_gb_per_s"]["value"] == pytest.approx(2000)
    assert len(found["memory_gb_per_s"]["samples"]) == 20
    fake.capability = (7, 5)
    assert list(gpu.Device(flushed=False).ceilings()["tensor_tflops"]) == ["fp16"]


def test_of_two_ways_to_measure_a_ceiling_the_higher_counts() -> None:
    def of(value: float, model: float | None = None) -> dict[str, Any]:
        return {"value": value, "samples": [value], "model": model}

    one = {"tensor_tflops": {"fp16": of(700), "bf16": of(720)}, "exp_g_per_s": None, "memory_gb_per_s": of(4000, 4800)}
    other = {
        "tensor_tflops": {"bf16": of(710, 990)},
        "mma_sync_tflops": {"bf16": of(640, 660)},
        "exp_g_per_s": of(4100, 4180),
        "memory_gb_per_s": of(4100),
    }
    assert gpu.better(one, other) == {
        "tensor_tflops": {"fp16": of(700), "bf16": of(720, 990)},
        "mma_sync_tflops": {"bf16": of(640, 660)},
        "exp_g_per_s": of(4100, 4180),
        "memory_gb_per_s": of(4100, 4800),
    }
    assert gpu.better(one, {}) == one


def test_ceilings_of_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    made = tmp_path / "flashfit"
    monkeypatch.setattr(gpu, "command", lambda: made)
    for script, found, said in (
        (
            """[ "$*" = "bench --ceilings" ] && echo '{"exp_g_per_s": {"value": 1}}'""",
            {"exp_g_per_s": {"value": 1}},
            "",
        ),
        ("echo no GPU >&2; exit 2", {}, "exponentials have no ceiling here: no GPU\n"),
    ):
        made.write_text(f"#!/bin/sh\n{script}\n")
        made.chmod(0o700)
        assert gpu.loops() == found
        assert capsys.readouterr().err == said


def test_limits_and_throttling_are_those_of_the_gpu_that_torch_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {
        "clock_max_mhz": 1980,
        "memory_clock_max_mhz": 2619,
        "power_limit_w": 700,
        "throttled": ["power cap"],
    }
    first: dict[str, Any] = {"index": 0, **dict.fromkeys(known), "throttled": ["power brake"]}
    monkeypatch.setattr(flashfit, "gpus", lambda: {"driver": "1", "cuda": "2", "gpus": [first, {"index": 2, **known}]})
    for index, found in ((2, known), (1, {**dict.fromkeys(known), "throttled": []})):  # GPU 1 could not be read
        properties = SimpleNamespace(name="a GPU", major=9, minor=0, multi_processor_count=1, total_memory=2)
        cuda = SimpleNamespace(current_device=lambda i=index: i, get_device_properties=lambda i, p=properties: p)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert sorted(machine.throttled()) == found["throttled"]
        gpu_of_a_file = machine.gpu()
        assert [gpu_of_a_file[key] for key in known if key != "throttled"] == list(found.values())[:3]
