"""Whether the flashfit that is installed in this Python does what it should, without the repository.

`./dev matrix` runs it in each environment. Prints a line of JSON: what was checked, the binding, nanoseconds per call,
and failures, of which there should be none. Needs nothing but what it checks.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: What a Python must not need for `import flashfit`.
OPTIONAL = ("numpy", "torch", "cupy", "jax", "ml_dtypes")
#: What the wheel's name promises.
OLDEST_GLIBC = (2, 28)


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def python(code: str, **environment: str) -> str:
    """What another process of this Python prints."""
    command = [sys.executable, "-I", "-c", code]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.strip()


def check_import_needs_nothing() -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL}))"
    assert python(f"{blocked}; import flashfit; print(len(flashfit.gpus()) > 0)") == "True"


def check_installed_files() -> None:
    import flashfit
    from flashfit._library import library

    package = Path(flashfit.__file__).resolve().parent
    assert package == Path(sysconfig.get_path("platlib"), "flashfit").resolve(), package
    assert library().path == package / "libflashfit.so"
    assert (package / "py.typed").exists()


def check_record() -> None:
    """RECORD names every file of the package, each with the hash and the length that it has."""
    package = Path(sysconfig.get_path("platlib"), "flashfit")
    recorded = {Path(str(f.locate())).resolve(): f for f in importlib.metadata.files("flashfit") or []}
    present = {p.resolve() for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert present
    assert present <= recorded.keys(), present - recorded.keys()
    for path, file in recorded.items():
        if file.hash is None:  # RECORD's own line, and what the installer compiled
            assert file.name == "RECORD" or file.name.endswith(".pyc"), file
            continue
        digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
        assert file.hash.value == base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), file
        assert file.size == path.stat().st_size, file


def check_doctor() -> None:
    """The doctor's own verdict on what is installed, under this Python and every GPU that there is."""
    import flashfit

    package = str(Path(flashfit.__file__).parent)
    report = flashfit.doctor(package, gpu="all", cache=False)
    (target,) = report.targets
    if sys.version_info >= (3, 10):
        assert report.verdict == "fits", report
    else:  # ctypes stands in for the module, for which the doctor cannot vouch there
        serious = [(p.code, Path(p.member).name) for p in target.problems if p.severity != "note"]
        assert serious == [("FF221", "_flashfit_native.abi3.so")], report
    libraries = {Path(b.path).name: b for b in target.binaries}
    modules = {"_flashfit_native.abi3.so", "_flashfit_native.abi3t.so"}
    assert libraries.keys() >= {"libflashfit.so", *modules}, libraries.keys()
    needed = {name: tuple(map(int, b.glibc.split("."))) for name, b in libraries.items()}
    assert max(needed.values()) <= OLDEST_GLIBC, needed


def check_sbom() -> None:
    """The list of what is linked in is where PEP 770 wants it, and says whose each part is."""
    text = importlib.metadata.distribution("flashfit").read_text("sboms/flashfit.cdx.json")
    assert text, "there is no sboms/flashfit.cdx.json"
    parts = json.loads(text)["components"]
    assert {p["name"] for p in parts} >= {"gcc", "glibc", "isal", "libzstd", "lz4", "re2"}, parts
    assert all(p["version"] and p["licenses"] and p["purl"].startswith("pkg:") for p in parts), parts


def check_command() -> None:
    import flashfit

    # Under an emulator (tools/dev/emulated.sh) a script starts it.
    command = os.environ.get("FLASHFIT_COMMAND") or Path(sysconfig.get_path("scripts"), "flashfit")
    output = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert output.strip() == f"flashfit {flashfit.__version__}"


def check_binding() -> None:
    expected = os.environ.get("FLASHFIT_PYTHON_BINDING", "native" if can_be_native() else "ctypes")
    assert binding_name() == expected, f"{binding_name()} instead of {expected}"


def can_be_native() -> bool:
    """The compiled module's two files are of the stable ABIs of 3.10 and, for free-threaded Pythons, of 3.15."""
    return sys.version_info >= ((3, 15) if sysconfig.get_config_var("Py_GIL_DISABLED") else (3, 10))


def binding_name() -> str:
    from flashfit._binding import binding

    return binding().name


def check_numpy_is_enough() -> None:
    code = "import sys, numpy, flashfit; x = numpy.ones((1, 4, 2, 8), numpy.float32); flashfit.attention(x, x, x)"
    assert python(f"{code}; print('torch' in sys.modules)") == "False"


def check_numpy() -> None:
    import flashfit
    import numpy as np
    from flashfit import reference

    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, n, h, 64)) for n, h in ((37, 4), (53, 2), (53, 2)))
    expected, expected_lse = reference.attention(q, k, v, causal=True)
    for dtype, bound in ((np.float32, 1e-5), (np.float16, 2e-3)):
        out, lse = flashfit.attention(*(x.astype(dtype) for x in (q, k, v)), causal=True, return_lse=True)
        assert np.abs(out - expected).max() < bound
        assert np.abs(lse - expected_lse).max() < bound


def check_numpy_errors() -> None:
    import flashfit
    import numpy as np

    q, k = np.ones((1, 4, 4, 8), np.float32), np.ones((1, 4, 3, 8), np.float32)
    message = ""
    try:
        flashfit.attention(q, k, k)
    except ValueError as error:
        message = str(error)
    assert message.startswith("k: 3 heads"), f"3 heads for 4: {message!r}"
    assert "\n" not in message


def close(result: Any, expected: Any, bound: float) -> None:
    assert result.shape == expected.shape, (result.shape, expected.shape)
    error = (result.double() - expected).abs().max().item()
    assert error < bound, f"{error:.1e} instead of at most {bound:.1e}"


def random_tensors(dtype: Any) -> tuple[Any, Any, Any]:
    """q, k and v [batch, heads, seqlen, head_dim], two queries' heads to one of keys."""
    import torch

    torch.manual_seed(1)
    q, k, v = (torch.randn(2, h, n, 64).to(dtype) for h, n in ((4, 37), (2, 53), (2, 53)))
    return q, k, v


def check_torch() -> None:
    import flashfit
    import torch
    from flashfit import reference

    for dtype, bound in ((torch.float32, 1e-5), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)):
        q, k, v = random_tensors(dtype)
        for causal in (False, True):
            expected, expected_lse = reference.attention(q, k, v, causal=causal, layout="bhsd")
            out, lse = flashfit.attention(q, k, v, causal=causal, layout="bhsd", return_lse=True)
            close(out, expected, bound)
            close(lse, expected_lse, bound)
            tokens_first = (x.transpose(1, 2).contiguous() for x in (q, k, v))
            close(flashfit.attention(*tokens_first, causal=causal).transpose(1, 2), expected, bound)


def check_torch_out() -> None:
    import flashfit
    import torch
    from flashfit import reference

    q, k, v = random_tensors(torch.float32)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            out = torch.zeros_like(q)
            assert flashfit.attention(q, k, v, layout="bhsd", out=out) is out
            close(out, reference.attention(q, k, v, layout="bhsd")[0], 1e-5)
            assert out.is_inference() or out._version > 0
    wanting = q.clone().requires_grad_()
    flashfit.attention(wanting, k, v, layout="bhsd").sum().backward()
    assert wanting.grad.shape == q.shape
    assert bool(wanting.grad.isfinite().all())
    for x, words in ((q.double(), "q: dtype is "), (q[0], "q: 3 dimensions")):
        message = ""
        try:
            flashfit.attention(x, k, v, layout="bhsd")
        except ValueError as error:
            message = str(error)
        assert message.startswith(words), message


def check_torch_varlen() -> None:
    import flashfit
    import torch
    from flashfit import reference

    torch.manual_seed(1)
    q, k, v = (torch.randn(20, 2, 32, dtype=torch.bfloat16) for _ in range(3))
    offsets = torch.tensor([0, 3, 3, 20], dtype=torch.int32)
    out, lse = flashfit.attention(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets, return_lse=True)
    expected, expected_lse = reference.attention(q, k, v, cu_seqlens_q=[0, 3, 3, 20], cu_seqlens_k=[0, 3, 3, 20])
    close(out, expected, 2e-2)
    close(lse, expected_lse, 2e-2)


def check_torch_compile() -> None:
    import flashfit
    import torch
    from flashfit import reference

    q, k, v = random_tensors(torch.float32)

    def model(q: Any, k: Any, v: Any) -> Any:
        return flashfit.attention(q * 2, k, v, causal=True, layout="bhsd") + 1

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    close(compiled(q, k, v), reference.attention(q * 2, k, v, causal=True, layout="bhsd")[0] + 1, 1e-5)

    def of_options(q: Any, k: Any, v: Any, sinks: Any) -> Any:
        return flashfit.attention(q, k, v, layout="bhsd", window=(9, 0), softcap=3.0, sinks=sinks)

    sinks = torch.randn(q.shape[1])
    given = {"layout": "bhsd", "window": (9, 0), "softcap": 3.0, "sinks": sinks}
    compiled = torch.compile(of_options, fullgraph=True, backend="aot_eager")
    close(compiled(q, k, v, sinks), reference.attention(q, k, v, **given)[0], 1e-5)


def check_torch_sdpa() -> None:
    """The integration's ways with gradients, a transposed mask, a checkpoint, torch.export and torch.compile."""
    import torch
    from flashfit.integrations import sdpa
    from torch.utils.checkpoint import checkpoint

    attend = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(1)
    q, k, v = (torch.randn(1, 2, n, 16) for n in (5, 9, 9))
    q.requires_grad_()
    mask = torch.randn(9, 5).T
    scores = q.double() @ k.double().transpose(-1, -2) / 4 + mask.double()
    expected = scores.softmax(-1) @ v.double()
    (gradient,) = torch.autograd.grad(expected.sum(), q)
    q16 = torch.randn(1, 2, 8, 16)

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return attend(x, x, x)

    with sdpa.installed():
        checkpoint(lambda q: attend(q, k, v), 1 * q, use_reentrant=False).sum().backward()
        out = attend(q, k, v, attn_mask=mask)
        close(out.detach(), expected.detach(), 1e-5)
        close(torch.autograd.grad(out.sum(), q)[0], gradient, 1e-5)
        assert not any("left" in line for line in sdpa.log()), sdpa.log()
        program = torch.export.export(Model(), (q16,)).run_decompositions()
        assert "flashfit" not in str(program.graph)
        assert any("torch.export" in line for line in sdpa.log()), sdpa.log()
        close(torch.compile(Model(), backend="aot_eager")(q16), attend(q16, q16, q16), 1e-6)
    sdpa.uninstall()


def nanoseconds_per_call() -> float:
    """The best of many rounds of the smallest call, its output allocated; short ones, as other work interrupts."""
    import flashfit

    if has("torch"):
        import torch

        torch.set_num_threads(1)
        x = torch.ones(1, 1, 1, 8)
    else:
        import numpy as np

        x = np.ones((1, 1, 1, 8), np.float32)
    best = float("inf")
    for _ in range(100):
        start = time.perf_counter_ns()
        for _ in range(100):
            flashfit.attention(x, x, x)
        best = min(best, (time.perf_counter_ns() - start) / 100)
    return best


def failure_of(check: Callable[[], None]) -> str:
    """The check's exception, "" if there is none."""
    try:
        check()
    except Exception:
        return traceback.format_exc(limit=-3)
    return ""


def main() -> None:
    checks: list[Callable[[], None]] = [
        check_import_needs_nothing,
        check_installed_files,
        check_record,
        check_sbom,
        check_doctor,
        check_command,
        check_binding,
    ]
    if has("numpy"):
        checks += [check_numpy_is_enough, check_numpy, check_numpy_errors]
    if has("torch"):
        checks += [check_torch, check_torch_out, check_torch_varlen, check_torch_compile, check_torch_sdpa]
    failures = {c.__name__: failure for c in checks if (failure := failure_of(c))}
    ns = None if failures or not (has("numpy") or has("torch")) else nanoseconds_per_call()
    names = [c.__name__ for c in checks]
    print(json.dumps({"checks": names, "failures": failures, "binding": binding_name(), "ns": ns}))


if __name__ == "__main__":
    main()
