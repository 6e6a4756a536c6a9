// Sends requests to the server, and shows the errors of refused requests.

// Sends a document and returns the answer. If the server refuses the request, throws an error with
// the line of text that the server sends.
export async function ask(address, document) {
  return answer(await fetch(address, {method: "POST", body: JSON.stringify(document)}));
}

// Returns the document in a response. If the response is a refusal, throws an error with the line
// of text that the server sent.
export async function answer(response) {
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

// Shows a line of text in an element. The element is hidden while the line is empty.
export function show(element, text) {
  element.textContent = text;
  element.hidden = text === "";
}

// Returns a new element with a text.
export function made(tag, text, kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
