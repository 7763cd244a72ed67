"""What a trace says: as JSON, as a table and as a page."""

from __future__ import annotations

import html
from functools import partial
from typing import Any

from .._errors import FlashfitError
from .._reports import explain
from .calls import Call, Shape

#: A mask or a window makes flashfit run a general variant; the plan is asked of the call without it.
_SLOWER = ("mask", "window_size")
_SHOWN = 25  # groups in a terminal

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Attention of {script}</title>
<style>body{{font:15px/1.4 sans-serif;margin:2em;max-width:100em}}table{{border-collapse:collapse}}
td,th{{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}}code{{font-size:13px}}</style>
"""


def _planned(gpu: str | None, shape: Shape, rows: int, keys: int) -> list[dict[str, Any]]:
    return list(
        explain(
            gpu,
            head_dim=shape.head_dim,
            seqlen_q=rows,
            seqlen_k=keys,
            heads_q=shape.heads_q,
            heads_kv=shape.heads_kv,
            dtype="bf16" if shape.dtype == "fp32" else shape.dtype,
            batch=shape.batch,
            causal=shape.causal,
            head_dim_v=shape.head_dim_v,
        )
    )


def on_gpu(call: Call, gpu: str | None) -> list[dict[str, Any]]:
    """What flashfit would run for such calls on a GPU, by name, or on this machine's GPUs where it is None: for the
    largest of them, and how long all of them would take by the plan's model. Of fp32 it says what bf16 would run."""
    shape = call.shape
    if shape.dtype not in ("fp16", "bf16", "fp32"):
        return [{"gpu": gpu, "fits": False, "reason": f"dtype is {shape.dtype}; accepted: fp16, bf16"}]
    if 0 in (shape.seqlen_q, shape.seqlen_k, shape.heads_q, shape.heads_kv, shape.head_dim, shape.batch):
        return [{"gpu": gpu, "fits": False, "reason": "a size that was not known, or is 0"}]
    try:
        found = _planned(gpu, shape, shape.seqlen_q, shape.seqlen_k)
        others = [(count, _planned(gpu, shape, *size)) for size, count in call.sizes.items()]
    except FlashfitError as error:
        return [{"gpu": gpu, "fits": False, "reason": str(error)}]
    keys = ("gpu", "fits", "variant", "modelled_us", "calibrated", "reason")
    results = [
        {"dtype": "bf16" if shape.dtype == "fp32" else shape.dtype, **{k: each[k] for k in keys}} for each in found
    ]
    for index, each in enumerate(results):
        each["modelled_us_of_all"] = sum(count * (plan[index]["modelled_us"] or 0.0) for count, plan in others)
        each["without"] = [option for option in shape.options if any(word in option for word in _SLOWER)]
    return results


def document(script: str, seconds: float, span: float, calls: list[Call], gpus: list[str | None]) -> dict[str, Any]:
    """The trace as JSON: seconds of the program, from its first call of attention to its last, and of its attention,
    of which flashfit takes some; and a list of calls that are alike."""
    inside = sum(call.seconds for call in calls)
    taken = sum(call.seconds for call in calls if not call.left)
    return {
        "script": script,
        "seconds": seconds,
        "span_seconds": span,
        "attention_seconds": inside,
        "attention_share": inside / span if span else 0.0,
        "taken_seconds": taken,
        "taken_share": taken / span if span else 0.0,
        "calls": [
            {
                "function": call.function,
                "where": call.where,
                "from_script": call.from_script,
                **vars(call.shape),
                "options": list(call.shape.options),
                "sizes": [[*size, count] for size, count in sorted(call.sizes.items())],
                "compiled": call.compiled,
                "count": call.count,
                "seconds": call.seconds,
                "share": call.seconds / span if span else 0.0,
                "ran": sorted(call.ran),
                "flashfit": {"takes": not call.left, "reason": call.left},
                "on": [each for gpu in gpus for each in on_gpu(call, gpu)],
            }
            for call in calls
        ],
    }


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low}..{high}"


def _of_call(call: dict[str, Any]) -> str:
    heads = f"{call['heads_q']}" if call["heads_q"] == call["heads_kv"] else f"{call['heads_q']}/{call['heads_kv']}"
    rows, keys = ([size[i] for size in call["sizes"]] for i in range(2))
    size = f"{call['batch']} x {_range(rows)}" + (f" x {_range(keys)}" if keys != rows else "")
    more = [*(["causal"] if call["causal"] else []), *call["options"]]
    return ", ".join([f"{size}, {heads} heads of {call['head_dim']}", f"{call['dtype']} on {call['device']}", *more])


def _on(call: dict[str, Any]) -> list[str]:
    lines = []
    for each in call["on"]:
        name = each["gpu"] or "this machine"
        if not each["fits"]:
            lines.append(f"on {name}: does not fit: {each['reason']}")
            continue
        about = "" if each["calibrated"] else "~"
        dtype = f" in {each['dtype']}" if each["dtype"] != call["dtype"] else ""
        without = (
            f", if it had no {each['without'][0]}: with one a general variant runs, slower" if each["without"] else ""
        )
        largest = f"{about}{each['modelled_us']:.3g} us"
        all_of_them = (
            f", all {call['count']} {about}{each['modelled_us_of_all'] / 1000:.3g} ms" if call["count"] > 1 else ""
        )
        size = " the largest" if len(call["sizes"]) > 1 else ""
        lines.append(f"on {name}{dtype}: {each['variant']},{size} {largest}{all_of_them} by the plan's model{without}")
    return lines


def _time(call: dict[str, Any]) -> str:
    if not call["seconds"]:
        return "not timed"
    return f"{1000 * call['seconds']:.2f} ms, {100 * call['share']:.1f} %"


def _verdict(call: dict[str, Any]) -> str:
    reason = call["flashfit"]["reason"]
    return f"flashfit would leave it: {reason}" if reason else "flashfit takes it"


def _totals(found: dict[str, Any]) -> list[str]:
    """What is at stake, in lines."""
    if not found["calls"]:
        return [
            f"{found['script']}: {found['seconds']:.3f} s; no call of attention was seen",
            "Calls that flashfit takes already are not seen, nor is attention that a model computes by products of its "
            'own, as Transformers does where attn_implementation is "eager": flashfit cannot take that.',
        ]
    share, taken = 100 * found["attention_share"], found["taken_share"]
    lines = [
        f"{found['script']}: {found['seconds']:.3f} s; from the first call of attention to the last "
        f"{found['span_seconds']:.3f} s, of which attention {found['attention_seconds']:.3f} s, {share:.1f} %",
    ]
    if taken < 1:
        lines.append(
            f"at stake: {100 * taken:.1f} %, the calls that flashfit takes; if they took no time at all, that stretch "
            f"would be {1 / (1 - taken):.2f} times as fast"
        )
    lines += [line for line in map(partial(_at_best, found), _gpus(found)) if line]
    if any("gradients" in call["options"] for call in found["calls"]):
        lines.append("Calls with gradients: the time is that of the forward alone.")
    return lines


def _gpus(found: dict[str, Any]) -> list[str | None]:
    return list(dict.fromkeys(each["gpu"] for call in found["calls"] for each in call["on"]))


def _at_best(found: dict[str, Any], gpu: str | None) -> str:
    """How long flashfit would take on a GPU for all calls that it takes and that fit there."""
    fit = [(c, e) for c in found["calls"] if c["flashfit"]["takes"] for e in c["on"] if e["gpu"] == gpu and e["fits"]]
    if not fit:
        return ""
    total = sum(each["modelled_us_of_all"] for _, each in fit) / 1000
    number = sum(call["count"] for call, _ in fit)
    return f"on {gpu or 'this machine'}: {number} calls in {total:.3g} ms of GPU time by the plan's model"


def text(found: dict[str, Any]) -> str:
    """Lines for a terminal."""
    lines = _totals(found)
    for call in found["calls"][:_SHOWN]:
        times = "in compiled code" if call["compiled"] else f"{call['count']} times" if call["count"] > 1 else "once"
        lines += ["", f"{call['function']}, {times}, {_time(call)}: {_of_call(call)}", f"  at {call['where']}"]
        if call["from_script"] not in ("", call["where"]):
            lines.append(f"  from {call['from_script']}")
        lines += [f"  ran by {', '.join(call['ran'])}; {_verdict(call)}", *(f"  {line}" for line in _on(call))]
    if len(found["calls"]) > _SHOWN:
        lines += ["", f"and {len(found['calls']) - _SHOWN} others, which took less: --json and --html have all"]
    return "\n".join(lines) + "\n"


def page(found: dict[str, Any]) -> str:
    """A page of HTML that needs nothing beside it."""
    rows = []
    for call in found["calls"]:
        places = dict.fromkeys(place for place in (call["where"], call["from_script"]) if place)
        cells = (
            f"<code>{html.escape(call['function'])}</code>",
            html.escape(_of_call(call)),
            "in compiled code" if call["compiled"] else str(call["count"]),
            html.escape(_time(call)),
            html.escape(", ".join(call["ran"])),
            "<br>".join(html.escape(line) for line in [_verdict(call), *_on(call)]),
            "<br>".join(f"<code>{html.escape(place)}</code>" for place in places),
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    titles = ("Function", "Call", "Times", "Time", "Ran by", "flashfit", "Where")
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "\n".join(rows)
    title = _HEAD.format(script=html.escape(found["script"]))
    about = "<h1>Attention</h1>\n" + "".join(f"<p>{html.escape(line)}</p>\n" for line in _totals(found))
    return f"{title}{about}<table><tr>{head}</tr>\n{body}\n</table>\n</html>\n"
