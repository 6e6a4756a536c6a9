// Requests a prediction from the server whenever a slider moves or a value is typed, and a
// simulation when the inputs have stopped changing.
import {ask, made, show} from "./request.js";

const REST_MS = 350;
const REFUSED = "Nothing is predicted for these values. The figures below are those of the values before.";
const board = document.getElementById("whatif"), form = document.getElementById("sliders");
const element = (name) => document.getElementById(name);
const sliders = [...form.querySelectorAll("input[type=range]")];
const point = Number(board.dataset.point), source = board.dataset.source;
let waiting = false, busy = false, resting = 0, version = 0;

const time = (value) => {
  const [scale, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${Number((value * scale).toPrecision(3)).toLocaleString("en")} ${unit}`;
};

const field = (slider) => slider.closest(".slider").querySelector("input[type=text]");
const isTyped = (slider) => "typed" in field(slider).dataset;

// The index of every slider that was moved, by its key.
function positions() {
  return Object.fromEntries(sliders
    .filter((one) => one.value !== one.dataset.present && !isTyped(one))
    .map((one) => [one.dataset.key, Number(one.value)]));
}

// The exact values that were typed, by the key of their slider.
function values() {
  return Object.fromEntries(sliders.filter(isTyped)
    .map((one) => [one.dataset.key, field(one).value.trim()]));
}

function label(slider) {
  const text = JSON.parse(slider.dataset.labels)[slider.value], typed = isTyped(slider);
  if (!typed) field(slider).value = text;
  slider.closest(".slider").classList
    .toggle("changed", typed || slider.value !== slider.dataset.present);
  slider.setAttribute("aria-valuetext", typed ? field(slider).value : text);
}

function sentence(found) {
  if (!found.is_changed) {
    const now = found.before;
    return now ? `Predicted now: ${now.text} (${now.interval_text}). Move a slider.`
      : "What the model predicts for this run is withheld.";
  }
  if (found.withheld.length) return "What this change gains is withheld.";
  const interval = `90 %: ${found.low.toFixed(2)} to ${found.high.toFixed(2)}`;
  return `× ${found.gain.toFixed(2)} (${interval}), certainty: ${found.sureness}`;
}

function figure(name, rate) {
  const box = document.createElement("div");
  box.append(made("dt", name), made("dd", rate ? rate.text : "withheld"));
  for (const more of rate ? [rate.interval_text, rate.bytes_text] : []) {
    if (more) box.append(made("dd", more, "under"));
  }
  return box;
}

function shown(found) {
  element("sentence").textContent = sentence(found);
  const when = found.is_changed ? "then" : "now";
  element("limit").textContent = found.limit ? `What limits ${when}: ${found.limit}` : "";
  show(element("withheld"), found.withheld.length ? `Why: ${found.withheld[0]}. ${found.settling}`.trim() : "");
  show(element("effects"), found.notes.join(" "));
  element("figures").replaceChildren(
    figure("predicted now", found.before), figure("predicted, changed", found.withheld.length ? null : found.after));
  element("times").replaceChildren(...found.times.map((one) => {
    const row = document.createElement("tr");
    row.append(made("td", one.operation, "text"), made("td", time(one.before_s)),
               made("td", time(one.after_s)));
    return row;
  }));
  element("times").closest(".table").hidden = found.times.length === 0;
  element("chart").innerHTML = found.chart;
}

// Requests the prediction for the newest positions. Only one request is made at a time, so that no
// response can overtake another.
async function predict() {
  waiting = true;
  if (busy) return;
  busy = true;
  while (waiting) {
    waiting = false;
    const moved = positions(), typed = values(), began = performance.now();
    try {
      const found = await ask("/api/whatif", {source, point, positions: moved, values: typed});
      shown(found);
      sliders.filter((one) => one.dataset.key in found.nearest && isTyped(one))
        .forEach((one) => { one.value = found.nearest[one.dataset.key]; });
      board.dataset.predictedMs = Math.round(performance.now() - began);
      board.dataset.answered = JSON.stringify({...moved, ...typed});
      show(element("wrong"), "");
    } catch (error) {
      show(element("wrong"), error.message);
      element("sentence").textContent = REFUSED;
      element("limit").textContent = "";
    }
  }
  busy = false;
}

async function simulate() {
  const own = version, line = element("net"), began = performance.now();
  line.textContent = "The net is being simulated …";
  show(element("notes"), "");
  try {
    const request = {source, point, positions: positions(), values: values()};
    const found = await ask("/api/whatif/net", request);
    if (own !== version) return;
    const tookMs = Math.round(performance.now() - began);
    line.textContent = found.rate_per_s === null ? `The net: ${found.text}.`
      : `The net gives ${found.text}, in ${tookMs} ms.`;
    show(element("notes"), found.notes.join("; "));
    board.dataset.simulatedMs = tookMs;
  } catch (error) {
    if (own === version) line.textContent = `The net: ${error.message}`;
  }
}

function moved() {
  sliders.forEach(label);
  version += 1;
  clearTimeout(resting);
  resting = setTimeout(simulate, REST_MS);
  predict();
}

form.addEventListener("input", (event) => {
  if (event.target.type !== "range") return;
  delete field(event.target).dataset.typed;
  moved();
});
// A typed value takes effect when the user leaves the field or presses Enter. Clearing the field
// removes the typed value.
form.addEventListener("change", (event) => {
  const own = event.target;
  if (own.type !== "text") return;
  const slider = own.closest(".slider").querySelector("input[type=range]");
  if (own.value.trim()) own.dataset.typed = "";
  else {
    delete own.dataset.typed;
    slider.value = slider.dataset.present;
  }
  moved();
});
form.addEventListener("reset", () => setTimeout(() => {
  sliders.forEach((one) => { delete field(one).dataset.typed; });
  moved();
}));
form.addEventListener("submit", (event) => event.preventDefault());
element("point")?.addEventListener("change", (event) => event.target.form.submit());
// A browser restores moved sliders when a page is opened again.
moved();
