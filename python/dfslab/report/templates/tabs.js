// Turns the parts of the page into tabs. Without this script all parts are shown below each other.
for (const bar of document.querySelectorAll("nav.tabs")) {
  const links = [...bar.querySelectorAll("a")];
  const parts = links.map((link) => document.querySelector(link.getAttribute("href")));
  document.body.classList.add("tabbed");
  bar.setAttribute("role", "tablist");
  links.forEach((link, place) => {
    link.id = `${parts[place].id}-link`;
    link.setAttribute("role", "tab");
    link.setAttribute("aria-controls", parts[place].id);
    parts[place].setAttribute("role", "tabpanel");
    parts[place].setAttribute("aria-labelledby", link.id);
  });
  const select = (chosen) => {
    links.forEach((link, place) => {
      link.setAttribute("aria-selected", String(place === chosen));
      link.tabIndex = place === chosen ? 0 : -1;
      parts[place].classList.toggle("away", place !== chosen);
    });
    show(links[chosen]);
  };
  // Scrolls the bar of tabs, but not the page, so that the open tab is visible.
  const show = (link) => {
    const middle = link.offsetLeft + link.offsetWidth / 2;
    bar.scrollLeft = middle - bar.offsetLeft - bar.clientWidth / 2;
  };
  // Opens the part that the address names, or the part that contains the element that the address
  // names.
  const follow = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const chosen = parts.findIndex((part) => named !== null && part.contains(named));
    if (chosen >= 0) select(chosen);
    if (chosen >= 0 && parts[chosen] !== named) {
      named.closest("details")?.setAttribute("open", "");
      named.scrollIntoView();
    }
  };
  bar.addEventListener("click", (event) => {
    const chosen = links.indexOf(event.target.closest("a"));
    if (chosen < 0) return;
    event.preventDefault();
    select(chosen);
    history.replaceState(null, "", links[chosen].getAttribute("href"));
  });
  bar.addEventListener("keydown", (event) => {
    const now = links.indexOf(document.activeElement), last = links.length - 1;
    const next = {ArrowRight: now === last ? 0 : now + 1, ArrowLeft: now === 0 ? last : now - 1,
                  Home: 0, End: last}[event.key];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    links[next].focus();
    links[next].click();
  });
  if (links.length > 0) select(0);
  addEventListener("hashchange", follow);
  follow();
  // Collapsed contents are opened while the page is printed.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
}
