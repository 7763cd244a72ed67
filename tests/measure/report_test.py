"""The page of `flashfit report`: what is in it, and what a real browser makes of it.

The command is build/bin/flashfit, or what FLASHFIT_COMMAND names.
"""

from __future__ import annotations

import copy
import html.parser
import json
import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.measure import browser, made_results

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit")))
Json = dict[str, Any]


def flashfit(*words: str | Path) -> tuple[int, str, str]:
    ran = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def write(folder: Path, name: str, run: Json) -> Path:
    path = folder / name
    path.write_text(json.dumps(run))
    return path


class Page(html.parser.HTMLParser):
    """The page's numbers in <data>, its text outside of them and of scripts, and its JSON."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.path: list[str] = []
        self.figures: list[tuple[str, str]] = []
        self.rest: list[str] = []
        self.embedded = ""
        self.tags: set[str] = set()
        self.links: list[str] = []
        self._place = ""
        self.feed(text)
        self.json: Json = json.loads(self.embedded)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag == "data":
            self._place = named["value"] or ""
        if tag not in self.VOID:
            self.path.append("json" if named.get("id") == "data" else tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop() in (tag, "json"), f"</{tag}> closes something else"

    def handle_data(self, text: str) -> None:
        inside = self.path[-1] if self.path else ""
        if inside == "json":
            self.embedded += text
        elif inside == "data":
            self.figures.append((self._place, text))
        elif inside not in ("script", "style"):
            self.rest.append(text)


def at(document: Any, place: str) -> Any:
    for step in place.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        document = document[int(key) if isinstance(document, list) else key]
    return document


def shows(text: str, value: float) -> bool:
    """Whether the text is the value, rounded to the digits that it has."""
    if text.endswith(" %"):
        return shows(text[:-2], 100 * value)
    digits, _, exponent = text.partition("e")
    places = len(digits.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - places)
    return math.isclose(float(text), value, rel_tol=1e-9, abs_tol=0.5000001 * unit)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with gpu.html, cpu.html and both.html."""
    folder = tmp_path_factory.mktemp("report")
    gpu, cpu = write(folder, "gpu.json", made_results.gpu_run()), write(folder, "cpu.json", made_results.cpu_run())
    for files, name, price in (([gpu], "gpu", ["3.59"]), ([cpu], "cpu", []), ([gpu, cpu], "both", ["3.59", "0.60"])):
        prices = [word for p in price for word in ("--price", p)]
        assert flashfit("report", *files, "-o", folder / f"{name}.html", *prices) == (0, "", "")
    return folder


@pytest.fixture(scope="module", params=["gpu", "cpu", "both"])
def page(request: pytest.FixtureRequest, made: Path) -> Page:
    return Page((made / f"{request.param}.html").read_text())


def test_every_number_is_its_place_in_the_json(page: Page) -> None:
    assert len(page.figures) > 20
    wrong = [(place, text) for place, text in page.figures if not shows(text, at(page.json, place))]
    assert wrong == []


@pytest.mark.parametrize("price", ["0.004", "3.59", "1234.5"])
def test_times_and_prices_keep_four_digits_of_any_size(price: str, tmp_path: Path) -> None:
    file = write(tmp_path, "gpu.json", made_results.gpu_run())
    assert flashfit("report", file, "-o", tmp_path / "page.html", "--price", price)[0] == 0
    page = Page((tmp_path / "page.html").read_text())
    keys = ("median_us", "interval_us", "us", "dollars_per_million", "dollars_per_hour")
    shown = [(place, text) for place, text in page.figures if set(keys) & set(place.split("/"))]
    assert {key for key in keys if any(key in place for place, _ in shown)} == set(keys)
    assert [each for each in shown if float(each[1]) != pytest.approx(at(page.json, each[0]), rel=5e-4)] == []


def test_no_number_stands_beside_the_json(page: Page) -> None:
    """Outside of <data> there are digits only in what the files themselves say in words, and in fixed sentences."""
    words = " ".join(page.rest)

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield str(key)
                yield from texts(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from texts(inner)
        elif isinstance(value, str):
            yield value

    known = sorted(set(texts(page.json)) - {""}, key=len, reverse=True)
    words = words.replace("95 %", "").replace("above 1", "").replace("fp64", "")
    for text in known:
        words = words.replace(text, " ")
    assert re.findall(r"\S*\d\S*", words) == []


def test_the_json_is_the_result_without_raw_samples(made: Path) -> None:
    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k not in ("samples", "samples_us")}
        return [without(v) for v in value] if isinstance(value, list) else value

    embedded = Page((made / "both.html").read_text()).json
    assert embedded["runs"][0]["result"] == without(made_results.gpu_run())
    assert embedded["runs"][1]["result"] == without(made_results.cpu_run())


def test_what_follows_from_the_result_is_right(made: Path) -> None:
    run = Page((made / "gpu.html").read_text()).json["runs"][0]
    case, figures = run["result"]["cases"][3], run["cases"][3]
    assert figures["tflops"] == pytest.approx(case["work"]["flop"] / case["median_us"] / 1e6)
    assert figures["dollars_per_million"] == pytest.approx(3.59 * case["median_us"] / 3600)
    assert figures["flop_per_byte"] == pytest.approx(case["work"]["flop"] / case["work"]["bytes"])
    for peer in ("sdpa-flash", "flash-attn-3"):
        parts = [c["peers"][peer] for c in run["result"]["cases"] if "ratio" in c.get("peers", {}).get(peer, {})]
        (summary,) = [p for p in run["peers"] if p["name"] == peer]
        mean = math.exp(sum(math.log(p["ratio"]) for p in parts) / len(parts))
        assert summary["measured"] == len(parts)
        assert summary["geometric_mean"] == pytest.approx(mean)
        # The noise of the made run is far below the margin: verdicts are those of the intervals.
        assert summary["faster"] == sum(p["ratio_interval"][0] > 1.03 for p in parts)
        assert summary["slower"] == sum(p["ratio_interval"][1] < 1 / 1.03 for p in parts)
        assert sum(summary[k] for k in ("faster", "slower", "same", "can't tell")) == len(parts)


def test_speed_charts_take_the_case_of_a_length_that_has_most_work(made: Path) -> None:
    run = Page((made / "gpu.html").read_text()).json["runs"][0]
    labels = [s["label"] for s in run["speed"]]
    assert "grid: bf16, causal" in labels
    assert "grid: bf16, causal, 4 heads a KV head" in labels
    assert "decode: bf16, full, 4 heads a KV head, 1 new token" in labels
    assert not any(label.startswith("origin") for label in labels), "one length makes no line"
    (full,) = [s for s in run["speed"] if s["label"] == "grid: bf16, full"]
    assert [p["head_dim"] for p in full["panels"]] == [32, 64, 128]
    ours, *others = full["panels"][0]["series"]
    assert [p["x"] for p in ours["points"]] == [512, 1024, 2048, 4096, 8192, 16384]
    assert ours["name"] == "flashfit"
    assert "flash-attn-3" not in [s["name"] for s in others]
    for point in ours["points"]:
        assert point["us"] == run["result"]["cases"][point["case"]]["median_us"]
        assert point["tflops_interval"][0] <= point["tflops"] <= point["tflops_interval"][1]


def test_no_case_stands_above_its_roofs(made: Path) -> None:
    roofline = Page((made / "gpu.html").read_text()).json["runs"][0]["roofline"]
    roofs = {roof["name"]: roof["points"] for roof in roofline["roofs"]}
    cases = made_results.gpu_run()["cases"]
    slope = roofs["memory"][0]["y"] / roofs["memory"][0]["x"]
    assert slope == pytest.approx(made_results.MEMORY_GB_PER_S / 1e3)
    assert roofs["exp, head dim 32"][0]["y"] == pytest.approx(made_results.EXP_G_PER_S * 4 * 32 / 1e3)
    for point in roofline["points"]:
        problem = cases[point["case"]]["problem"]
        names = (f"tensor cores, {problem['dtype']}", f"exp, head dim {problem['head_dim']}")
        assert point["y"] <= min(point["x"] * slope, *(roofs[name][0]["y"] for name in names))


def test_two_dozen_names_look_different() -> None:
    css, script = ((ROOT / "src/measure/page" / name).read_text() for name in ("page.css", "page.js"))
    for theme in css.split("prefers-color-scheme: dark"):
        colours = re.findall(r"--series-(\d+): (#[0-9a-f]{6})", theme)
        assert [int(index) for index, _ in colours] == list(range(12))
        assert len({colour for _, colour in colours}) == 12
    (marks,) = re.findall(r"const marks = \[(.*)\]", script)
    looks = re.search(r'"series-" \+ \(index % (\d+)\)\), mark: marks\[index % (\d+)\]', script)
    assert looks is not None
    colours_in_turn, marks_in_turn = map(int, looks.groups())
    assert marks_in_turn == len(marks.split(","))
    assert math.lcm(colours_in_turn, marks_in_turn) >= 24


def test_costs_stand_beside_times(made: Path) -> None:
    page = (made / "gpu.html").read_text()
    assert "<th>µs a call</th><th>$ a million calls</th><th>TFLOP/s</th>" in page


def test_the_page_names_what_is_wrong_and_what_was_declined(made: Path) -> None:
    text = (made / "gpu.html").read_text()
    assert "<script>alert" not in text
    words = " ".join(Page(text).rest)
    assert "above 0.0081 </script><script>alert(1)</script>" in words
    assert "head_dim 32: FlashAttention-3 has 64, 96, 128, 192 and 256 <alone>" in words
    assert "This run measured no ceilings" in " ".join(Page((made / "cpu.html").read_text()).rest)
    assert "This run was interrupted" in " ".join(Page((made / "cpu.html").read_text()).rest)


def test_what_was_counted_stands_beside_the_model(made: Path) -> None:
    page = Page((made / "gpu.html").read_text())
    run = page.json["runs"][0]
    case, figures = run["result"]["cases"][2], run["cases"][2]["profile"]
    assert figures["us"] == pytest.approx(case["median_us"], rel=1e-3), "ncu counts nanoseconds"
    for unit in ("tensor", "exp", "memory"):
        assert figures[unit] == pytest.approx(case["bound_us"][unit] / case["median_us"])
    shown = [text for place, text in page.figures if place.startswith("/runs/0/result/cases/2/profile/ncu/")]
    # Tensor pipe, no count of the exp unit and of issuing, memory; the three worst waits; bank conflicts.
    assert shown == ["61.50", "4.250", "2.500", "1.250", "0.5000", "1234"]
    words = " ".join(page.rest).partition("bank conflicts")[2]
    assert words.index("math pipe throttle") < words.index("wait ") < words.index("barrier")
    assert "ncu counted nothing of the kernel" in words
    assert "profile" not in run["cases"][3]
    assert "Counted by Nsight Compute" not in " ".join(Page((made / "cpu.html").read_text()).rest)


def test_a_machine_is_named_once_and_columns_are_of_runs_that_share_a_case(tmp_path: Path) -> None:
    gpu, other = made_results.gpu_run(), made_results.gpu_run()
    other["cases"] = [{**other["cases"][0], "name": "alone"}]
    files = [write(tmp_path, f"{name}.json", run) for name, run in (("a", gpu), ("b", other), ("c", gpu))]
    assert flashfit("report", *files, "-o", tmp_path / "page.html") == (0, "", "")
    html_text = (tmp_path / "page.html").read_text()
    assert re.findall(r"<h1>(.*?)</h1>", html_text) == [f"flashfit on {gpu['machine']['gpu']['name']}"]
    (table,) = re.findall(r'id="side-by-side".*?</table>', html_text, re.DOTALL)
    assert re.findall(r"<th>([^<]+)<br>µs", table) == ["a.json", "c.json"]


def test_the_page_asks_for_nothing(page: Page) -> None:
    assert page.tags.isdisjoint({"link", "img", "iframe", "object", "embed", "base"})
    assert all(link.startswith("#") for link in page.links)


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    good = write(tmp_path, "good.json", made_results.cpu_run())
    page = tmp_path / "page.html"
    broken = copy.deepcopy(made_results.cpu_run())
    broken["cases"][1]["median_us"] = "fast"
    bad = write(tmp_path, "bad.json", broken)
    cases: list[tuple[list[str | Path], str]] = [
        ([bad, "-o", page], f"flashfit: {bad}: cases[1].median_us: must be a number of at least 0.0\n"),
        ([good, "-o", page, "--price", "cheap"], "flashfit: --price 'cheap': must be dollars an hour, such as 0.60\n"),
        ([good, "-o", page, "--price", "nan"], "flashfit: --price 'nan': must be dollars an hour, such as 0.60\n"),
        (
            [good, "-o", page, "--price", "1", "--price", "2"],
            "flashfit: --price: 2 prices for 1 files; give one for all or one for each\n",
        ),
    ]
    for words, message in cases:
        assert flashfit("report", *words) == (2, "", message)
        assert not page.exists()
    status, _, error = flashfit("report", good, "-o", tmp_path / "no/folder.html")
    assert (status, error) == (3, f"flashfit: --output '{tmp_path}/no/folder.html': cannot be written\n")
    whole = good.read_bytes()
    status, _, error = flashfit("report", good, "-o", good)
    why = "is a file, and no page that may be written over; accepted: a new file or a page"
    assert (status, error) == (2, f"flashfit: --output '{good}': {why}\n")
    assert good.read_bytes() == whole


PROGRAM = browser.found()
in_a_browser = pytest.mark.skipif(
    PROGRAM is None,
    reason="no browser: Debian's chromium-headless-shell is not installed (Ubuntu has Chromium as a snap alone)",
)
# How much of each canvas is in colour: axes and names are grey, what is measured is not.
INK = """[...document.querySelectorAll("canvas")].map((canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let ink = 0;
  for (let i = 0; i < data.length; i += 4) {
    const colours = [data[i], data[i + 1], data[i + 2]];
    ink += data[i + 3] > 100 && Math.max(...colours) - Math.min(...colours) > 60;
  }
  return ink / (canvas.width * canvas.height);
})"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    assert PROGRAM is not None
    with browser.Browser(PROGRAM, tmp_path_factory.mktemp("profile")) as running:
        yield running


@in_a_browser
@pytest.mark.parametrize(("name", "charts"), [("gpu", 5), ("cpu", 1), ("both", 6)])
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_draws_it_without_complaint(
    chromium: browser.Browser, made: Path, name: str, charts: int, dark: bool
) -> None:
    chromium.open(made / f"{name}.html", dark=dark)
    assert chromium.complaints() == []
    assert chromium.requests() == []
    ink = chromium.run(INK)
    assert len(ink) == charts
    assert all(0.0005 < share < 0.2 for share in ink), ink
    chromium.open(made / f"{name}.html", width=420, dark=dark)
    assert chromium.run("document.documentElement.scrollWidth") <= 420, "a phone need not scroll the page sideways"


@in_a_browser
def test_a_slice_a_unit_and_a_dark_evening_redraw(chromium: browser.Browser, made: Path) -> None:
    chromium.open(made / "gpu.html")
    choose = """(name, value) => { const form = document.querySelector("form.choices");
        form.elements[name].value = value; form.dispatchEvent(new Event("change")); }"""
    before = chromium.run("document.querySelector('canvas').toDataURL()")
    chromium.run(f"({choose})('unit', 'us')")
    in_us = chromium.run("document.querySelector('canvas').toDataURL()")
    assert in_us != before
    chromium.run(f"({choose})('slice', '1')")
    assert "causal" in chromium.run("document.querySelector('figcaption').textContent")
    light = chromium.run("document.querySelector('canvas').toDataURL()")
    chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    # The page hears of it with the next frame.
    chromium.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
    assert chromium.run("document.querySelector('canvas').toDataURL()") != light
    assert chromium.complaints() == []


@in_a_browser
def test_the_keyboard_walks_through_points(chromium: browser.Browser, made: Path) -> None:
    chromium.open(made / "gpu.html")
    chromium.run("document.querySelector('canvas').focus()")
    shown = "Chart.getChart(document.querySelector('canvas')).tooltip.title[0]"
    for key, title in (("ArrowRight", 512), ("ArrowRight", 1024), ("ArrowLeft", 512), ("ArrowLeft", 16384)):
        chromium.press(key)
        assert chromium.run(shown) == f"sequence length {title}"
    assert chromium.complaints() == []


@in_a_browser
def test_a_browser_s_complaints_and_requests_are_seen(chromium: browser.Browser, tmp_path: Path) -> None:
    """The tests above can fail."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<script src='http://127.0.0.1:9/x.js'></script><script>console.error('no'); nothing.at.all</script>"
    )
    chromium.open(page)
    assert chromium.requests() == ["http://127.0.0.1:9/x.js"]
    assert len(chromium.complaints()) == 3
