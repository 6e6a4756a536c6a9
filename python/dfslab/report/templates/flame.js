// Call trees as nested bars: width is the chosen measure, a click looks closer, a word is searched.
for (const source of document.querySelectorAll("script.flame")) {
  const told = JSON.parse(source.textContent);
  const place = source.previousElementSibling;
  const [by, facet, word, reset] = ["by", "facet", "word", "reset"].map(
    (name) => place.querySelector(`[name=${name}]`));
  const rows = place.querySelector(".rows");
  const say = place.querySelector("output");
  const ROW = 21, LEAST = 0.0012;
  const children = told.nodes.map(() => []);
  told.nodes.forEach((node, at) => { if (node.above >= 0) children[node.above].push(at); });
  const tops = told.nodes.map((_, at) => at).filter((at) => told.nodes[at].above < 0);
  const waits = new Set(["queue", "lock", "blocked", "send", "receive", "sleep"]);
  let focus = -1;

  const sums = (node) => {
    const only = facet.value;
    return only === "" ? node.sums : (node.of?.[only] ?? [0, 0, 0]);
  };
  const own = (node) => {
    const [count, own_ns, bytes] = sums(node);
    const time = node.kind === "detail" ? 0 : Math.max(0, own_ns);
    switch (by.value) {
      case "work": return waits.has(node.kind) ? 0 : time;
      case "wait": return waits.has(node.kind) ? time : 0;
      case "bytes": return bytes;
      case "calls": return node.kind === "detail" ? 0 : count;
      default: return time;
    }
  };
  const told_as = (value) => {
    if (by.value === "calls") return value.toLocaleString("en");
    const steps = by.value === "bytes"
      ? [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]
      : [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const [unit, name] = steps.find(([unit]) => value >= unit) ?? steps[3];
    return `${+(value / unit).toPrecision(3)} ${name}`;
  };
  const colour = (node) => {
    if (told.changed) {
      const change = Math.max(-1, Math.min(1, node.change ?? 0));
      const shade = 88 - 42 * Math.abs(change);
      return change > 0 ? `hsl(14 80% ${shade}%)` : `hsl(210 70% ${shade}%)`;
    }
    let hash = 0;
    for (const letter of node.name) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return waits.has(node.kind) ? `hsl(38 ${62 + hash % 25}% ${66 + hash % 9}%)`
      : `hsl(${200 + hash % 30} ${45 + hash % 25}% ${66 + hash % 12}%)`;
  };

  const draw = () => {
    const value = new Array(told.nodes.length).fill(0);
    for (let at = told.nodes.length - 1; at >= 0; at -= 1) {
      value[at] += own(told.nodes[at]);
      if (told.nodes[at].above >= 0) value[told.nodes[at].above] += value[at];
    }
    const all = tops.reduce((sum, at) => sum + value[at], 0);
    const asked = word.value.trim().toLowerCase();
    rows.replaceChildren();
    let deepest = 0, hidden = 0, found = 0;
    const bar = (at, left, width, depth, name, title) => {
      const box = document.createElement("button");
      box.type = "button";
      box.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${depth * ROW}px`;
      box.textContent = name;
      box.title = title;
      box.addEventListener("click", () => { focus = at; draw(); });
      rows.append(box);
      deepest = Math.max(deepest, depth);
      return box;
    };
    const lay = (list, left, width, depth, whole) => {
      let from = left;
      for (const at of [...list].sort((one, other) => value[other] - value[one])) {
        const node = told.nodes[at];
        const share = whole ? (width * value[at]) / whole : 0;
        if (share < LEAST) { hidden += value[at] > 0 ? 1 : 0; continue; }
        const hit = asked !== "" && node.name.toLowerCase().includes(asked);
        const change = node.change === undefined || !told.changed ? ""
          : `\n${node.change >= 0 ? "+" : ""}${(node.change * 100).toFixed(1)} % a call`;
        const box = bar(at, from, share, depth, node.name,
          `${node.name} (${node.kind})\n${told_as(value[at])}, `
          + `${((100 * value[at]) / (all || 1)).toFixed(1)} % of all, ${told_as(own(node))} itself\n`
          + `${sums(node)[0].toLocaleString("en")} calls${change}`);
        box.style.background = colour(node);
        box.classList.toggle("hit", hit);
        box.classList.toggle("dim", asked !== "" && !hit);
        if (hit) found += own(node);
        lay(children[at], from, share, depth + 1, value[at]);
        from += share;
      }
    };
    const path = [];
    for (let at = focus; at >= 0; at = told.nodes[at].above) path.unshift(at);
    path.forEach((at, depth) => {
      const box = bar(at, 0, 1, depth, told.nodes[at].name, told.nodes[at].name);
      box.style.background = colour(told.nodes[at]);
      box.classList.add("path");
    });
    if (focus < 0) lay(tops, 0, 1, 0, all);
    else lay(children[focus], 0, 1, path.length, value[focus] || 1);
    rows.style.height = `${(deepest + 1) * ROW + 4}px`;
    reset.disabled = focus < 0;
    say.textContent = `${told_as(focus < 0 ? all : value[focus])} shown`
      + (asked === "" ? "" : `; ${told_as(found)} in steps that match`)
      + (hidden ? `; ${hidden} too thin to show: look closer` : "");
  };
  for (const control of [by, facet, word]) control.addEventListener("input", draw);
  reset.addEventListener("click", () => { focus = -1; draw(); });
  draw();
}
