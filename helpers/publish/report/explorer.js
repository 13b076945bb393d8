// The head explorer: draws window.HEADS[model] (helpers/publish/explorer.py) with the colours of window.LOOK.
"use strict";
{
  const KINDS = LOOK.kinds, FUNCTIONS = "functions";
  const find = (id) => document.getElementById(id);
  const state = { model: "", measure: "", head: "" };
  let data;

  const make = (tag, set = {}, ...children) => {
    const svg = ["svg", "rect", "text", "title"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(set)) {
      if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      else if (value !== null) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const key = (address) => address.join(".");
  const number = (value) => value === null ? "–" : String(Number(value.toPrecision(3))).replace("-", "−");
  const cellNumber = (value) => {
    if (value === null) return "–";
    const size = Math.abs(value);
    const text = size >= 10 ? value.toFixed(0) : size >= 1 ? value.toFixed(1) : value.toFixed(size >= 0.01 ? 2 : 3);
    return (Number(text) ? text : text.replace("-", "")).replace(/^(-?)0\./, "$1.").replace("-", "−"); // no minus before zero
  };
  const name = ([kind, layer, head]) => `${KINDS[kind]}, layer ${layer + 1}, head ${head + 1}`;
  const roles = (i) => data.functions ? data.functions[i] : [];
  const said = (i) => roles(i).map(([, label]) => label).join(", ");
  const chosen = () => data.measures.find((measure) => measure.name === state.measure);

  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const blend = (colours, share) => {
    const at = Math.min(Math.max(share, 0), 1) * (colours.length - 1), low = Math.min(Math.floor(at), colours.length - 2);
    const [one, other] = [parts(colours[low]), parts(colours[low + 1])];
    return `#${one.map((c, i) => Math.round(c + (other[i] - c) * (at - low)).toString(16).padStart(2, "0")).join("")}`;
  };
  const ink = (hex) => {
    const [r, g, b] = parts(hex).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
  };
  const colour = (role) => LOOK.colours[role] ?? LOOK.colours.none;

  const rank = (measure, i) => {  // the largest is first; among the heads of its layer
    const [kind, layer] = data.heads[i];
    const same = measure.values.filter((v, j) => v !== null && data.heads[j][0] === kind && data.heads[j][1] === layer);
    return measure.values[i] === null ? "" : `${1 + same.filter((v) => v > measure.values[i]).length} of ${same.length}`;
  };

  // --- the maps

  function keys() {
    const seen = Object.keys(LOOK.colours).filter((f) => data.functions.some((r) => (r.length ? r.some((x) => x[0] === f) : f === "none")));
    return make("ul", { class: "keys", "aria-label": "Functions" },
      ...seen.map((f) => make("li", {}, make("i", { style: `background:${colour(f)}` }), LOOK.names[f] ?? f)));
  }

  // A kind has a scale of its own: where a layer has fewer heads, shares are larger.
  function scale(measure, kind) {
    const values = measure.values.filter((v, i) => v !== null && data.heads[i][0] === kind);
    if (!values.length) return [null, "not measured on these heads"];
    const low = Math.min(...values), high = Math.max(...values);
    const bar = make("div", { class: "scale" }, make("div", { class: "bar", style: `background:linear-gradient(to right, ${LOOK.scale.join(",")})` }),
      make("div", { class: "ticks" }, ...[0, 0.25, 0.5, 0.75, 1].map((s) => make("span", {}, number(low + s * (high - low))))));
    return [(value) => blend(LOOK.scale, high > low ? (value - low) / (high - low) : 0.5), bar];
  }

  function paint(cell, i, measure, shade) {
    cell.replaceChildren();
    if (measure) {
      const value = measure.values[i], hex = value === null ? LOOK.colours.none : shade(value);
      cell.style.background = hex;
      cell.style.color = ink(hex);
      cell.append(cellNumber(value));
      if (roles(i).length)
        cell.append(make("span", { class: "dots" }, ...roles(i).map(([role]) => make("i", { style: `background:${colour(role)}` }))));
    } else {
      const shown = roles(i).length ? roles(i) : [["none", ""]];
      cell.style.background = colour(shown[0][0]);
      cell.append(make("span", { class: "stripes" }, ...shown.map(([role, label]) =>
        make("span", { style: `background:${colour(role)};color:${ink(colour(role))}` }, label))));
    }
    const value = measure ? `: ${measure.label} ${number(measure.values[i])}${rank(measure, i) ? `, rank ${rank(measure, i)}` : ""}` : "";
    const text = `${name(data.heads[i])}${value}${said(i) ? `; ${said(i)}` : data.functions ? "; no function" : ""}`;
    cell.title = text;
    cell.setAttribute("aria-label", text);
  }

  function draw() {
    const measure = chosen(), maps = find("maps");
    find("about").textContent = measure ? `${measure.label}${measure.about ? `: ${measure.about}` : ""}` : "what each head was measured to do";
    maps.replaceChildren(...(data.functions ? [keys()] : []));
    for (const kind of Object.keys(KINDS)) {
      const layers = [...new Set(data.heads.filter((h) => h[0] === kind).map((h) => h[1]))].sort((a, b) => b - a);
      if (!layers.length) continue;
      const across = 1 + Math.max(...data.heads.filter((h) => h[0] === kind).map((h) => h[2]));
      const [shade, bar] = measure ? scale(measure, kind) : [];
      const grid = make("div", { class: "grid", role: "grid", style: `--across:${across}`, "aria-label": `${KINDS[kind]}: rows are layers, columns heads` });
      for (const layer of layers) {
        const row = make("div", { class: "row", role: "row" }, make("span", { role: "rowheader" }, `layer ${layer + 1}`));
        data.heads.forEach((address, i) => {
          if (address[0] !== kind || address[1] !== layer) return;
          const cell = make("button", { type: "button", class: "head", role: "gridcell", tabindex: -1, "data-head": key(address), on: { click: () => choose({ head: key(address) }, true) } });
          paint(cell, i, measure, shade);
          row.append(cell);
        });
        grid.append(row);
      }
      grid.append(make("div", { class: "row", "aria-hidden": "true" }, make("span", {}, "head"), ...Array.from({ length: across }, (_, h) => make("span", {}, String(h + 1)))));
      maps.append(make("h2", {}, KINDS[kind]), ...(bar ? [bar] : []), grid);
    }
  }

  function select() {
    for (const cell of document.querySelectorAll(".head")) {
      const on = cell.dataset.head === state.head;
      cell.setAttribute("aria-selected", on);
      cell.tabIndex = on ? 0 : -1;
    }
  }

  find("maps").addEventListener("keydown", (event) => {
    const cell = event.target.closest(".head");
    if (!cell) return;
    const rows = [...document.querySelectorAll("#maps .row")].map((row) => [...row.querySelectorAll(".head")]).filter((row) => row.length);
    const y = rows.findIndex((row) => row.includes(cell)), x = rows[y].indexOf(cell);
    const to = {
      ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1], ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], Home: [y, 0], End: [y, rows[y].length - 1],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const row = rows[to[0]], next = row && (row[to[1]] ?? (to[0] === y ? null : row.at(-1)));
    next?.focus();
  });

  // --- one head

  function table(i) {
    const rows = data.measures.filter((measure) => measure.values[i] !== null).map((measure) => {
      return make("tr", { class: measure.name === state.measure ? "chosen" : null },
        make("th", { scope: "row" }, measure.label), make("td", {}, number(measure.values[i])), make("td", {}, rank(measure, i)));
    });
    return make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Measures of this head" }, make("table", {},
      make("caption", {}, "rank: among the heads of its layer, the largest value first"),
      make("thead", {}, make("tr", {}, ...["measure", "value", "rank"].map((t, n) => make("th", { scope: "col", style: n ? null : "text-align:left" }, t)))),
      make("tbody", {}, ...rows)));
  }

  const pen = document.createElement("canvas").getContext("2d");
  const longest = (words) => {
    pen.font = `11px ${getComputedStyle(document.body).getPropertyValue("--sans")}`;
    return Math.max(...words.map((word) => pen.measureText(word).width));
  };

  function map(weights, rows, columns, frames, label) {
    const cell = 20, left = 10 + longest(rows), top = 10 + longest(columns), wide = left + cell * columns.length + 2;
    const most = rows.map((word, r) => { const best = weights[r].indexOf(Math.max(...weights[r])); return `${word} to ${columns[best]} ${weights[r][best]} %`; });
    const svg = make("svg", { width: 1.25 * wide, viewBox: `0 0 ${wide} ${top + cell * rows.length + 2}`, role: "img", "aria-label": `${label}. Largest weight of each row: ${most.join("; ")}` });
    columns.forEach((word, c) => svg.append(make("text", { transform: `translate(${left + cell * (c + 0.5) + 4} ${top - 5}) rotate(-90)` }, word)));
    svg.append(make("rect", { class: "ground", x: left, y: top, width: cell * columns.length, height: cell * rows.length }));
    rows.forEach((word, r) => {
      svg.append(make("text", { x: left - 5, y: top + cell * (r + 0.5) + 4, "text-anchor": "end" }, word));
      weights[r].forEach((weight, c) => svg.append(make("rect", { class: "cell", x: left + cell * c, y: top + cell * r, width: cell - 1, height: cell - 1, "fill-opacity": weight / 100 },
        make("title", {}, `${word} → ${columns[c]}: ${weight} %`))));
    });
    for (const [r, c, role] of frames) svg.append(make("rect", { x: left + cell * c, y: top + cell * r, width: cell - 1, height: cell - 1, fill: "none", stroke: colour(role), "stroke-width": 2.5 }));
    return svg;
  }

  function attention(i) {
    const kind = data.heads[i][0], labels = new Map(roles(i).map(([role, label]) => [label, role]));
    const figures = data.sentences.map(({ source, target, arcs }, n) => {
      const rows = kind === "encoder" ? source : target, columns = kind === "decoder" ? ["⟨start⟩", ...target] : [...source, "⟨end⟩"];
      const frames = kind === "encoder" ? arcs.filter(([, , label]) => labels.has(label)).map(([r, c, label]) => [r, c, labels.get(label)]) : [];
      const text = (kind === "encoder" ? source : target).join(" ");
      return make("figure", {}, map(data.attention[i][n], rows, columns, frames, `Attention of ${name(data.heads[i])} on “${text}”`), make("figcaption", {}, text));
    });
    const how = { encoder: "Rows look, columns are looked at", decoder: "Rows: the word that is predicted; columns: the words written before it", cross: "Rows: the word that is predicted; columns: the source" }[kind];
    const framed = kind === "encoder" && [...labels.values()].some((role) => !["positional", "rare"].includes(role)) ? " Frames: where the relation that this head follows leads." : "";
    return [make("h3", {}, "Attention on example sentences"), make("p", {}, `${how}, from no weight (pale) to all of it (full colour).${framed}`), make("div", { class: "attention" }, ...figures)];
  }

  function detail() {
    const box = find("head"), i = data.heads.findIndex((address) => key(address) === state.head), [kind, layer, head] = data.heads[i];
    const title = name(data.heads[i]);
    box.replaceChildren(make("h2", { id: "address" }, title[0].toUpperCase() + title.slice(1)),
      make("p", {}, data.title, ", address ", make("code", {}, `("${kind}", ${layer}, ${head})`)));
    if (data.functions) box.append(make("p", {}, ...(roles(i).length ? roles(i).map(([role, label]) => make("span", { class: "chip", style: `background:${colour(role)};color:${ink(colour(role))}` }, `${LOOK.names[role] ?? role}${role === label ? "" : ` ${label}`}`)) : ["No function that was tested."])));
    box.append(make("h3", {}, "Measures"), table(i));
    if (data.attention) box.append(...attention(i));
    for (const note of data.notes) box.append(make("p", { class: "note" }, note));
  }

  // --- what is chosen

  const script = (src) => new Promise((done, failed) => document.head.append(make("script", { src, on: { load: done, error: failed } })));

  async function load(model) {
    if (!window.HEADS?.[model]) await script([...find("model").options].find((option) => option.value === model).dataset.file);
  }

  const top = (measure) => {  // of the first kind
    const same = measure.values.map((value, i) => (data.heads[i][0] === data.heads[0][0] && value !== null ? value : -Infinity));
    return key(data.heads[same.indexOf(Math.max(...same))]);
  };

  async function choose(wanted, keep = false) {
    const models = [...find("model").options].map((option) => option.value);
    const model = models.includes(wanted.model ?? state.model) ? wanted.model ?? state.model : models[0];
    try { await load(model); } catch { find("about").textContent = `The data of ${model} could not be read.`; return; }
    const redraw = model !== state.model || (wanted.measure ?? state.measure) !== state.measure;
    data = window.HEADS[model];
    const measures = [...data.measures.map((measure) => measure.name), ...(data.functions ? [FUNCTIONS] : [])];
    const measure = wanted.measure ?? state.measure, head = wanted.head ?? state.head, heads = data.heads.map(key);
    state.model = model;
    state.measure = measures.includes(measure) ? measure : measures.includes("relevance") ? "relevance" : measures[0];
    state.head = heads.includes(head) ? head : top(data.measures.find((m) => m.name === state.measure) ?? data.measures[0]);
    find("model").value = model;
    if (redraw || !document.querySelector(".head")) {
      const labels = new Map(data.measures.map((m) => [m.name, m.label]));
      find("measure").replaceChildren(...measures.map((m) => make("option", { value: m }, labels.get(m) ?? "function")));
      find("measure").value = state.measure;
      draw();
    }
    select();
    detail();
    if (keep) history.replaceState(null, "", `#${new URLSearchParams(Object.entries(state).filter(([, value]) => value))}`);
  }

  find("model").addEventListener("change", (event) => choose({ model: event.target.value }, true));
  find("measure").addEventListener("change", (event) => choose({ measure: event.target.value }, true));
  const asked = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  addEventListener("hashchange", () => choose(asked()));
  choose(asked());
}
