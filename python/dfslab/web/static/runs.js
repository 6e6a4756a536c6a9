// Lets two runs be chosen for the comparison: a third one takes the place of the first.
const form = document.getElementById("compare");
if (form) {
  const button = form.querySelector("button.main");
  const order = [];
  const update = () => { button.disabled = order.length !== 2; };
  form.addEventListener("change", (event) => {
    const box = event.target;
    if (box.name !== "run") return;
    const place = order.indexOf(box);
    if (place >= 0) order.splice(place, 1);
    if (box.checked) order.push(box);
    if (order.length > 2) order.shift().checked = false;
    update();
  });
  form.querySelectorAll("input[name=run]").forEach((box) => { box.checked = false; });
  update();
}
