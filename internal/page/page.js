"use strict";

// Once a second the live part of the page is fetched as the server renders it, and
// what differs is changed in place, so that focus and selection stay. One request is
// under way at most, none while the page is hidden.

const every = 1000; // ms between the end of one request and the next
const patience = 5000; // ms for an answer
const connection = document.getElementById("connection");
const announce = document.getElementById("announce");
const flow = () => document.getElementById("flow").dataset.summary;
let told = flow();
let timer = 0;
let asking = false;

// localize shows times in the reader's zone; the exact one stays in the title.
function localize(root) {
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
    const today = at.toDateString() === new Date().toDateString();
    time.textContent = today
      ? at.toLocaleTimeString([], clock)
      : at.toLocaleString([], { month: "short", day: "numeric", ...clock });
  }
}

// partner finds the child of a parent that stands for a new child: by its id, else
// what stands in its place, when it is of the same kind.
function partner(parent, at, child) {
  if (child.id) return [...parent.children].find((c) => c.id === child.id);
  return at && !at.id && at.nodeName === child.nodeName ? at : undefined;
}

// patch makes an element equal to another by the fewest changes.
function patch(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "data-new") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = partner(old, at, child);
    if (!same) {
      if (child.id) child.dataset.new = "";
      old.insertBefore(child, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    patch(same, child);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function connected(state, text) {
  connection.hidden = false;
  connection.className = "pill " + state;
  if (connection.textContent === text) return;
  connection.textContent = text;
  if (state === "bad") announce.textContent = text;
}

async function refresh() {
  const query = new URLSearchParams({ part: "live" });
  const user = new URLSearchParams(location.search).get("user");
  if (user) query.set("user", user);
  const answer = await fetch("/?" + query, { cache: "no-store", signal: AbortSignal.timeout(patience) });
  if (!answer.ok) throw new Error(answer.status);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  localize(fresh);
  for (const part of fresh.body.children) patch(document.getElementById(part.id), part);
  if (flow() === told) return;
  told = flow();
  announce.textContent = told;
}

async function tick() {
  clearTimeout(timer);
  if (asking || document.hidden) return;
  asking = true;
  try {
    await refresh();
    connected("good", "Live");
  } catch {
    connected("bad", "Not connected: trying again");
  }
  asking = false;
  timer = setTimeout(tick, every);
}

localize(document);
document.addEventListener("visibilitychange", tick);
tick();
