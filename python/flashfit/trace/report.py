"""What a trace says: as JSON, as a table and as a page."""

from __future__ import annotations

import html
from typing import Any

from .._errors import FlashfitError
from .._reports import explain
from .calls import Call, Shape

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Attention of {script}</title>
<style>body{{font:15px/1.4 sans-serif;margin:2em;max-width:80em}}table{{border-collapse:collapse}}
td,th{{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}}code{{font-size:13px}}</style>
"""


def on_gpu(shape: Shape, gpu: str | None) -> list[dict[str, Any]]:
    """What flashfit would run for such a call on a GPU, by name, or on this machine's GPUs where it is None."""
    if shape.dtype not in ("fp16", "bf16"):
        return [{"gpu": gpu, "fits": False, "reason": f"dtype is {shape.dtype}; accepted: fp16, bf16"}]
    if 0 in (shape.seqlen_q, shape.seqlen_k, shape.heads_q, shape.heads_kv, shape.head_dim, shape.batch):
        return [{"gpu": gpu, "fits": False, "reason": "a size that was not known, or is 0"}]
    try:
        found = explain(
            gpu,
            head_dim=shape.head_dim,
            seqlen_q=shape.seqlen_q,
            seqlen_k=shape.seqlen_k,
            heads_q=shape.heads_q,
            heads_kv=shape.heads_kv,
            dtype=shape.dtype,
            batch=shape.batch,
            causal=shape.causal,
        )
    except FlashfitError as error:
        return [{"gpu": gpu, "fits": False, "reason": str(error)}]
    keys = ("gpu", "fits", "variant", "modelled_us", "calibrated", "reason")
    return [{key: each[key] for key in keys} for each in found]


def document(script: str, seconds: float, calls: list[Call], gpus: list[str | None]) -> dict[str, Any]:
    """The trace as JSON: seconds of the program and of its attention, and a list of calls that are alike."""
    inside = sum(call.seconds for call in calls)
    return {
        "script": script,
        "seconds": seconds,
        "attention_seconds": inside,
        "attention_share": inside / seconds if seconds else 0.0,
        "calls": [
            {
                "function": call.function,
                "where": call.where,
                "from_script": call.from_script,
                **vars(call.shape),
                "options": list(call.shape.options),
                "compiled": call.compiled,
                "count": call.count,
                "seconds": call.seconds,
                "ran": sorted(call.ran),
                "flashfit": {"takes": not call.left, "reason": call.left},
                "on": [each for gpu in gpus for each in on_gpu(call.shape, gpu)],
            }
            for call in calls
        ],
    }


def _of_call(call: dict[str, Any]) -> str:
    heads = f"{call['heads_q']}" if call["heads_q"] == call["heads_kv"] else f"{call['heads_q']}/{call['heads_kv']}"
    size = f"{call['batch']} x {call['seqlen_q']}"
    if call["seqlen_k"] != call["seqlen_q"]:
        size += f" x {call['seqlen_k']}"
    more = [*(["causal"] if call["causal"] else []), *call["options"]]
    return ", ".join([f"{size}, {heads} heads of {call['head_dim']}", f"{call['dtype']} on {call['device']}", *more])


def _on(call: dict[str, Any]) -> list[str]:
    lines = []
    for each in call["on"]:
        name = each["gpu"] or "this machine"
        if each["fits"]:
            about = "" if each["calibrated"] else "~"
            lines.append(f"on {name}: {each['variant']}, {about}{each['modelled_us']} us by the plan's model")
        else:
            lines.append(f"on {name}: does not fit: {each['reason']}")
    return lines


def _verdict(call: dict[str, Any]) -> str:
    reason = call["flashfit"]["reason"]
    return f"flashfit would leave it: {reason}" if reason else "flashfit takes it"


def _totals(found: dict[str, Any]) -> str:
    return (
        f"{found['script']}: {found['seconds']:.3f} s, of which attention {found['attention_seconds']:.3f} s, "
        f"{100 * found['attention_share']:.1f} %"
    )


def text(found: dict[str, Any]) -> str:
    """Lines for a terminal."""
    lines = [_totals(found)]
    for call in found["calls"]:
        time = "compiled, not timed" if call["compiled"] else f"{1000 * call['seconds']:.2f} ms"
        lines += ["", f"{call['function']}, {call['count']} times, {time}: {_of_call(call)}", f"  at {call['where']}"]
        if call["from_script"] not in ("", call["where"]):
            lines.append(f"  from {call['from_script']}")
        lines += [f"  ran by {', '.join(call['ran'])}; {_verdict(call)}", *(f"  {line}" for line in _on(call))]
    if not found["calls"]:
        lines.append("no call of attention was seen")
    return "\n".join(lines) + "\n"


def page(found: dict[str, Any]) -> str:
    """A page of HTML that needs nothing beside it."""
    rows = []
    for call in found["calls"]:
        time = "compiled" if call["compiled"] else f"{1000 * call['seconds']:.2f} ms"
        places = dict.fromkeys(place for place in (call["where"], call["from_script"]) if place)
        cells = (
            f"<code>{html.escape(call['function'])}</code>",
            html.escape(_of_call(call)),
            str(call["count"]),
            time,
            html.escape(", ".join(call["ran"])),
            "<br>".join(html.escape(line) for line in [_verdict(call), *_on(call)]),
            "<br>".join(f"<code>{html.escape(place)}</code>" for place in places),
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    titles = ("Function", "Call", "Times", "Time", "Ran by", "flashfit", "Where")
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "\n".join(rows)
    title = _HEAD.format(script=html.escape(found["script"]))
    about = f"<h1>Attention</h1>\n<p>{html.escape(_totals(found))}</p>\n"
    return f"{title}{about}<table><tr>{head}</tr>\n{body}\n</table>\n</html>\n"
