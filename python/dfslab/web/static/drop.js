// Sends a file that is dropped or chosen to the server, and opens the page that shows it.
import {answer} from "./request.js";

const place = document.getElementById("drop"), line = document.getElementById("dropped");
const chosen = document.getElementById("file");

async function send(file) {
  line.className = "";
  line.textContent = `reading ${file.name} …`;
  try {
    const address = `/api/drop?name=${encodeURIComponent(file.name)}`;
    const found = await answer(await fetch(address, {method: "POST", body: file}));
    line.textContent = `${found.name}: ${found.kind}`;
    location.assign(found.address);
  } catch (error) {
    line.className = "refused";
    line.textContent = error.message;
  }
}

// The whole page accepts dropped files, because a browser would otherwise open a file that misses
// the field.
addEventListener("dragover", (event) => {
  event.preventDefault();
  place.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) place.classList.remove("over");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  place.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) send(file);
});
chosen.addEventListener("change", () => {
  if (chosen.files[0]) send(chosen.files[0]);
});
