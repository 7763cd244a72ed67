"""`./dev gpu --only devices` on machines that are no pair of GPUs: its words, and its calls with the fake driver."""

from __future__ import annotations

import pytest

from tests.job.fake_driver import with_fake_driver

CONTEXTS = """
from tools.gpu import contexts
for what, passed in contexts.second_gpu():
    print(what)
"""


def test_contexts_of_the_second_gpu() -> None:
    """Whose kernels compute nothing there, so that the results say nothing; each call must get that far."""
    done = with_fake_driver(CONTEXTS, FAKE_CUDA_GPUS="NVIDIA H200:90,NVIDIA H200:90")
    ways = ["current, a stream", "current, the default stream", "not current, a stream"]
    assert done.stdout.splitlines() == [
        "C API on the CPU, to compare with",
        *(f"C API on GPU 1, the primary context, {way}" for way in (*ways, "not current, the default stream")),
        *(f"C API on GPU 1, a context of the caller's, {way}" for way in ways),
    ], done.stdout + done.stderr


def test_a_machine_without_a_second_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from tools.gpu import devices

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert devices.missing() == "two GPUs are needed, PyTorch sees 1"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.missing() == ""


def test_gpus_have_their_index_and_what_nvml_says_of_them() -> None:
    code = "import flashfit; print([list(gpu.values()) for gpu in flashfit.gpus()['gpus']])"
    done = with_fake_driver(code, FAKE_CUDA_GPUS="NVIDIA H200:90,NVIDIA L4:89")
    hot = [1980.0, 2619.0, 700.0, ["power cap", "hardware thermal slowdown"]]
    assert done.stdout.strip() == str(
        [[0, "NVIDIA H200", "9.0", 58, 232448, *hot], [1, "NVIDIA L4", "8.9", 58, 101376, *hot]]
    ), done.stderr
