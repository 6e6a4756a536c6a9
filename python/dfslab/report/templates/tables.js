// Adds sorting, a filter, copying and a download as CSV to every table.
{
  const FEWEST_TO_FILTER = 8, FEWEST_TO_SORT = 2;
  const PREFIXES = {n: 1e-9, u: 1e-6, "µ": 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12};
  const UNITS = ["B/s", "B", "s", "Hz", "W", "/s"];
  // The text of a cell: its first line, then its second line in brackets.
  const text = (cell) => {
    const small = cell.querySelector("small")?.textContent.trim() ?? "";
    const first = cell.textContent.trim();
    return small && first.endsWith(small) && first !== small
      ? `${first.slice(0, -small.length).trim()} (${small})` : first;
  };
  // The number at the start of a cell, in its base unit; NaN if the cell does not start with a
  // number.
  const number = (cell) => {
    const found = /^[×±]?\s*([-+−]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(\S*)/i.exec(text(cell));
    if (found === null) return NaN;
    const value = Number(found[1].replaceAll(",", "").replace("−", "-"));
    const word = found[2].replace("i", "");
    const unit = UNITS.find((one) => word.endsWith(one)) ?? "";
    const prefix = unit === "" ? "" : word.slice(0, -unit.length);
    const scale = found[2].includes("i") && prefix !== ""
      ? 1024 ** ("KMGT".indexOf(prefix) + 1) : (PREFIXES[prefix] ?? 1);
    return value * scale;
  };
  const button = (label, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", action);
    return made;
  };
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

  document.querySelectorAll("div.table").forEach((box, place) => {
    const table = box.querySelector("table"), body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
    const section = box.closest("section");
    const name = box.dataset.name || section?.querySelector("h2")?.textContent || "table";
    const lines = () => [table.tHead.rows[0], ...[...body.rows].filter((row) => !row.hidden)]
      .map((row) => [...row.cells].map(text));
    // A table that is wider than the page can be scrolled by keyboard.
    const observe = new ResizeObserver(() => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      box.toggleAttribute("tabindex", wide);
      if (wide) box.tabIndex = 0;
      box.setAttribute("role", wide ? "region" : "presentation");
      box.setAttribute("aria-label", wide ? `${name}, table ${place + 1}` : "");
      if (!wide) ["role", "aria-label"].forEach((one) => box.removeAttribute(one));
    });
    observe.observe(box);

    if (rows.length >= FEWEST_TO_SORT) heads.forEach((head, column) => {
      const label = head.textContent;
      const sort = button(label, () => {
        const down = head.getAttribute("aria-sort") === "descending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const keyed = rows.map((row) => {
          const cell = row.cells[column];
          return {row, value: number(cell), word: text(cell)};
        });
        const numeric = keyed.filter((one) => Number.isFinite(one.value)).length > keyed.length / 2;
        const sign = down ? 1 : -1;
        keyed.sort((one, other) => {
          if (!numeric) return sign * one.word.localeCompare(other.word);
          const unknown = Number(Number.isNaN(one.value)) - Number(Number.isNaN(other.value));
          return unknown || sign * (one.value - other.value);
        });
        body.append(...keyed.map((one) => one.row));
      });
      head.replaceChildren(sort);
    });

    const tools = document.createElement("div");
    tools.className = "tools";
    if (rows.length >= FEWEST_TO_FILTER) {
      const filter = document.createElement("input");
      filter.type = "search";
      filter.placeholder = "filter rows";
      filter.setAttribute("aria-label", `filter rows of ${name}, table ${place + 1}`);
      filter.addEventListener("input", () => {
        const word = filter.value.trim().toLowerCase();
        rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(word); });
      });
      tools.append(filter);
    }
    const copy = button("copy", async () => {
      await navigator.clipboard.writeText(lines().map((line) => line.join("\t")).join("\n"));
      copy.textContent = "copied";
      setTimeout(() => { copy.textContent = "copy"; }, 1500);
    });
    const save = button("CSV", () => {
      const csv = lines().map((line) => line.map(quoted).join(",")).join("\r\n");
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv], {type: "text/csv"}));
      link.download = `${name.toLowerCase().replace(/\W+/g, "-")}-${place + 1}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
    copy.setAttribute("aria-label", `copy ${name}, table ${place + 1}`);
    save.setAttribute("aria-label", `download ${name}, table ${place + 1}, as CSV`);
    tools.append(copy, save);
    box.before(tools);
  });
}
