/* The explorer of a sweep's page: choose a configuration, see its cells.
   Every text is set as text, never as markup; the page works without this script. */
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("explore-data").textContent);
  const all = data.configurations;
  const place = new Map(all.map((configuration, index) => [configuration.id, index]));
  const get = (id) => document.getElementById(`explore-${id}`);
  const [choose, said, body] = ["configuration", "said", "cells"].map(get);
  let current = -1;

  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  // The choice, and what follows from it.

  const select = (index) => {
    if (index < 0 || index >= all.length) return;
    const configuration = all[index];
    current = index;
    choose.value = String(index);
    mark(configuration.id);
    get("result").hidden = false;
    rows(configuration);
    said.textContent = `${configuration.label}: ${configuration.summary || "no value"}; ` +
      `${configuration.valid} of ${configuration.number} cells valid.`;
  };

  const rows = (configuration) => {
    body.replaceChildren(...configuration.cells.map((own) => {
      const row = make("tr");
      const head = make("th", String(own.repetition), { scope: "row" });
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
  get("previous").addEventListener("click", () => select(current < 0 ? all.length - 1 : (current + all.length - 1) % all.length));
  get("next").addEventListener("click", () => select((current + 1) % all.length));
  addEventListener("resize", prepareAll);
  get("panel").hidden = false;
  prepareAll();
})();
