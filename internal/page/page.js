"use strict";

// Every second the live part is fetched as the server renders it, and differences are
// patched in place, so that focus and selection survive. At most one request runs at a
// time, and none while the page is hidden. The page of a reward is fetched whole, until it is final.

const every = 1000; // ms between the end of one request and the next
const timeout = 5000; // ms
const connection = document.getElementById("connection");
const announce = document.getElementById("announce");
const single = document.querySelector("main[data-open]");
const flow = () => (single ? document.getElementById("status").textContent : document.getElementById("flow").dataset.summary);
let announced = flow();
let timer = 0;
let refreshing = false;

// localize shows times in the reader's time zone; the title keeps UTC.
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

// partner finds the existing child to patch into a new one: by id, else the one in the
// same place if its kind is the same.
function partner(parent, at, child) {
  if (child.id) return [...parent.children].find((c) => c.id === child.id);
  return at && !at.id && at.nodeName === child.nodeName ? at : undefined;
}

// patch makes an element equal to a fresh one in place.
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
  const again = connection.textContent !== "";
  connection.textContent = text;
  if (again || state === "bad") announce.textContent = text;
}

// source is what to fetch.
function source() {
  if (single) return location.pathname;
  const query = new URLSearchParams({ part: "live" });
  const user = new URLSearchParams(location.search).get("user");
  if (user) query.set("user", user);
  return "/?" + query;
}

async function refresh() {
  const answer = await fetch(source(), { cache: "no-store", signal: AbortSignal.timeout(timeout) });
  if (!answer.ok) throw new Error(answer.status);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  localize(fresh);
  if (single) patch(single, fresh.querySelector("main"));
  else for (const part of fresh.body.children) patch(document.getElementById(part.id), part);
  if (flow() === announced) return;
  announced = flow();
  announce.textContent = announced;
}

async function tick() {
  clearTimeout(timer);
  if (refreshing || document.hidden) return;
  refreshing = true;
  try {
    await refresh();
    connected("good", "Live");
  } catch {
    connected("bad", "Not connected: retrying");
  }
  refreshing = false;
  if (single && !("open" in single.dataset)) return; // it is final
  timer = setTimeout(tick, every);
}

localize(document);
document.addEventListener("visibilitychange", tick);
tick();
