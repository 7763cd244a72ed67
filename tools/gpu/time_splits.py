"""Times decodes with their keys in one part, in two, four and so on to 64, beside the parts that the plan chooses, for
the plan's model to be fitted to: `python -m tools.gpu.time_splits FILE [TEXT]`, on a GPU; TEXT: shapes whose name has
it. The shapes are not the bench's, which judge the model.

FILE: {"machine", "revision", "shapes": [{"problem", "us": {"VARIANT/PARTS": median microseconds}}]}; the plan's choice
is first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from flashfit.bench.cases import Case  # noqa: E402
from flashfit.bench.gpu import Device  # noqa: E402
from flashfit.bench.machine import describe, revision  # noqa: E402
from flashfit.bench.plan import plan_of, variants_that_fit  # noqa: E402

from tools.gpu.time_variants import race  # noqa: E402

PARTS = (1, 2, 4, 8, 16, 32, 64)
#: Blocks past this many a streaming multiprocessor are not worth the time.
BLOCKS_AN_SM = 6
#: Of the kernels of a family so many, the fastest by the model.
OF_FAMILY = 2
#: batch, heads_q, heads_kv, seqlen_q, seqlen_k, head_dim
SIZES = (
    (1, 32, 8, 1, 1000, 128),
    (1, 32, 8, 1, 6000, 128),
    (1, 32, 8, 1, 24000, 128),
    (1, 32, 8, 1, 100000, 128),
    (1, 64, 8, 1, 12000, 128),
    (1, 8, 1, 1, 12000, 128),
    (4, 32, 8, 1, 2000, 128),
    (4, 32, 8, 1, 12000, 128),
    (16, 32, 8, 1, 6000, 128),
    (64, 8, 1, 1, 6000, 128),
    (64, 32, 8, 1, 2000, 128),
    (1, 8, 8, 1, 6000, 64),
    (1, 32, 8, 1, 3000, 64),
    (1, 32, 8, 1, 50000, 64),
    (4, 64, 8, 1, 6000, 64),
    (16, 16, 8, 1, 2000, 64),
    (1, 16, 8, 1, 6000, 256),
    (4, 16, 8, 1, 6000, 256),
    (1, 8, 1, 1, 50000, 256),
    (1, 32, 8, 4, 6000, 128),
    (1, 32, 8, 16, 6000, 128),
    (1, 64, 8, 4, 24000, 128),
    (1, 64, 8, 16, 6000, 128),
    (1, 64, 8, 16, 24000, 128),
    (4, 32, 8, 8, 3000, 128),
    (16, 64, 8, 8, 3000, 128),
    (1, 32, 8, 4, 12000, 64),
    (1, 64, 8, 16, 24000, 64),
    (1, 16, 8, 4, 6000, 256),
)


def shapes() -> Iterator[Case]:
    for batch, heads_q, heads_kv, seqlen_q, seqlen_k, head_dim in SIZES:
        yield Case(
            name=f"B{batch} S{seqlen_q}x{seqlen_k} H{heads_q}/{heads_kv} D{head_dim}",
            group="splits",
            stands_for="the plan's model",
            work={},
            dtype="bf16",
            head_dim=head_dim,
            heads_q=heads_q,
            heads_kv=heads_kv,
            softmax_scale=head_dim**-0.5,
            causal=seqlen_q > 1,
            batch=batch,
            seqlen_q=seqlen_q,
            seqlen_k=seqlen_k,
        )


def forms(case: Case, sms: int, gpu: str | None = None) -> list[str]:
    """What is raced, as `variant` takes it: the plan's choice first."""

    def named(variant: str | None) -> tuple[str, dict[str, Any]]:
        plan = plan_of(case, variant=variant, gpu=gpu)
        return f"{plan['variant']}/{plan['splits']}", plan

    found = [named(None)[0]]
    families: dict[str, list[tuple[float, str]]] = {}
    for name in variants_that_fit(case, gpu=gpu):
        plan = plan_of(case, variant=name, gpu=gpu)
        families.setdefault(plan["family"], []).append((plan["modelled_us"], name))
    for family in families.values():
        for _, name in sorted(family)[:OF_FAMILY]:
            for parts in PARTS:
                form, plan = named(f"{name}/{parts}")
                if plan["splits"] > 1 and plan["grid"] * plan["splits"] > BLOCKS_AN_SM * sms:
                    break
                found.append(form)
    return list(dict.fromkeys(found))


def main() -> int:
    path, text = Path(sys.argv[1]), "".join(sys.argv[2:3])
    device, found = Device(flushed=False), list[dict[str, Any]]()
    sms = device.torch.cuda.get_device_properties(0).multi_processor_count
    for case in (each for each in shapes() if text in each.name):
        found.append({"problem": case.problem(), "us": race(case, device, forms(case, sms))})
        times = found[-1]["us"]
        best = min(times, key=lambda form: float(times[form]))
        choice = next(iter(times))
        print(
            f"{case.name}: {choice} takes {times[choice]} us, {times[choice] / times[best]:.3f} of {best}", flush=True
        )
        content = {"machine": describe("cuda"), "revision": revision(), "shapes": found}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
