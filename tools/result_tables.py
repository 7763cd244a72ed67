#!/usr/bin/env python3
"""Writes the tables of README.md, of the kernels' pages and of docs/speed from the files of bench/results.

Speed comes from bench_*.json, which `python -m flashfit.bench --json` made (docs/results.md): one page for each group
of cases. The cost of a call comes from what `./dev gpu --json` and `bench/call_cost.py --json` made, modelled times
from modelled.json, which --model makes anew from this build. With --check nothing is written: exit status 1 if a page
is not what its files say.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from flashfit.bench import stats  # noqa: E402
from flashfit.bench.selftest import FORCED  # noqa: E402

RESULTS = ROOT / "bench" / "results"
CASES = ROOT / "bench" / "cases" / "forward.json"
SPEED = "docs/speed"
COMMAND = "tools/result_tables.py"
#: What the model is asked, of every GPU in the table: one case of the reports and two of training.
MODELLED: dict[str, dict[str, Any]] = {
    "fp16 B2 S512 H8 D64 full": {"dtype": "fp16", "batch": 2, "heads_q": 8, "seqlen_q": 512, "head_dim": 64},
    "fp16 B8 S2048 H16 D64 causal": {
        "dtype": "fp16",
        "batch": 8,
        "heads_q": 16,
        "seqlen_q": 2048,
        "head_dim": 64,
        "causal": True,
    },
    "bf16 B8 S2048 H16 D128 full": {"dtype": "bf16", "batch": 8, "heads_q": 16, "seqlen_q": 2048, "head_dim": 128},
}

#: README's cases.
HEADLINES = (
    "origin/B2 S512 H8 D64 fp16 full",
    "origin/B2 S512 H8 D64 fp16 causal",
    "grid/B8 S2048 H16 D64 bf16 full",
    "grid/B8 S2048 H16 D64 bf16 causal",
    "grid/B8 S2048 H16 D96 bf16 causal",
    "grid/B8 S2048 H16 D128 bf16 full",
    "grid/B8 S2048 H16 D128 bf16 causal",
    "grid/B8 S2048 H16 D192 bf16 causal",
    "ragged/SeedVR2 113 frames 720x1280, 36 regular windows H20 D128 bf16 full",
    "ragged/SeedVR2 25 frames 720x1280, 64 shifted windows H20 D128 bf16 full",
    "decode/B16 S1x8192 H32/8 D128 bf16 full",
    "decode/B1 S1x65536 H32/8 D128 bf16 full",
)

#: Of each kernel's own page: what its small table has.
HOPPER = (
    "grid/B32 S512 H16 D128 bf16 causal",
    "grid/B8 S2048 H32 D64 bf16 causal",
    "grid/B8 S2048 H16 D128 bf16 full",
    "grid/B8 S2048 H16 D128 bf16 causal",
    "grid/B8 S2048 H8 D256 bf16 causal",
    "grid/B1 S16384 H16 D128 bf16 full",
    "grid/B1 S16384 H8 D256 bf16 full",
)
EXPERTS = (
    "moe/Qwen3-30B-A3B T64 random bf16",
    "moe/Qwen3-30B-A3B T32768 random bf16",
    "moe/Qwen3-30B-A3B T32768 zipf bf16",
    "moe/Mixtral-8x7B T16384 random bf16",
    "moe/GPT-OSS-20B T32768 random bf16",
    "moe/DeepSeek-V3 T8192 random bf16",
)

#: The title of a group's page. A group that stands for one need has that in its page's first line.
TITLES = {
    "origin": "Shapes of field reports",
    "grid": "Training and prefill",
    "ragged": "Sequences of different lengths: SeedVR2",
    "uneven": "Uneven lengths",
    "odd": "Odd lengths and head dims",
    "decode": "Decoding",
    "options": "Windows, softcap, ALiBi, biases, sinks",
    "route": "The router of a mixture of experts",
    "moe": "Layers of experts",
    "sonic": "Layers of experts beside SonicMoE",
}
#: Whose need a group is that is not in the list of attention's cases.
NEEDS = {
    "route": "the experts of each token, at the sizes of Mixtral, Qwen3-MoE, Qwen3-Next and DeepSeek-V3",
    "moe": "layers of experts of eight models, from one token to prompts, with even and uneven choices",
    "sonic": "layers of experts of six models, in twelve cases chosen before SonicMoE was measured in any of them",
}

Result = Mapping[str, Any]
Entry = Mapping[str, Any]


def load(name: str) -> dict[str, Any]:
    """A file of bench/results."""
    results: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return results


def result_files() -> dict[str, Result]:
    """Result files by name, GPUs' before CPUs'."""
    found = {path.name: load(path.name) for path in sorted(RESULTS.glob("bench_*.json"))}
    return dict(sorted(found.items(), key=lambda item: (item[1]["machine"]["gpu"] is None, item[0])))


def place(result: Result) -> str:
    """What ran it: the GPU, or the CPU."""
    gpu = result["machine"]["gpu"]
    return str(gpu["name"] if gpu else f"{result['machine']['cpu']} ({result['machine']['cores']} cores)")


def how(result: Result) -> str:
    """The machine and the method in a sentence or two."""
    method, machine, made = result["method"], result["machine"], result["made"]
    said = [place(result), f"flashfit {made['flashfit']} of revision {made['revision'][:9]}"]
    clocks = [c["clock_mhz"]["median"] for c in result["cases"] if c.get("clock_mhz")]
    if machine["gpu"]:
        said.append(f"driver {machine['gpu']['driver']}, L2 {method['l2']}")
    if clocks:
        said.append(f"SM clock {min(clocks):.0f} to {max(clocks):.0f} MHz")
    said += [f"{name} {version}" for name, version in result["versions"].items() if name not in ("python", "numpy")]
    said.append(f"{method['repeats']} rounds at most")
    noise = method.get("noise")
    if noise:
        said.append(f"noise of a ratio {noise['half_width']:.1%}")
    reasons = sorted({reason for c in result["cases"] for reason in c.get("throttled", ())})
    if reasons:
        said.append(f"held back by: {', '.join(reasons)}")
    end = "" if made["complete"] else " The run was ended early."
    return f"{', '.join(said)}; {made['at'][:10]}.{end}"


def interval(x: Mapping[str, Any]) -> str:
    low, high = x["ratio_interval"]
    return f"{x['ratio']:.3f} [{low:.3f}, {high:.3f}]"


def us(entry: Mapping[str, Any]) -> str:
    """The time in microseconds, four digits of it or all of the whole ones."""
    time = float(entry["median_us"])
    return f"{time:,.0f}" if time >= 1000 else f"{time:.4g}"


def tflops(entry: Mapping[str, Any]) -> float:
    return float(entry["work"]["flop"]) / float(entry["median_us"]) / 1e6


def rate(entry: Mapping[str, Any]) -> str:
    """What a case is bound by: memory for one or few queries and where nothing is multiplied, else arithmetic."""
    if entry["group"] == "decode" or not entry["work"]["flop"]:
        return f"{entry['work']['bytes'] / entry['median_us'] / 1e3:.0f} GB/s"
    speed = tflops(entry)
    return f"{speed:.0f} TFLOP/s" if speed >= 10 else f"{1e3 * speed:.0f} GFLOP/s"


def of_bandwidth(entry: Entry, ceilings: Mapping[str, Any] | None) -> str:
    """The bytes that a case cannot leave out, a second, of what the run's copies and reads of memory reached."""
    if not ceilings:
        return "-"
    reached = float(entry["work"]["bytes"]) / float(entry["median_us"]) / 1e3
    return f"{reached / float(ceilings['memory_gb_per_s']['value']):.0%}"


def markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [headers, ["---"] * len(headers), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def wrapped(text: str) -> list[str]:
    """The text in lines of at most 120 columns; a piece of code stays whole."""
    lines = [""]
    for word in re.findall(r"(?:`[^`]*`|\S)+", text):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > 120:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def lacking(peer: Mapping[str, Any]) -> str:
    """Of a peer without a ratio."""
    return "out of memory" if str(peer.get("message")).startswith("out of memory: ") else "-"


def beside_no_time(peer: Mapping[str, Any]) -> str:
    """Of a peer where flashfit has no time: its own."""
    if not peer:
        return ""
    return f"{us(peer)} us" if "median_us" in peer else lacking(peer)


def group_table(entries: Sequence[Entry], ceilings: Mapping[str, Any] | None = None) -> list[str]:
    """A table row for each case: the time, and each peer's time over it. Layers of experts are bound by memory or by
    arithmetic, as their tokens are many: they have both."""
    named = dict.fromkeys(name for entry in entries for name in entry.get("peers", {}))
    peers = [name for name in named if not name.startswith(FORCED)]
    other = ["fastest other kernel"] if len(peers) < len(named) else []
    timed = [p for p in peers if any({"ratio", "median_us"} & set(e.get("peers", {}).get(p, {})) for e in entries)]
    bound = ["of its bound"] if any(entry.get("share") is not None for entry in entries) else []
    memory = ["of bandwidth"] if any(entry["group"] in ("moe", "sonic") for entry in entries) else []
    rows: list[list[str]] = []
    for entry in entries:
        name = entry["name"].split("/", 1)[1]
        if "median_us" not in entry:
            cells = [beside_no_time(entry.get("peers", {}).get(p, {})) for p in timed]
            said = entry.get("message") or "right, not timed"
            rows.append([name, said, "", *("" for _ in [*memory, *bound]), *cells, *("" for _ in other)])
            continue
        beside = entry["peers"]
        share = [f"{entry['share']:.0%}" if entry.get("share") is not None else "-" for _ in bound]
        cells = [interval(beside[p]) if "ratio" in beside.get(p, {}) else lacking(beside.get(p, {})) for p in timed]
        kernels = [peer["ratio"] for n, peer in beside.items() if n.startswith(FORCED) and "ratio" in peer]
        forced = [f"{min(kernels):.3f}, of {len(kernels)}" if kernels else "-" for _ in other]
        moved = [of_bandwidth(entry, ceilings) for _ in memory]
        rows.append([name, us(entry), rate(entry), *moved, *share, *cells, *forced])
    return markdown(["case", "flashfit us", "rate", *memory, *bound, *timed, *other], rows)


OVER_ITS_BOUND = re.compile(r"error (\S+) against fp64 is above (\S+)")


def first_sentence(message: str) -> str:
    """The first sentence of a message. Of an error above its bound the figures go, as they differ from case to case."""
    if OVER_ITS_BOUND.fullmatch(message):
        return "its error against fp64 is above the bound"
    return re.split(r"\.(?=[\s;]|$)", message, maxsplit=1)[0]


def remarks(entries: Sequence[Entry]) -> list[str]:
    """What peers said in place of a time, or beside it: each sentence once, with the peers and their cases."""
    asked: dict[str, set[str]] = {}
    said: dict[str, dict[str, list[str]]] = {}
    for entry in entries:
        case = entry["name"].split("/", 1)[1]
        for peer, found in entry.get("peers", {}).items():
            if peer.startswith(FORCED):
                continue
            asked.setdefault(peer, set()).add(case)
            if found.get("message"):
                cases = said.setdefault(first_sentence(found["message"]), {}).setdefault(peer, [])
                cases += [case] if case not in cases else []
    rows = []
    for sentence, by_peer in said.items():
        who: dict[str, list[str]] = {}  # peers by the cases in which they say it
        for peer, cases in by_peer.items():
            few = len(cases) <= 2 and len(cases) < len(asked[peer])
            which = "; ".join(cases) if few else f"{len(cases)} of {len(asked[peer])} cases"
            who.setdefault(which, []).append(peer)
        rows.append([sentence, "<br>".join(f"{', '.join(peers)}: {which}" for which, peers in who.items())])
    if not rows:
        return []
    said_once = "The first sentence of each message, once."
    return ["## What peers said", "", said_once, "", *markdown(["message", "peer and cases"], rows), ""]


def unevenness(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """What uneven lengths cost: of each pair, the rate of the batch of equal lengths over that of the uneven one."""
    costs = [
        f"{tflops(even) / tflops(uneven) - 1:+.1%}"
        for uneven, even in zip(entries[::2], entries[1::2], strict=False)
        if "median_us" in uneven and "median_us" in even
    ]
    return ["", f"Time a FLOP, uneven against equal: {', '.join(costs)}."] if costs else []


def outcome(entries: Sequence[Entry], peer: str) -> list[str]:
    """Where flashfit wins and loses beside a peer: by whole intervals above 1, below 1, and neither."""
    beside = {entry["name"].split("/", 1)[1]: entry.get("peers", {}).get(peer, {}) for entry in entries}
    raced = {name: x for name, x in beside.items() if "ratio" in x}
    if not raced:
        return []
    wins = [name for name, x in raced.items() if x["ratio_interval"][0] > 1]
    losses = [name for name, x in raced.items() if x["ratio_interval"][1] < 1]
    mean = statistics.geometric_mean(float(x["ratio"]) for x in raced.values())
    named = f" ({'; '.join(losses)})" if losses else ""
    even = len(raced) - len(wins) - len(losses)
    said = (
        f"Beside {peer}, of {len(raced)} cases: flashfit is faster in {len(wins)}, slower in {len(losses)}{named}, and "
        f"in {even} the interval holds 1. The geometric mean of the ratios is {mean:.3f}."
    )
    return ["", *wrapped(said)]


def stands_for(group: str, entries: Sequence[Entry]) -> str:
    """Whose need the group is, by the list of cases or NEEDS; of any other group by its first case."""
    listed = json.loads(CASES.read_text(encoding="utf-8"))["groups"]
    found = (str(one["stands_for"]) for one in listed if one["name"] == group)
    return next(found, NEEDS.get(group, str(entries[0]["stands_for"])))


def groups(files: Mapping[str, Result]) -> list[str]:
    """The groups that were measured, in the order of TITLES; those without a title come last."""
    there = dict.fromkeys(entry["group"] for result in files.values() for entry in result["cases"])
    return [group for group in TITLES if group in there] + [group for group in there if group not in TITLES]


def of_group(files: Mapping[str, Result], group: str) -> dict[str, tuple[Result, list[Entry]]]:
    """The files that have cases of the group, by name, and these cases: GPUs' before CPUs', the newest first."""
    cases = {name: [e for e in result["cases"] if e["group"] == group] for name, result in files.items()}
    newest = sorted((n for n, found in cases.items() if found), key=lambda n: str(files[n]["made"]["at"]), reverse=True)
    newest.sort(key=lambda n: files[n]["machine"]["gpu"] is None)
    return {name: (files[name], cases[name]) for name in newest}


def title(group: str) -> str:
    return TITLES.get(group, group.capitalize())


def group_page(files: Mapping[str, Result], group: str) -> str:
    """A group's page: a table for each file that has cases of it, and what peers said."""
    found = of_group(files, group)
    every = [entry for _, entries in found.values() for entry in entries]
    lines = [f"# Speed: {title(group)}", "", f"<!-- {group}: {COMMAND} writes this -->"]
    need = stands_for(group, every)
    lines += wrapped(f"{need[0].upper()}{need[1:]}. {len({e['name'] for e in every})} cases.")
    said = remarks(every)
    lines += ["", *wrapped(f"{COLUMNS} {DASH if said else ''} {MORE}"), ""]
    for name, (result, entries) in found.items():
        lines += [f"## {place(result)}, {name.removesuffix('.json')}", "", *wrapped(how(result)), ""]
        lines += [f"Made by `{result['made']['command']}`.", "", *group_table(entries, result.get("ceilings"))]
        lines += [*(unevenness(entries) if group == "uneven" else [])]
        lines += [*(outcome(entries, "sonic-moe") if group == "sonic" else []), ""]
    lines += said
    return "\n".join([*lines[:-1], f"<!-- end of {group} -->", ""])


#: How to read the tables of a group's page, said on each.
COLUMNS = (
    "A peer's column has its time over flashfit's in the same interleaved run, with the 95 % interval: above 1, "
    "flashfit is faster."
)
DASH = "A dash: no time, and the last table of this page says why where the peer said so."
MORE = "[How it is measured](README.md), and [what names of cases and peers mean](../README.md#glossary)."


def pages_table(files: Mapping[str, Result]) -> str:
    """The index of docs/speed: the groups' pages, and what each has."""
    rows = []
    for group in groups(files):
        found = of_group(files, group)
        every = [entry for _, entries in found.values() for entry in entries]
        where = dict.fromkeys(place(result) for result, _ in found.values())
        peers = {peer for entry in every for peer, x in entry.get("peers", {}).items() if "ratio" in x}
        beside = len({peer for peer in peers if not peer.startswith(FORCED)})
        names = len({entry["name"] for entry in every})
        link = f"[{title(group)}]({group}.md)"
        rows.append([link, stands_for(group, every), str(names), str(beside), ", ".join(where)])
    return "\n".join(markdown(["page", "stands for", "cases", "peers", "measured on"], rows)) + "\n"


#: The summary's columns: the peers of each, of which a case has one at most.
SUMMED = {
    "PyTorch's flash attention": ("sdpa-flash", "torch-varlen"),
    "cuDNN": ("sdpa-cudnn",),
    "FlashAttention-3": ("flash-attn-3",),
}


def is_raced(peer: Mapping[str, Any]) -> bool:
    """Whether a ratio says which kernel is faster: one of plain launches, where a graph could not be captured, may say
    which host is."""
    return "ratio" in peer and not str(peer.get("message")).startswith("timed by plain launches")


def summary_table(files: Mapping[str, Result]) -> str:
    """Attention by groups, each by its newest file of a GPU: how a peer's ratios lie."""
    rows = []
    for group in groups(files):
        result, entries = next(iter(of_group(files, group).values()))
        if group in NEEDS or not result["machine"]["gpu"]:
            continue
        cells = []
        for peers in SUMMED.values():
            beside = [entry.get("peers", {}).get(peer, {}) for entry in entries for peer in peers]
            ratios = [float(peer["ratio"]) for peer in beside if is_raced(peer)]
            lies = (
                f"{min(ratios):.3f} to {max(ratios):.3f}" if len(ratios) > 1 else f"{ratios[0]:.3f}" if ratios else "-"
            )
            cells.append(f"{lies} ({statistics.geometric_mean(ratios):.3f} of {len(ratios)})" if ratios[1:] else lies)
        rows.append([f"[{title(group)}]({group}.md)", place(result), str(len(entries)), *cells])
    return "\n".join(markdown(["group", "GPU", "cases", *SUMMED], rows)) + "\n"


def best_peer(entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The fastest other that is right."""
    beside = {n: peer for n, peer in entry["peers"].items() if is_raced(peer) and not n.startswith(FORCED)}
    return min(beside.items(), key=lambda item: float(item[1]["ratio"])) if beside else None


def newest(files: Mapping[str, Result], names: Sequence[str]) -> Iterator[tuple[Result, Entry]]:
    """The cases of these names in their order, each of its newest file of a GPU."""
    for name in names:
        found = [
            (result, entry)
            for result in files.values()
            for entry in result["cases"]
            if result["machine"]["gpu"] and entry["name"] == name and "median_us" in entry
        ]
        if found:
            yield max(found, key=lambda pair: pair[0]["made"]["at"])


def machines(chosen: Sequence[tuple[Result, Entry]]) -> str:
    """Where these cases were measured: "an NVIDIA H100 and an NVIDIA H200"."""
    return " and ".join(f"an {each}" for each in dict.fromkeys(place(result) for result, _ in chosen))


def speed_table(files: Mapping[str, Result]) -> str:
    """README's: flashfit, and beside it, in one interleaved run, PyTorch's flash attention and the fastest other."""
    chosen = list(newest(files, HEADLINES))
    lines = [f"Measured on {machines(chosen)}:" if chosen else "", ""]
    rows = []
    for _, entry in chosen:
        beside = entry["peers"]
        torch = next((beside[p] for p in ("sdpa-flash", "torch-varlen") if is_raced(beside.get(p, {}))), None)
        best = best_peer(entry)
        if best is None or sum(map(is_raced, beside.values())) == 1:
            fastest = "not run beside it"
        else:
            fastest = f"{'PyTorch' if best[1] is torch else best[0]} {interval(best[1])}"
        rows.append([entry["name"].split("/", 1)[1], us(entry), interval(torch) if torch else "-", fastest])
    return (
        "\n".join([*lines, *markdown(["case", "flashfit, us", "PyTorch over it", "fastest other, over it"], rows)])
        + "\n"
    )


def kernel_table(files: Mapping[str, Result], names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """A kernel's page: some cases with their times, rates and shares, and the ratio of one of each column's peers."""
    chosen = list(newest(files, names))
    rows = []
    for _, entry in chosen:
        share = f"{entry['share']:.0%}" if entry.get("share") is not None else "-"
        cells = []
        for peers in columns.values():
            raced = [peer for name in peers if is_raced(peer := entry["peers"].get(name, {}))]
            cells.append(f"{raced[0]['ratio']:.3f}" if raced else "-")
        rows.append([entry["name"].split("/", 1)[1], us(entry), rate(entry), share, *cells])
    lines = [f"On {machines(chosen)}:" if chosen else "", ""]
    return "\n".join([*lines, *markdown(["case", "flashfit, us", "rate", "of its bound", *columns], rows)]) + "\n"


def hopper_table(files: Mapping[str, Result]) -> str:
    return kernel_table(files, HOPPER, SUMMED)


def experts_table(files: Mapping[str, Result]) -> str:
    return kernel_table(files, EXPERTS, {"PyTorch's grouped GEMMs": ("torch-grouped",)})


def micro(samples: Sequence[float]) -> str:
    """The median of seconds in microseconds."""
    return f"{statistics.median(samples) * 1e6:.4g}"


def cost_table(_: Mapping[str, Result]) -> str:
    """What a call keeps the host, beside PyTorch's own calls in the same run."""
    cpu = load("call_cost_cpu.json")
    on_gpus = (load(f"call_cost_{gpu}.json") for gpu in ("h100", "h200"))
    runs = {f"{run['device']}, torch {run['torch']}": run["seconds"] for run in on_gpus}
    runs[f"CPU without the work, torch {cpu['torch']}"] = cpu["seconds"]
    lines = [
        "Microseconds that a call keeps the host, median of interleaved rounds, and its ratio to SDPA's call in that",
        'run with its 95 % interval. "binding" reads four tensors and calls a C function that only looks at them.',
        "`bench/call_cost.py` measures anew.",
        "",
        "| call | " + " | ".join(f"{name} | of SDPA's" for name in runs) + " |",
        "| --- |" + " --- | --- |" * len(runs),
    ]
    for call in cpu["seconds"]:
        cells = [
            f"{micro(run[call])} | {stats.ratio(run[call], run['torch SDPA'])}" if call in run else "- | -"
            for run in runs.values()
        ]
        lines.append(f"| `{call}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def model() -> dict[str, Any]:
    """What this build's plan models for every GPU of its table."""
    import flashfit
    from flashfit.bench.machine import revision

    answers = {case: flashfit.explain("all", **problem) for case, problem in MODELLED.items()}
    gpus: dict[str, Any] = {}
    for case, of_all in answers.items():
        for answer in of_all:
            unknown = {"compute_capability": answer["compute_capability"], "calibrated": None, "cases": {}}
            gpu = gpus.setdefault(answer["gpu"], unknown)
            if answer["fits"]:
                gpu["calibrated"] = answer["calibrated"]
            keys = ("variant", "modelled_us", "bound", "reason")
            gpu["cases"][case] = {key: answer[key] for key in keys} if answer["fits"] else None
    return {"flashfit": flashfit.__version__, "revision": revision(), "gpus": gpus}


def is_of(gpu: str, name: str) -> bool:
    """Whether a GPU of the plan's table is the one of a driver's name: "H100" and "NVIDIA H100 80GB HBM3"."""
    bare = re.sub(r"^nvidia |geforce ", "", name.lower())
    return gpu.lower() in (bare, re.sub(r"[ -](sxm\d?|pcie|nvl|\d+gb|hbm\d\w?)\b.*", "", bare))


def modelled_table(files: Mapping[str, Result]) -> str:
    """Every GPU: whether the kernels have run on it, and what the plan models."""
    ran = [result["machine"]["gpu"]["name"] for result in files.values() if result["machine"]["gpu"]]
    content = load("modelled.json")
    rows = []
    for gpu, facts in content["gpus"].items():
        here = "have run" if any(is_of(gpu, name) for name in ran) else "**never run**"
        guess = "" if facts.get("calibrated") else "~"
        cells = [f"{guess}{c['modelled_us']:.4g}" if c else "does not fit" for c in facts["cases"].values()]
        rows.append([gpu, facts["compute_capability"], here, *cells])
    calibrated = sorted({facts["compute_capability"] for facts in content["gpus"].values() if facts.get("calibrated")})
    said = (
        "Microseconds, of `bench/results/modelled.json`. The model was fitted to measured times on GPUs of compute "
        f"capability {', '.join(calibrated)} alone; `~` marks a time of any other GPU, which nobody has held against a "
        "measurement: it is a guess."
    )
    return "\n".join([*wrapped(said), "", *markdown(["GPU", "compute capability", "kernels", *MODELLED], rows)]) + "\n"


#: In pages that are written by hand: by file and the name in its marks.
TABLES: dict[str, dict[str, Callable[[Mapping[str, Result]], str]]] = {
    "README.md": {"speed": speed_table},
    "docs/hopper-kernel.md": {"hopper": hopper_table},
    "docs/moe-kernels.md": {"experts": experts_table},
    f"{SPEED}/README.md": {"pages": pages_table, "summary": summary_table, "call cost": cost_table},
    f"{SPEED}/modelled.md": {"modelled": modelled_table},
}


def written(page: str, name: str, text: str) -> str:
    """The page with this text between the marks of a table."""
    begin, end = f"<!-- {name}: {COMMAND} writes this -->\n", f"<!-- end of {name} -->\n"
    head, rest = page.split(begin)
    return head + begin + text + end + rest.split(end)[1]


def pages(files: Mapping[str, Result]) -> dict[Path, tuple[str, str]]:
    """Each page as it is and as its files have it. A page that is not there, or should not be, is empty."""
    found = {}
    for name, tables in TABLES.items():
        path = ROOT / name
        new = now = path.read_text(encoding="utf-8")
        for table, make in tables.items():
            new = written(new, table, make(files))
        found[path] = now, new
    whole = {ROOT / SPEED / f"{group}.md": group_page(files, group) for group in groups(files)}
    for path in sorted({*whole, *(ROOT / SPEED).glob("*.md")} - {*found}):
        found[path] = path.read_text(encoding="utf-8") if path.is_file() else "", whole.get(path, "")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a page is not that of its files")
    parser.add_argument("--model", action="store_true", help="first ask this build's plan anew")
    options = parser.parse_args()
    if options.model:
        (RESULTS / "modelled.json").write_text(json.dumps(model(), indent=1) + "\n", encoding="utf-8")
    stale = {path: new for path, (now, new) in pages(result_files()).items() if now != new}
    for path, new in stale.items():
        if options.check:
            print(f"{path.relative_to(ROOT)}: is not what bench/results says; run {COMMAND}")
        elif new:
            path.write_text(new, encoding="utf-8")
        else:
            path.unlink()
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
