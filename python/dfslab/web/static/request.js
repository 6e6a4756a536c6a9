// Sends requests to the server, and shows what it refuses.

// Sends a document and returns the answer. Throws an error with the server's one line if refused.
export async function ask(address, document) {
  return answer(await fetch(address, {method: "POST", body: JSON.stringify(document)}));
}

// Returns the document in a response. Throws an error with the server's one line if refused.
export async function answer(response) {
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

// Shows a line in an element that is hidden while there is none.
export function show(element, text) {
  element.textContent = text;
  element.hidden = text === "";
}

// Makes an element with a text.
export function made(tag, text, kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
