// Shows the sliders of the tab "What if" and, for each position, the rates that were predicted
// beforehand. Without this script the tables of all settings stay open.
for (const box of document.querySelectorAll(".slide")) {
  const slider = box.querySelector("input"), output = box.querySelector("output");
  const labels = slider.dataset.labels.split("|");
  const rows = [...box.querySelectorAll("li")].map((row) => ({
    places: row.dataset.places.split("|"), texts: row.dataset.texts.split("|"),
    interval: row.querySelector("s"), value: row.querySelector("b"),
    words: row.lastElementChild, bar: row.querySelector("i"),
  }));
  const table = box.nextElementSibling;
  const settings = [...table.querySelectorAll("tbody tr")];
  const update = () => {
    const at = Number(slider.value);
    output.textContent = labels[at];
    slider.setAttribute("aria-valuetext", labels[at]);
    for (const row of rows) {
      const [low, middle, high] = row.places[at].split(" ").map(Number);
      const known = row.places[at] !== "";
      row.interval.hidden = row.value.hidden = !known;
      if (known) {
        row.interval.style.left = `${low}%`;
        row.interval.style.width = `${high - low}%`;
        row.value.style.left = `${middle}%`;
      }
      row.words.textContent = row.texts[at];
    }
    settings.forEach((row, place) => row.classList.toggle("chosen", place === at));
  };
  slider.addEventListener("input", update);
  box.hidden = false;
  table.open = false;
  update();
}
