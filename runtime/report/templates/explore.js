/* The explorer of a sweep's page: choose a configuration, see its cells and how they went over time.
   Every text is set as text, never as markup; the page works without this script. */
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("explore-data").textContent);
  const all = data.configurations;
  const place = new Map(all.map((configuration, index) => [configuration.id, index]));
  const get = (id) => document.getElementById(`explore-${id}`);
  const [choose, repeat, said, charts, body, why] =
    ["configuration", "repetition", "said", "charts", "cells", "why"].map(get);
  const drawn = [];
  let current = -1;
  let cell = null;

  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const paint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const series = (index) => paint(`series-${(index % 6) + 1}`);
  const dash = (index) => [[], [8, 4], [2, 3]][Math.floor(index / 6) % 3];
  const shown = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(4))).replace("-", "−"));

  // The choice, and what follows from it.

  const select = (index, repetition) => {
    if (index < 0 || index >= all.length) return;
    const configuration = all[index];
    if (index !== current) {
      current = index;
      choose.value = String(index);
      repeat.replaceChildren(...configuration.cells.map((own) =>
        make("option", `${own.repetition} (${own.verdict})`, { value: own.repetition })));
      mark(configuration.id);
    }
    const wanted = repetition ?? configuration.shown ?? configuration.cells[0]?.repetition;
    cell = configuration.cells.find((own) => own.repetition === wanted) ?? null;
    if (cell) repeat.value = String(cell.repetition);
    why.textContent = cell && cell.repetition === configuration.shown
      ? `One run, not a summary: repetition ${cell.repetition}, ${configuration.why}.` : "One run, not a summary.";
    get("result").hidden = false; // before charts are as wide as their place
    rows(configuration);
    draw(configuration);
    const valid = configuration.cells.filter((own) => own.verdict === "valid").length;
    said.textContent = `${configuration.label}: ${configuration.summary || "no value"}; ` +
      `${valid} of ${configuration.cells.length} cells valid.` +
      (cell && !cell.charts ? " This page has no time series of this repetition." : "");
  };

  const rows = (configuration) => {
    body.replaceChildren(...configuration.cells.map((own) => {
      const row = make("tr", undefined, own === cell ? { "aria-current": "true" } : {});
      const button = make("button", String(own.repetition),
        { type: "button", "aria-label": `Show repetition ${own.repetition}` });
      button.addEventListener("click", () => {
        select(current, own.repetition);
        body.querySelector("[aria-current] button")?.focus();
      });
      const head = make("th", undefined, { scope: "row" });
      head.append(button);
      const verdict = make("td");
      verdict.append(make("span", own.verdict, { class: `verdict ${own.verdict}` }));
      if (own.reasons.length) verdict.append(make("span", own.reasons.join("; "), { class: "remark" }));
      row.append(head, verdict, ...own.values.map((value) => make("td", value, { class: "n" })));
      for (const text of [own.seed, own.id]) {
        const code = make("td");
        code.append(make("code", text));
        row.append(code);
      }
      return row;
    }));
  };

  // Charts over time.

  const times = (chart, count, paired) => Array.from({ length: count }, (_, i) =>
    paired ? (Math.floor(i / 2) + (i % 2 ? 0.75 : 0.25)) * chart.step : (i + 0.5) * chart.step);

  const draw = (configuration) => {
    for (const plot of drawn.splice(0)) plot.destroy();
    charts.replaceChildren();
    const made = [];
    for (const chart of cell?.charts ?? []) {
      const figure = make("figure");
      figure.append(make("h4", `${chart.title} (${chart.unit})`));
      const key = make("p", undefined, { class: "key" });
      const read = chart.lines.map((line) => {
        const name = make("span", line.name);
        name.style.setProperty("--line", series(line.colour));
        const value = make("output", "", { "aria-hidden": "true" });
        key.append(name, " ", value, " ");
        return value;
      });
      const box = make("div", undefined, { role: "img", "aria-label": described(chart, configuration) });
      figure.append(key, box);
      charts.append(figure);
      made.push([chart, box, read]);
    }
    // When all have their places, which decide their widths.
    for (const [chart, box, read] of made) drawn.push(plotted(chart, configuration, box, read));
  };

  const described = (chart, configuration) => {
    const lines = chart.lines.map((line) => {
      const known = line.values.filter((value) => value !== null);
      return `${line.name} from ${shown(Math.min(...known))} to ${shown(Math.max(...known))}`;
    });
    const warm = configuration.warmup ? ` The first ${configuration.warmup} s are the warm-up.` : "";
    return `${chart.title} over time, ${chart.unit}: ${lines.join("; ")}.${warm}`;
  };

  const plotted = (chart, configuration, box, read) => {
    const count = chart.lines[0].values.length;
    const x = times(chart, count, chart.paired);
    const tops = [...chart.lines.flatMap((line) => line.values), chart.limit ?? 0, ...(chart.capacity ?? [])];
    const top = tops.reduce((most, value) => Math.max(most, value ?? 0), 0);
    const axis = { stroke: paint("ink"), grid: { stroke: paint("grid"), width: 1 }, ticks: { stroke: paint("grid") }, font: "12px system-ui" };
    const under = (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      if (configuration.warmup) {
        const end = Math.min(plot.valToPos(configuration.warmup, "x", true), bbox.left + bbox.width);
        if (end > bbox.left) {
          ctx.globalAlpha = 0.6;
          ctx.fillStyle = paint("grid");
          ctx.fillRect(bbox.left, bbox.top, end - bbox.left, bbox.height);
        }
      }
      ctx.restore();
    };
    const over = (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.strokeStyle = paint("limit");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([5 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      const levels = chart.capacity ?? (chart.limit ? [chart.limit, chart.limit] : []);
      const step = chart.capacity ? chart.step : x[x.length - 1];
      levels.forEach((level, i) => {
        const y = plot.valToPos(level, "y", true);
        ctx[i ? "lineTo" : "moveTo"](plot.valToPos(i * step, "x", true), y);
        ctx.lineTo(plot.valToPos((i + 1) * step, "x", true), y);
      });
      ctx.stroke();
      ctx.restore();
    };
    return new uPlot({
      width: Math.max(240, box.clientWidth),
      height: 190,
      legend: { show: false },
      cursor: { sync: { key: "explore" }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { range: [0, top * 1.05 || 1] } },
      axes: [{ ...axis, label: "time (s)", labelSize: 18, size: 36 }, { ...axis, size: 52 }],
      series: [{}, ...chart.lines.map((line) => ({
        stroke: series(line.colour), width: 1.25, dash: dash(line.colour), points: { show: false },
      }))],
      hooks: {
        drawAxes: [under],
        draw: [over],
        setCursor: [(plot) => chart.lines.forEach((line, i) => {
          read[i].textContent = plot.cursor.idx === null ? "" : shown(line.values[plot.cursor.idx]);
        })],
      },
    }, [x, ...chart.lines.map((line) => line.values)], box);
  };

  // The picture: its marks become buttons; Tab enters it once, arrow keys go on to the nearest mark.

  const mark = (id) => {
    for (const button of document.querySelectorAll("svg .pick")) {
      button.setAttribute("aria-pressed", String(button.dataset.of === id));
    }
  };

  const prepare = (svg) => {
    const found = [...svg.querySelectorAll("[data-pick]")];
    if (!found.length || svg.dataset.ready || !svg.getBoundingClientRect().width) return;
    svg.dataset.ready = "yes";
    svg.setAttribute("role", "group");
    const inverse = svg.getScreenCTM().inverse();
    const scale = inverse.a;
    const buttons = found.filter((group) => place.has(group.dataset.pick)).map((group) => {
      const at = group.getBoundingClientRect();
      const [width, height] = [Math.max(at.width, 16), Math.max(at.height, 16)];
      const corner = new DOMPoint(at.x + (at.width - width) / 2, at.y + (at.height - height) / 2).matrixTransform(inverse);
      const button = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const configuration = all[place.get(group.dataset.pick)];
      const label = `${configuration.label}: ${configuration.summary}`;
      const attributes = {
        class: "pick", x: corner.x, y: corner.y, width: width * scale, height: height * scale, rx: at.width < 16 ? 8 * scale : 0,
        tabindex: -1, role: "button", "aria-pressed": "false", "aria-label": label,
      };
      for (const [name, value] of Object.entries(attributes)) button.setAttribute(name, value);
      button.dataset.of = group.dataset.pick;
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = label;
      button.append(title);
      svg.append(button);
      return button;
    });
    buttons[0]?.setAttribute("tabindex", "0");
    const middle = (button) => { const at = button.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; };
    svg.addEventListener("click", (event) => {
      const button = event.target.closest(".pick");
      if (button) select(place.get(button.dataset.of));
    });
    svg.addEventListener("keydown", (event) => {
      const button = event.target.closest(".pick");
      if (!button) return;
      const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
      if (way) {
        event.preventDefault();
        const [x, y] = middle(button);
        const ahead = buttons.filter((other) => other !== button).map((other) => {
          const [u, v] = middle(other);
          const along = (u - x) * way[0] + (v - y) * way[1];
          const aside = Math.abs((u - x) * way[1]) + Math.abs((v - y) * way[0]);
          return { other, along, column: Math.round(along / 6), aside };
        }).filter(({ along }) => along > 0.5).sort((a, b) => a.column - b.column || a.aside - b.aside);
        if (ahead.length) {
          button.setAttribute("tabindex", "-1");
          ahead[0].other.setAttribute("tabindex", "0");
          ahead[0].other.focus();
        }
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        select(place.get(button.dataset.of));
      }
    });
    if (current >= 0) mark(all[current].id);
  };
  const prepareAll = () => document.querySelectorAll("svg.figure").forEach(prepare);

  // Controls.

  choose.append(...all.map((configuration, index) => make("option", configuration.label, { value: index })));
  choose.selectedIndex = -1;
  choose.addEventListener("change", () => select(Number(choose.value)));
  repeat.addEventListener("change", () => select(current, Number(repeat.value)));
  get("previous").addEventListener("click", () => select(current < 0 ? all.length - 1 : (current + all.length - 1) % all.length));
  get("next").addEventListener("click", () => select((current + 1) % all.length));
  let width = innerWidth;
  addEventListener("resize", () => {
    prepareAll();
    if (innerWidth !== width && current >= 0) draw(all[current]);
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (current >= 0) draw(all[current]); });
  get("panel").hidden = false;
  prepareAll();
})();
