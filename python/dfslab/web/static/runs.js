// Lets the user choose two runs for the comparison. While two runs are chosen, no third run can be
// chosen.
const form = document.getElementById("compare");
if (form) {
  const button = form.querySelector("button.main");
  const boxes = [...form.querySelectorAll("input[name=run]")];
  const update = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    button.disabled = chosen !== 2;
    boxes.forEach((box) => {
      box.disabled = chosen >= 2 && !box.checked;
      box.title = box.disabled ? "Two runs are chosen: clear one of them first" : "";
    });
  };
  form.addEventListener("change", update);
  boxes.forEach((box) => { box.checked = false; });
  update();
}
