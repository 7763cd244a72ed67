"""python -m flashfit trace: what it sees of a program, and that the program runs as it would without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flashfit._stand_in import shim
from flashfit.trace import report
from flashfit.trace.calls import Call, Shape

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
from helper import attend

print(sys.argv[1:], __name__)
q = torch.randn(2, 8, 64, 32).half()
with torch.no_grad():
    for _ in range(3):
        attend(q, is_causal=True)
    attend(q[:, :, :1], q, attn_mask=torch.ones(1, 64, dtype=torch.bool))
    torch.compile(attend, backend="aot_eager")(q)
    for keys in (10, 11, 12):
        attend(q[:, :, :1], q[:, :, :keys])
    encoder = torch.nn.TransformerEncoderLayer(32, 4, 32, batch_first=True).eval()
    encoder(torch.randn(2, 5, 32))
    own = torch.nn.MultiheadAttention(32, 4).eval()
    own(torch.randn(5, 2, 32), *[torch.randn(7, 2, 32)] * 2)
own.train()
for weights in (True, False):
    own(torch.randn(5, 2, 32), *[torch.randn(7, 2, 32)] * 2, need_weights=weights)
x = torch.randn(1, 2, 8, 16, requires_grad=True)
attend(x, dropout_p=0.5).sum().backward()
sys.exit(5)
"""
HELPER = """
import torch

def attend(q, k=None, **options):
    k = q if k is None else k
    return torch.nn.functional.scaled_dot_product_attention(q, k, k, **options)
"""


def trace(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flashfit", "trace", *words]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    files = ("--json", "trace.json", "--html", "trace.html")
    done = trace(tmp_path, "--gpu", "L4", *files, "program.py", "a", "--b")
    assert (done.returncode, done.stdout) == (5, "['a', '--b'] __main__\n"), done.stderr[-2000:]
    found = json.loads((tmp_path / "trace.json").read_text())
    assert 0 < found["taken_seconds"] < found["attention_seconds"] < found["span_seconds"] < found["seconds"]
    assert found["attention_share"] == found["attention_seconds"] / found["span_seconds"]
    helper = [call for call in found["calls"] if "helper.py" in call["where"]]
    eager = [call for call in helper if not call["compiled"]]
    by_options = {(call["causal"], *call["options"]): call for call in eager}
    causal, masked = by_options[(True,)], by_options[(False, "bool mask")]
    dropped, tokens = by_options[(False, "dropout 0.5", "gradients")], by_options[(False,)]
    assert len(eager) == 4
    assert (tokens["count"], tokens["sizes"]) == (3, [[1, 10, 1], [1, 11, 1], [1, 12, 1]])
    assert "2 x 1 x 10..12, 8 heads of 32" in done.stderr
    assert tokens["on"][0]["modelled_us_of_all"] > 2.9 * min(tokens["on"][0]["modelled_us"], 4)
    assert causal["count"] == 3
    assert causal["seconds"] > 0
    sizes = ("batch", "seqlen_q", "seqlen_k", "heads_q", "heads_kv", "head_dim", "dtype", "device")
    assert [causal[name] for name in sizes] == [2, 64, 64, 8, 8, 32, "fp16", "cpu"]
    assert (masked["seqlen_q"], masked["seqlen_k"]) == (1, 64)
    assert causal["ran"] == ["_scaled_dot_product_flash_attention_for_cpu"]
    assert dropped["ran"] == ["formula (math)"]
    assert causal["flashfit"] == {"takes": True, "reason": ""}
    assert dropped["flashfit"] == {"takes": False, "reason": "dropout_p: 0.5"}
    assert causal["where"].endswith("helper.py:6")
    (on,) = causal["on"]
    assert (on["gpu"], on["fits"], on["dtype"], on["without"]) == ("L4", True, "fp16", [])
    assert on["modelled_us_of_all"] == pytest.approx(3 * on["modelled_us"])
    assert masked["on"][0]["without"] == ["bool mask"]
    assert (dropped["on"][0]["fits"], dropped["on"][0]["dtype"]) == (True, "bf16")
    others = [call for call in found["calls"] if call not in helper and not call["compiled"]]
    modules = {call["function"]: call for call in others if call["seconds"] == 0}
    assert set(modules) == {"TransformerEncoderLayer", "MultiheadAttention"}
    assert "fast path" in modules["TransformerEncoderLayer"]["flashfit"]["reason"]
    assert modules["MultiheadAttention"]["flashfit"]["reason"].startswith("need_weights: True")
    sizes_of = [
        modules["MultiheadAttention"][name] for name in ("batch", "seqlen_q", "seqlen_k", "heads_q", "head_dim")
    ]
    assert sizes_of == [2, 5, 7, 4, 8]
    (compiled, *_) = (call for call in found["calls"] if call["compiled"])
    assert (compiled["ran"], compiled["seconds"]) == (["compiled code"], 0.0)
    assert "3 times" in done.stderr
    assert "flashfit would leave it: dropout_p: 0.5" in done.stderr
    assert "<td>3</td>" in (tmp_path / "trace.html").read_text()


def test_calls_on_tensors_without_data_are_not_timed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import contextlib\nimport torch\n"
        "from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "attend = torch.nn.functional.scaled_dot_product_attention\n"
        "@contextlib.contextmanager\n"
        "def nothing():\n"
        "    yield\n"
        "with FakeTensorMode():\n"
        "    q = torch.randn(1, 4, 16, 32)\n"
        "    nothing()(attend)(q, q, q)\n"
    )
    done = trace(tmp_path, "--json", "trace.json", "program.py")
    assert done.returncode == 0, done.stderr[-2000:]
    (call,) = json.loads((tmp_path / "trace.json").read_text())["calls"]
    assert (call["compiled"], call["seconds"], call["ran"]) == (True, 0.0, ["compiled code"])
    assert call["where"].endswith("program.py:10")  # not contextlib's decorator


def test_packages_that_a_program_imports(tmp_path: Path) -> None:
    shim.write(tmp_path)
    (tmp_path / "program.py").write_text(
        "import torch\n"
        "from flash_attn import flash_attn_func, flash_attn_varlen_func\n"
        "q = torch.randn(1, 16, 4, 32).half()\n"
        "flash_attn_func(q, q, q, causal=True, window_size=(3, 0))\n"
        "cu = torch.tensor([0, 7, 16], dtype=torch.int32)\n"
        "flash_attn_varlen_func(q[0], q[0], q[0], cu, cu, 9, 9)\n"
    )
    done = trace(tmp_path, "--json", "trace.json", "program.py")
    assert done.returncode == 0, done.stderr[-2000:]
    calls = {call["function"]: call for call in json.loads((tmp_path / "trace.json").read_text())["calls"]}
    assert set(calls) == {"flash_attn_func", "flash_attn_varlen_func"}
    assert calls["flash_attn_func"]["causal"]
    assert calls["flash_attn_func"]["options"] == ["window_size (3, 0)"]
    assert calls["flash_attn_varlen_func"]["options"] == ["2 sequences"]
    for call in calls.values():
        assert (call["count"], call["ran"], call["heads_q"]) == (1, ["flash_attn"], 4)


def test_a_program_without_attention(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('nothing')\n")
    done = trace(tmp_path, "program.py")
    assert (done.returncode, done.stdout) == (0, "nothing\n")
    assert "no call of attention was seen\n" in done.stderr


@pytest.mark.parametrize(("body", "status"), [("raise SystemExit('why')", 1), ("raise SystemExit", 0)])
def test_the_programs_status(tmp_path: Path, body: str, status: int) -> None:
    (tmp_path / "program.py").write_text(body)
    assert trace(tmp_path, "program.py").returncode == status


def test_what_cannot_be_run(tmp_path: Path) -> None:
    done = trace(tmp_path, "absent.py")
    assert (done.returncode, done.stderr) == (3, "flashfit: script: absent.py; accepted: a Python file\n")


def found_of(**more: Any) -> dict[str, Any]:
    sizes = {"batch": 1, "seqlen_q": 8, "seqlen_k": 8, "heads_q": 4, "heads_kv": 2, "head_dim": 64, "head_dim_v": 64}
    shape = Shape(dtype="fp16", device="cuda:0", causal=False, options=("<mask>",), **{**sizes, **more})
    size = shape.seqlen_q, shape.seqlen_k
    call = Call("attend", shape, "/a<b>.py:1", "", False, {size: 2}, timed=1, timed_seconds=0.25, ran={"x"})
    return report.document("s<1>.py", 3.0, 2.0, [call], ["L4", "9.9"])


@pytest.mark.parametrize(("error", "status"), [("ValueError('mine')", 1), ("KeyboardInterrupt", 130)])
def test_a_program_that_ends_with_an_exception_is_told_of(tmp_path: Path, error: str, status: int) -> None:
    body = f"import torch\nfrom helper import attend\nattend(torch.randn(1, 2, 8, 16))\nraise {error}"
    (tmp_path / "program.py").write_text(body)
    (tmp_path / "helper.py").write_text(HELPER)
    done = trace(tmp_path, "program.py")
    assert done.returncode == status
    first, *_ = done.stderr.split("program.py: ")
    assert first.startswith("Traceback (most recent call last):\n  File ")
    assert error.partition("(")[0] in first
    assert "runpy" not in first
    assert "trace/main.py" not in first
    assert "scaled_dot_product_attention, once" in done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--gpu", "Foo"], "gpu 'Foo': not known; accepted: a name such as L40"),
        (["--json", "away/a.json"], "--json: away/a.json; accepted: a file in a folder that is there"),
        (["--html", "."], "--html: .; accepted: a file in a folder that is there"),
    ],
)
def test_what_cannot_be_told_is_refused_before_the_program_runs(tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "program.py").write_text("print('ran')")
    done = trace(tmp_path, *words, "program.py")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"flashfit: {line}")


def test_pages_escape_what_programs_say() -> None:
    page = report.page(found_of())
    assert "<b>" not in page
    assert "&lt;mask&gt;" in page
    assert "s&lt;1&gt;.py" in page
    assert "25.0 %" in page
    assert "1.33 times as fast" in page


def test_sizes_that_are_not_known_and_gpus_that_are_not() -> None:
    symbolic = found_of(seqlen_q=0)["calls"][0]["on"]
    assert {each["reason"] for each in symbolic} == {"a size that was not known, or is 0"}
    other_values = found_of(head_dim=192, head_dim_v=128)["calls"][0]["on"]
    assert "d192v128" in other_values[0]["variant"]
    known = found_of()["calls"][0]["on"]
    assert known[0]["fits"]
    assert not known[1]["fits"]
    assert "9.9" in known[1]["reason"]
