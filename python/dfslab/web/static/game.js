// Plays a token game: shows the state of the net, and fires the binding that is chosen.
import {ask, made, show} from "./request.js";

const game = document.getElementById("game");
const element = (name) => document.getElementById(name);
const listed = (texts) => texts.map((text) => made("li", text));
let key = "";

function shown(state) {
  key = state.game;
  element("when").textContent = `time ${state.time_s} s, ${state.steps} firings`;
  element("choices").replaceChildren(...state.choices.map((text, choice) => {
    const item = document.createElement("li"), button = made("button", text);
    button.type = "button";
    button.addEventListener("click", () => move("fire", {choice, steps: 1}));
    item.append(button);
    return item;
  }));
  element("dead").hidden = state.choices.length > 0;
  element("more").textContent = state.more_choices ? `and ${state.more_choices} more` : "";
  const tokens = Object.entries(state.tokens).flatMap(
    ([place, text]) => [made("dt", place), made("dd", text)]);
  const later = state.waiting.flatMap((text) => [made("dt", "later"), made("dd", text)]);
  element("tokens").replaceChildren(...tokens, ...later);
  element("fired").replaceChildren(...listed(state.fired));
  element("picture").innerHTML = state.picture;
  element("back").disabled = element("start").disabled = !state.back;
  element("ten").disabled = state.choices.length === 0;
}

async function move(name, document) {
  try {
    const address = name === "new" ? "/api/games" : `/api/games/${key}/${name}`;
    shown(await ask(address, document));
    show(element("wrong"), "");
  } catch (error) {
    show(element("wrong"), error.message);
  }
}

element("back").addEventListener("click", () => move("back", {to_start: false}));
element("start").addEventListener("click", () => move("back", {to_start: true}));
element("ten").addEventListener("click", () => move("fire", {choice: 0, steps: 10}));
move("new", {file: game.dataset.file});

// The state space is explored on request only, because it may take seconds.
async function explore() {
  const button = element("explore");
  button.disabled = true;
  try {
    const space = await ask("/api/states", {file: game.dataset.file});
    element("facts").replaceChildren(...listed(space.facts));
    element("no-picture").textContent = space.no_picture;
    element("components").innerHTML = space.picture;
    element("components").hidden = element("legend").hidden = !space.picture;
    show(element("no-states"), "");
  } catch (error) {
    show(element("no-states"), error.message);
  }
  button.disabled = false;
}

element("explore").addEventListener("click", explore);
