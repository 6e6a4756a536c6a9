// Asks the server for a prediction whenever a slider moves, and for a simulation when all rest.
import {ask, made, show} from "./request.js";

const REST_MS = 350;
const board = document.getElementById("whatif"), form = document.getElementById("sliders");
const element = (name) => document.getElementById(name);
const sliders = [...form.querySelectorAll("input[type=range]")];
const point = Number(board.dataset.point), source = board.dataset.source;
let waiting = false, busy = false, resting = 0, version = 0;

const number = (value) => Number(value.toPrecision(3)).toLocaleString("en");
const rate = (value) => `${number(value)} ${board.dataset.unit}/s`;
const time = (value) => {
  const [scale, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${Number((value * scale).toPrecision(3)).toLocaleString("en")} ${unit}`;
};

// The index of every slider that was moved, by its key.
function positions() {
  return Object.fromEntries(sliders
    .filter((one) => one.value !== one.dataset.present)
    .map((one) => [one.dataset.key, Number(one.value)]));
}

function label(slider) {
  const text = JSON.parse(slider.dataset.labels)[slider.value];
  const box = slider.closest("label");
  box.querySelector("output").textContent = text;
  box.classList.toggle("changed", slider.value !== slider.dataset.present);
  slider.setAttribute("aria-valuetext", text);
}

function sentence(found, isChanged) {
  if (!isChanged) return `Now: ${rate(found.before_per_s)}. Move a slider.`;
  if (found.withheld.length) return "What this change gains is withheld.";
  const interval = `90 %: ${found.low.toFixed(2)} to ${found.high.toFixed(2)}`;
  return `× ${found.gain.toFixed(2)} (${interval}), how sure: ${found.sureness}`;
}

function shown(found, isChanged) {
  element("sentence").textContent = sentence(found, isChanged);
  const when = isChanged ? "then" : "now";
  element("limit").textContent = found.limit ? `What limits ${when}: ${found.limit}` : "";
  show(element("withheld"), found.withheld.length ? `Why: ${found.withheld[0]}. ${found.settling}` : "");
  const after = found.withheld.length ? "withheld" : rate(found.after_per_s);
  const figures = [["now", rate(found.before_per_s)], ["changed", after]];
  element("figures").replaceChildren(...figures.map(([name, value]) => {
    const box = document.createElement("div");
    box.append(made("dt", name), made("dd", value));
    return box;
  }));
  element("times").replaceChildren(...found.times.map((one) => {
    const row = document.createElement("tr");
    row.append(made("td", one.operation, "text"), made("td", time(one.before_s)),
               made("td", time(one.after_s)));
    return row;
  }));
  element("chart").innerHTML = found.chart;
}

// Asks for the newest positions. Only one request is made at a time, so that none can overtake.
async function predict() {
  waiting = true;
  if (busy) return;
  busy = true;
  while (waiting) {
    waiting = false;
    const moved = positions(), began = performance.now();
    try {
      const found = await ask("/api/whatif", {source, point, positions: moved});
      shown(found, Object.keys(moved).length > 0);
      board.dataset.predictedMs = Math.round(performance.now() - began);
      board.dataset.answered = JSON.stringify(moved);
      show(element("wrong"), "");
    } catch (error) {
      show(element("wrong"), error.message);
    }
  }
  busy = false;
}

async function simulate() {
  const own = version, line = element("net"), began = performance.now();
  line.textContent = "The net is being simulated …";
  show(element("notes"), "");
  try {
    const found = await ask("/api/whatif/net", {source, point, positions: positions()});
    if (own !== version) return;
    const bounds = found.low === null ? [] : [found.low, found.high].map(number);
    const interval = bounds.length ? ` (90 %: ${bounds.join(" to ")})` : "";
    const tookMs = Math.round(performance.now() - began);
    line.textContent = `The net gives ${rate(found.rate_per_s)}${interval}, in ${tookMs} ms.`;
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

form.addEventListener("input", moved);
form.addEventListener("reset", () => setTimeout(moved));
form.addEventListener("submit", (event) => event.preventDefault());
element("point")?.addEventListener("change", (event) => event.target.form.submit());
// A browser restores moved sliders when a page is opened again.
moved();
