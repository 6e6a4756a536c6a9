// Shows the newest seconds of a running measurement, once a second, until the run has ended.
import {answer} from "./request.js";

const EVERY_MS = 1000;
const live = document.getElementById("live"), state = document.getElementById("state");
const element = (name) => document.getElementById(name);

async function update() {
  let found;
  try {
    found = await answer(await fetch(live.dataset.address));
  } catch (error) {
    element("text").textContent = `no answer from dfslab serve: ${error.message}`;
    setTimeout(update, EVERY_MS);
    return;
  }
  state.textContent = found.state;
  state.className = `state ${found.state}`;
  element("text").textContent = found.text;
  element("share").value = found.share;
  element("charts").innerHTML = found.charts;
  element("results").innerHTML = found.results;
  // A wide table can also be scrolled by keyboard.
  for (const table of element("results").querySelectorAll(".table")) {
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", "newest results");
  }
  element("nothing").hidden = found.charts !== "";
  element("page").hidden = found.state === "running";
  live.dataset.seconds = found.seconds;
  if (!found.has_ended) setTimeout(update, EVERY_MS);
}
update();
