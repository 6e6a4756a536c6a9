// Draws call trees as nested bars. The width of a bar shows the measure that the user chose. A
// click on a bar zooms in. Bars whose name contains the searched text are highlighted.
for (const source of document.querySelectorAll("script.flame")) {
  const profile = JSON.parse(source.textContent);
  const place = source.previousElementSibling;
  const [by, facet, word, reset] = ["by", "facet", "word", "reset"].map(
    (name) => place.querySelector(`[name=${name}]`));
  const rows = place.querySelector(".rows");
  const say = place.querySelector("output");
  const ROW = 21, LEAST = 0.0012;
  const waits = new Set(["queue", "lock", "blocked", "send", "receive", "sleep"]);
  let focus = -1, turned = false;

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
  // The call trees as recorded: each step is inside the step that called it.
  const nested = () => profile.nodes.map((node) => ({
    name: node.name, kind: node.kind, above: node.above, change: node.change,
    own: own(node), calls: sums(node)[0]}));
  // The inverted trees: each step of a process occurs once, with its self time. The callers of a
  // step are below it.
  const by_self = () => {
    const found = [], places = new Map();
    const processes = [];
    profile.nodes.forEach((node, at) => {
      const first = node.name.indexOf(":");
      processes[at] = first > 0 ? node.name.slice(0, first) : (processes[node.above] ?? "");
    });
    profile.nodes.forEach((node, start) => {
      const time = own(node), calls = sums(node)[0];
      let above = -1;
      for (let at = start; time > 0 && at >= 0; at = profile.nodes[at].above) {
        const {name, kind} = profile.nodes[at];
        const within = above < 0 && processes[at] !== "" && !name.includes(":");
        const shown = within ? `${processes[at]}:${name}` : name;
        const key = `${above} ${kind} ${shown}`;
        if (!places.has(key)) {
          places.set(key, found.length);
          found.push({name: shown, kind, above, own: 0, calls: 0});
        }
        above = places.get(key);
        found[above].calls += calls;
        if (profile.nodes[at].above < 0) found[above].own += time;
      }
    });
    return found;
  };
  const in_units = (value) => {
    if (by.value === "calls") return value.toLocaleString("en");
    const steps = by.value === "bytes"
      ? [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]
      : [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const [unit, name] = steps.find(([unit]) => value >= unit) ?? steps[3];
    return `${+(value / unit).toPrecision(3)} ${name}`;
  };
  const colour = (node) => {
    if (profile.changed) {
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
    if (turned !== (by.value === "self")) [turned, focus] = [!turned, -1];
    const nodes = turned ? by_self() : nested();
    const children = nodes.map(() => []);
    nodes.forEach((node, at) => { if (node.above >= 0) children[node.above].push(at); });
    const value = nodes.map((node) => node.own);
    for (let at = nodes.length - 1; at >= 0; at -= 1) {
      if (nodes[at].above >= 0) value[nodes[at].above] += value[at];
    }
    const tops = nodes.map((_, at) => at).filter((at) => nodes[at].above < 0);
    const all = tops.reduce((sum, at) => sum + value[at], 0);
    const searched = word.value.trim().toLowerCase();
    rows.replaceChildren();
    let deepest = 0, hidden = 0, found = 0;
    const bar = (at, left, width, depth, title) => {
      const box = document.createElement("button");
      box.type = "button";
      box.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${depth * ROW}px`;
      box.style.background = colour(nodes[at]);
      box.textContent = nodes[at].name;
      box.title = title;
      box.addEventListener("click", () => { focus = at; draw(); });
      rows.append(box);
      deepest = Math.max(deepest, depth);
      return box;
    };
    const title = (at) => {
      const {name, kind, change, calls} = nodes[at];
      const itself = turned ? "" : `, ${in_units(nodes[at].own)} itself`;
      const changed = change === undefined || !profile.changed ? ""
        : `\n${change >= 0 ? "+" : ""}${(change * 100).toFixed(1)} % a call`;
      return `${name} (${kind})\n${in_units(value[at])}, `
        + `${((100 * value[at]) / (all || 1)).toFixed(1)} % of all${itself}\n`
        + `${calls.toLocaleString("en")} calls${changed}`;
    };
    // Each match is counted once. In inverted trees, the callers below a match belong to this
    // match.
    const lay = (list, left, width, depth, whole) => {
      let from = left;
      for (const at of [...list].sort((one, other) => value[other] - value[one])) {
        const hit = searched !== "" && nodes[at].name.toLowerCase().includes(searched);
        if (hit) found += turned ? (depth === 0 ? value[at] : 0) : nodes[at].own;
        const share = whole ? (width * value[at]) / whole : 0;
        const shown = share >= LEAST;
        hidden += value[at] > 0 && !shown && width > 0 ? 1 : 0;
        if (shown) {
          const box = bar(at, from, share, depth, title(at));
          box.classList.toggle("hit", hit);
          box.classList.toggle("dim", searched !== "" && !hit);
        }
        // Below a bar that is too thin to be drawn, only matches are counted.
        if (shown || searched !== "") lay(children[at], from, shown ? share : 0, depth + 1, value[at]);
        from += share;
      }
    };
    const path = [];
    for (let at = focus; at >= 0; at = nodes[at].above) path.unshift(at);
    path.forEach((at, depth) => bar(at, 0, 1, depth, title(at)).classList.add("path"));
    if (focus < 0) lay(tops, 0, 1, 0, all);
    else lay(children[focus], 0, 1, path.length, value[focus] || 1);
    rows.style.height = `${(deepest + 1) * ROW + 4}px`;
    reset.disabled = focus < 0;
    say.textContent = `${in_units(focus < 0 ? all : value[focus])} shown`
      + (searched === "" ? "" : `; ${in_units(found)} in steps that match`)
      + (hidden ? `; ${hidden} too thin to show: look closer` : "");
  };
  for (const control of [by, facet, word]) control.addEventListener("input", draw);
  reset.addEventListener("click", () => { focus = -1; draw(); });
  draw();
}
