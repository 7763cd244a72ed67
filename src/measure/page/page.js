"use strict";
// Draws the charts with Chart.js from the page's JSON. The tables need none of this.
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent).runs;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const marks = ["circle", "rect", "triangle", "rectRot", "star", "crossRot", "cross", "dash"];
  const short = (x) => String(Number(x.toPrecision(4)));
  const length = (x) => (x >= 1024 && x % 1024 === 0 ? x / 1024 + "k" : String(x));
  const charts = [];

  // One colour and mark a name on the whole page, flashfit first. With 12 colours and 8 marks, 24 names look different.
  const names = ["flashfit", ...new Set(runs.flatMap((run) => run.peers.map((peer) => peer.name)))];
  const look = (index) => ({ colour: colour("series-" + (index % 12)), mark: marks[index % 8] });
  const points = (label, looks, data, more) => ({
    label, data, borderColor: looks.colour, backgroundColor: looks.colour + "b0", pointStyle: looks.mark,
    pointRadius: 4.5, pointHoverRadius: 7, borderWidth: 2, ...more,
  });

  const title = (text) => ({ display: true, text, color: colour("soft") });
  const axis = (text, more) => ({
    title: title(text), grid: { color: colour("line"), borderColor: colour("soft") }, ...more,
    ticks: { color: colour("soft"), ...(more && more.ticks) },
  });
  // Of a logarithmic axis only 1, 2 and 5 are named, so that names do not run into each other.
  const logTicks = {
    callback: (x) => (/^[125]/.test(x.toExponential()) && !/[.][^0]/.test(x.toExponential()) ? short(x) : ""),
  };
  const logAxis = (text, more) => axis(text, { type: "logarithmic", ticks: logTicks, ...more });

  // The arrow keys walk through the points as the mouse would.
  const walk = (canvas, chart) => {
    let at = -1;
    const stops = () => {
      const found = new Map();
      chart.data.datasets.forEach((set, datasetIndex) => {
        if (set.quiet || !chart.isDatasetVisible(datasetIndex)) return;
        set.data.forEach((point, index) => {
          const key = chart.options.interaction.axis === "x" ? point.x : datasetIndex + "," + index;
          found.set(key, [...(found.get(key) || []), { datasetIndex, index }]);
        });
      });
      return [...found.entries()].sort((a, b) => (typeof a[0] === "number" ? a[0] - b[0] : 0)).map((entry) => entry[1]);
    };
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const all = stops();
      if (!all.length) return;
      at = (at + by + all.length) % all.length;
      const { x, y } = chart.getDatasetMeta(all[at][0].datasetIndex).data[all[at][0].index];
      chart.setActiveElements(all[at]);
      chart.tooltip.setActiveElements(all[at], { x, y });
      chart.update();
    });
  };

  const draw = (place, caption, datasets, scales, tooltip, axisOfHover) => {
    const figure = place.appendChild(document.createElement("figure"));
    figure.appendChild(document.createElement("figcaption")).textContent = caption;
    const canvas = figure.appendChild(document.createElement("div")).appendChild(document.createElement("canvas"));
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label",
      caption + ". The arrow keys walk through its points; the tables below have every number.");
    const heard = (item) => !item.dataset.quiet;
    const chart = new Chart(canvas, {
      type: "scatter",
      data: { datasets },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, scales,
        interaction: { mode: "nearest", intersect: false, axis: axisOfHover },
        plugins: {
          legend: {
            position: "bottom",
            labels: {
              color: colour("text"), usePointStyle: true, boxHeight: 7,
              filter: (item, data) => !data.datasets[item.datasetIndex].unnamed,
            },
            // A series takes its intervals with it.
            onClick: (event, item, legend) => {
              const show = !legend.chart.isDatasetVisible(item.datasetIndex);
              datasets.forEach((set, i) => {
                if (set.series === datasets[item.datasetIndex].series) legend.chart.setDatasetVisibility(i, show);
              });
              legend.chart.update();
            },
          },
          tooltip: {
            filter: heard, callbacks: tooltip, usePointStyle: true, itemSort: (a, b) => b.parsed.y - a.parsed.y,
          },
        },
      },
    });
    walk(canvas, chart);
    charts.push(chart);
  };

  const speed = (place) => {
    const run = runs[place.dataset.run];
    const form = document.querySelector(`form.choices[data-run="${place.dataset.run}"]`);
    const { slice, unit } = form.elements;
    if (!slice.options.length) run.speed.forEach((s, i) => slice.add(new Option(s.label, i)));
    const rate = unit.value === "tflops";
    for (const panel of run.speed[slice.value].panels) {
      const lengths = [...new Set(panel.series.flatMap((s) => s.points.map((p) => p.x)))];
      const datasets = panel.series.flatMap((s) => {
        const looks = look(names.indexOf(s.name));
        const values = s.points.map((p) => ({ x: p.x, y: p[unit.value], ends: p[unit.value + "_interval"] }));
        const bars = values.flatMap((p) => [{ x: p.x, y: p.ends[0] }, { x: p.x, y: p.ends[1] }, { x: p.x, y: NaN }]);
        return [
          points(s.name, looks, values,
            { series: s.name, showLine: true, borderWidth: s.name === "flashfit" ? 3 : 1.5 }),
          points("", looks, bars, {
            series: s.name, quiet: true, unnamed: true, showLine: true, borderWidth: 1.5, pointStyle: "line",
            pointRadius: 4, pointHoverRadius: 4,
          }),
        ];
      });
      draw(place, `head dim ${panel.head_dim} · ${run.speed[slice.value].label}`, datasets, {
        x: axis("sequence length", {
          type: "logarithmic", min: Math.min(...lengths) / 1.2, max: Math.max(...lengths) * 1.2,
          afterBuildTicks: (scale) => { scale.ticks = lengths.sort((a, b) => a - b).map((value) => ({ value })); },
          ticks: { callback: length, autoSkip: false },
        }),
        y: rate ? axis("TFLOP/s", { beginAtZero: true }) : logAxis("µs a call"),
      }, {
        title: (items) => "sequence length " + items[0].raw.x,
        label: (item) =>
          ` ${item.dataset.label}: ${short(item.raw.y)} (${item.raw.ends.map(short).join(" to ")}) ` +
          (rate ? "TFLOP/s" : "µs"),
      }, "x");
    }
  };

  // Cases by a property of theirs, a colour each.
  const grouped = (found, key) => {
    const groups = new Map();
    for (const p of found) groups.set(key(p), [...(groups.get(key(p)) || []), p]);
    return [...groups.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  };

  const roofline = (place) => {
    const run = runs[place.dataset.run];
    const cases = run.result.cases;
    const dim = (p) => cases[p.case].problem.head_dim;
    const groups = [...new Set(run.roofline.points.map(dim))].sort((a, b) => a - b);
    const datasets = groups.map((d, i) =>
      points("head dim " + d, look(i), run.roofline.points.filter((p) => dim(p) === d), { series: "d" + d }));
    const dashes = { tensor: [], memory: [], exp: [6, 4] };
    for (const roof of run.roofline.roofs) {
      const of = groups.findIndex((d) => roof.name.endsWith(" " + d));
      const looks = { colour: roof.kind === "exp" ? look(of).colour : colour("text"), mark: "line" };
      datasets.push(points(roof.name, looks, roof.points, {
        series: roof.name, quiet: true, showLine: true, pointRadius: 0, pointHoverRadius: 0, borderWidth: 1.5,
        borderDash: roof.name.endsWith("bf16") ? [2, 3] : dashes[roof.kind],
      }));
    }
    draw(place, "what each case reached, under what this machine can", datasets,
      { x: logAxis("FLOP a byte that must move"), y: logAxis("TFLOP/s") }, {
        title: (items) => cases[items[0].raw.case].name,
        label: (item) => {
          const share = cases[item.raw.case].share;
          return ` ${short(item.raw.y)} TFLOP/s at ${short(item.raw.x)} FLOP a byte` +
            (share ? `, ${(100 * share).toFixed(1)} % of its bound` : "");
        },
      }, "xy");
  };

  const error = (place) => {
    const cases = runs[place.dataset.run].result.cases;
    const found = cases.filter((c) => c.error > 0 && c.error_bound > 0)
      .map((c) => ({ x: c.error_bound, y: c.error, of: c }));
    if (!found.length) return void place.replaceChildren(document.createTextNode("No case has an error above zero."));
    const key = (p) => p.of.problem.dtype + (p.of.correct ? "" : ", wrong");
    const datasets = grouped(found, key).map(([name, data], i) => points(name, look(i), data, { series: name }));
    const ends = [Math.min(...found.map((p) => p.x)) / 1.5, Math.max(...found.map((p) => p.x)) * 1.5];
    datasets.push(points("held to", { colour: colour("text"), mark: "line" }, ends.map((x) => ({ x, y: x })),
      { series: "bound", quiet: true, showLine: true, pointRadius: 0, pointHoverRadius: 0, borderWidth: 1.5 }));
    const power = { ticks: { callback: (x) => (/^[125]e/.test(x.toExponential()) ? x.toExponential() : "") } };
    const heights = [...found.map((p) => p.y), ...ends];
    draw(place, "largest absolute error and its bound", datasets,
      {
        x: logAxis("bound", { ...power, min: ends[0], max: ends[1] }),
        y: logAxis("error", { ...power, min: Math.min(...heights) / 1.5, max: Math.max(...heights) * 1.5 }),
      }, {
        title: (items) => items[0].raw.of.name,
        label: (item) => ` error ${item.raw.y.toExponential(2)}, bound ${item.raw.x.toExponential(2)}`,
      }, "xy");
  };

  const kinds = { speed, roofline, error };
  const redraw = () => {
    charts.splice(0).forEach((chart) => chart.destroy());
    for (const place of document.querySelectorAll(".charts")) {
      place.replaceChildren();
      kinds[place.classList[1]](place);
    }
  };
  redraw();
  dark.addEventListener("change", redraw);
  document.querySelectorAll("form.choices").forEach((form) => form.addEventListener("change", redraw));
})();
