"""flashfit.attention and torch.ops.flashfit in torch.compile, torch.export and torch.jit.trace."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402

# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

ENTRIES = [flashfit.attention, torch_ops.call]
BACKENDS = ["eager", "aot_eager"]


def dense(seqlen: int = 5, batch: int = 2) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(seqlen)
    shapes = ((batch, seqlen, 4, 32), (batch, seqlen + 2, 2, 32), (batch, seqlen + 2, 2, 32))
    q, k, v = (torch.randn(s, generator=generator).half() for s in shapes)
    return q, k, v


def ragged(lengths: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    q, k, v = (x[0] for x in dense(sum(lengths)))
    cu = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    return q, k[: q.shape[0]], v[: q.shape[0]], cu


class Counted:
    """A backend that keeps the graphs that it was given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.graphs.append(graph)
        return graph.forward

    def targets(self) -> set[str]:
        return {str(node.target) for graph in self.graphs for node in graph.graph.nodes}


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> None:
    torch._dynamo.reset()


def both(q: Any, k: Any, v: Any, attend: Callable[..., Any] = torch_ops.call) -> Any:
    out, lse = attend(q * 2, k, v, causal=True, softmax_scale=0.25, return_lse=True)
    return out + 1, lse


@pytest.mark.parametrize("attend", ENTRIES)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_graph_gives_what_eager_gives(backend: str, dynamic: bool, attend: Any) -> None:
    compiled = torch.compile(both, backend=backend, fullgraph=True, dynamic=dynamic)
    for seqlen in (5, 9, 1, 0):
        q, k, v = dense(seqlen)
        for mine, its in zip(compiled(q, k, v, attend), both(q, k, v, attend)):
            assert torch.equal(mine, its)
            assert mine.stride() == its.stride()


def test_the_graph_holds_the_operator() -> None:
    backend = Counted()
    torch.compile(both, backend=backend, fullgraph=True)(*dense())
    assert any("flashfit" in target and "attention_lse" in target for target in backend.targets())


@pytest.mark.parametrize("how", ["dynamic", "mark_dynamic"])
def test_symbolic_sizes_compile_once(how: str) -> None:
    backend = Counted()
    compiled = torch.compile(torch_ops.call, backend=backend, fullgraph=True, dynamic=how == "dynamic" or None)
    for seqlen, batch in ((5, 3), (9, 6), (30, 11)):  # no two sizes alike: torch would take them for one symbol
        q, k, v = dense(seqlen, batch)
        if how == "mark_dynamic":
            for x in (q, k, v):
                torch._dynamo.mark_dynamic(x, 0)
                torch._dynamo.mark_dynamic(x, 1)
        assert torch.equal(compiled(q, k, v), flashfit.attention(q, k, v))
    assert len(backend.graphs) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_variable_length_compiles_once(backend: str) -> None:
    counted = Counted()

    def packed(q: Any, k: Any, v: Any, cu: Any) -> Any:
        return flashfit.attention(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)

    for compiled in (torch.compile(packed, backend=each, fullgraph=True, dynamic=True) for each in (backend, counted)):
        for lengths in ((4, 6), (3, 0, 8), (2, 9, 4, 1)):
            inputs = ragged(lengths)
            assert torch.equal(compiled(*inputs), packed(*inputs))
    assert len(counted.graphs) == 1


@pytest.mark.parametrize("scale", [0.5, 1])
def test_softmax_scale_may_be_symbolic(scale: float) -> None:
    def scaled(q: Any, k: Any, v: Any, scale: float) -> Any:
        return torch_ops.call(q, k, v, softmax_scale=scale)

    compiled = torch.compile(scaled, backend="aot_eager", fullgraph=True, dynamic=True)
    for factor in (1, 2, 3):
        given = scale * factor
        assert torch.equal(compiled(*dense(), given), scaled(*dense(), given))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("return_lse", [False, True])
def test_out_is_written(backend: str, return_lse: bool) -> None:
    attend: Any = flashfit.attention
    q, k, v = dense()
    want, want_lse = flashfit.attention(q, k, v, return_lse=True)

    def write(q: Any, out: Any) -> Any:
        found = attend(q, k, v, out=out, return_lse=return_lse)
        return found, out + 1

    out = torch.zeros_like(q)
    found, more = torch.compile(write, backend=backend, fullgraph=True)(q, out)
    assert torch.equal(out, want)
    assert torch.equal(more, want + 1)
    if return_lse:
        assert torch.equal(found[1], want_lse)
    assert torch.equal(found[0] if return_lse else found, want)


@pytest.mark.parametrize("attend", ENTRIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_are_refused_when_compiled(backend: str, attend: Any) -> None:
    q, k, v = dense()
    q.requires_grad_()
    compiled = torch.compile(lambda q, k, v: attend(q, k, v, softcap=2.0), backend=backend, fullgraph=True)
    with pytest.raises(Exception, match=r"softcap: 2 in a call that needs gradients.*; accepted: None"):
        compiled(q, k, v)
    with torch.no_grad():
        assert torch.equal(compiled(q, k, v), flashfit.attention(q, k, v, softcap=2.0))


def test_compiled_code_takes_no_lists_streams_or_variants() -> None:
    q, k, v = (x[0] for x in dense())
    cases: list[dict[str, Any]] = [{"cu_seqlens_q": [0, 5], "cu_seqlens_k": [0, 7]}, {"stream": 7}, {"variant": "x"}]
    for options in cases:
        with pytest.raises(Exception, match=r"in compiled code.*; accepted"):
            torch.compile(lambda o: flashfit.attention(q, k, v, **o), backend="eager", fullgraph=True)(options)


def test_wrong_shapes_are_refused_when_compiled() -> None:
    q, _, _ = dense()
    for dynamic in (False, True):
        with pytest.raises(Exception, match="heads; accepted: a divisor of q's"):
            torch.compile(torch_ops.call, backend="eager", fullgraph=True, dynamic=dynamic)(
                q, torch.ones(2, 7, 3, 32).half(), torch.ones(2, 7, 3, 32).half()
            )


@pytest.mark.filterwarnings("ignore:.torch.jit")  # of torch's own modules, which inductor imports
def test_inductor() -> None:
    """Skipped only where no C++ compiler is: inductor needs one for the CPU."""
    for dynamic in (False, True):
        compiled = torch.compile(both, backend="inductor", fullgraph=True, dynamic=dynamic)
        for seqlen in (5, 9):
            q, k, v = dense(seqlen)
            # Inputs whose strides inductor would choose otherwise.
            k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (k, v))
            try:
                out, lse = compiled(q, k, v)
            except Exception as error:
                if "InvalidCxxCompiler" in str(error):
                    pytest.skip("inductor found no C++ compiler")
                raise
            want, want_lse = both(q, k, v)
            torch.testing.assert_close(out, want, rtol=2e-3, atol=2e-3)
            torch.testing.assert_close(lse, want_lse, rtol=1e-5, atol=1e-5)
            assert out.stride() == want.stride()


def run_python(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(flashfit.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_the_first_call_of_a_process_may_be_compiled() -> None:
    code = """
        import sys, torch, flashfit
        assert "flashfit.torch_ops" not in sys.modules
        q = torch.randn(1, 4, 2, 32)
        out = torch.compile(lambda q: flashfit.attention(q, q, q), backend="aot_eager", fullgraph=True)(q)
        print(torch.equal(out, flashfit.attention(q, q, q)))
    """
    assert run_python(code) == "True"


class Attention(torch.nn.Module):  # type: ignore[misc]
    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return flashfit.attention(q, k, v, causal=True)


@pytest.mark.filterwarnings("ignore:At pre-dispatch tracing")  # torch 2.4 of any operator
@pytest.mark.parametrize("strict", [False, True])
def test_export_saved_and_run_elsewhere(strict: bool, tmp_path: Path) -> None:
    batch, rows, keys = (torch.export.Dim(name, max=1000) for name in ("batch", "rows", "keys"))
    shapes = {"q": {0: batch, 1: rows}, "k": {0: batch, 1: keys}, "v": {0: batch, 1: keys}}
    with torch.no_grad():
        program = torch.export.export(Attention(), dense(), dynamic_shapes=shapes, strict=strict)
    assert "torch.ops.flashfit.attention.default" in program.graph_module.code
    torch.export.save(program, str(tmp_path / "program.pt2"))
    inputs = dense(11, 3)
    torch.save([*inputs, flashfit.attention(*inputs, causal=True)], tmp_path / "inputs.pt")
    code = """
        import sys, torch, flashfit.torch_ops
        *inputs, want = torch.load(sys.argv[1] + "/inputs.pt")
        print(torch.equal(torch.export.load(sys.argv[1] + "/program.pt2").module()(*inputs), want))
    """
    assert run_python(code, str(tmp_path)) == "True"


@pytest.mark.parametrize("option", ["softmax_scale", "softcap"])
def test_a_number_out_of_a_tensor_breaks_the_graph(option: str) -> None:
    """As with PyTorch's own attention, where torch.compile is told to trace item()."""

    def scaled(q: Any, k: Any, v: Any, number: Any) -> Any:
        return flashfit.attention(q, k, v, **{option: number.item()})

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(scaled, backend="aot_eager")
        for number in (0.5, 2.0):
            inputs = (*dense(), torch.tensor(number))
            assert torch.equal(compiled(*inputs), scaled(*inputs))
    torch._dynamo.reset()  # it remembers how it broke attention(), and other tests compile that


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_jit_trace_records_the_call() -> None:
    traced = torch.jit.trace(lambda q, k, v: flashfit.attention(q, k, v), dense())
    assert "flashfit::attention" in str(traced.graph)
    assert torch.equal(traced(*dense(9)), flashfit.attention(*dense(9)))


@pytest.mark.filterwarnings("ignore:Dynamo does not know")
@pytest.mark.parametrize("scale", ["1", b"1", [1.0]])
def test_compiled_code_takes_no_text_for_a_scale(scale: Any) -> None:
    compiled = torch.compile(lambda *x: flashfit.attention(*x, softmax_scale=scale), backend="eager")
    with pytest.raises(flashfit.InvalidType, match=r"^softmax_scale: [^\n]+; accepted: a number above 0, or None"):
        compiled(*dense())
    torch._dynamo.reset()  # as above
