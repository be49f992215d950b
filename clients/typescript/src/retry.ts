import { read } from "./decimal.js";
import { errorOf, RewardsError } from "./error.js";

/** How a client sends requests. */
export interface Sending {
  /** How often a request is sent at most; 1 means no retries. Default 6. */
  attempts?: number;
  /** The longest wait before a retry in milliseconds; a longer Retry-After ends the retries. Default 60,000. */
  maxWait?: number;
  /** The time for one attempt in milliseconds. Default 30,000. The feed needs at least 2,000. */
  timeout?: number;
  /** Sends one request. Default: the global fetch. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Reports whether sending a request twice has the effect of once. */
export function repeatable(method: string, body: string): boolean {
  if (method !== "POST") return true;
  try {
    const { idempotencyKey, rewards } = JSON.parse(body) as { idempotencyKey?: string; rewards?: { idempotencyKey?: string }[] };
    return Boolean(idempotencyKey) || (Array.isArray(rewards) && rewards.length > 0 && rewards.every((r) => Boolean(r?.idempotencyKey)));
  } catch {
    return false;
  }
}

/** Waits; throws the signal's reason when it is aborted meanwhile. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => new Promise((resolve, reject) => {
  const stop = (): void => { clearTimeout(timer); reject(signal.reason); };
  const timer = setTimeout(() => { signal.removeEventListener("abort", stop); resolve(); }, ms);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
});

/** Reports whether a request failed before there was a connection. */
function unconnected(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string; syscall?: string } };
  return cause instanceof AggregateError // of every address of a host
    || cause?.syscall === "connect" || cause?.syscall === "getaddrinfo"
    || cause?.code === "ECONNREFUSED" || cause?.code === "UND_ERR_CONNECT_TIMEOUT";
}

/**
 * Makes a fetch that retries, throws errors and keeps every digit. With always it takes each request for repeatable.
 * A signal beside a request stops it, too: Node keeps what a signal inside a request needs until it collects garbage.
 */
export function retrying(sending: Sending, always = false): (request: Request, signal?: AbortSignal) => Promise<Response> {
  const { attempts = 6, maxWait = 60_000, timeout = 30_000, fetch: send = (request) => fetch(request) } = sending;
  return async (request, signal = request.signal) => {
    const body = await request.clone().text();
    const again = always || repeatable(request.method, body);
    let uncertain = false;
    for (let attempt = 1; ; attempt++) {
      let failure: unknown;
      let harmless = false;
      let after = 0;
      try {
        return await once(request, signal, send, timeout, uncertain);
      } catch (error) {
        failure = error;
        if (signal.aborted) throw error;
        if (error instanceof RewardsError) {
          const passing = [429, 500, 503, 504].includes(error.status) || (error.status === 502 && error.code !== "upstream_error");
          if (!passing) throw error;
          harmless = error.status === 429;
          after = error.retryAfter * 1000;
        } else {
          harmless = unconnected(error);
        }
      }
      if (attempt >= attempts || (!harmless && !again)) throw failure;
      uncertain ||= !harmless;
      const jitter = Math.random() * Math.min(200 * 2 ** (attempt - 1), 5000);
      const wait = after > 0 ? after + Math.min(jitter, 200) : jitter;
      if (wait > maxWait) throw failure;
      await pause(wait, signal);
    }
  };
}

/** The attempts under way. Otherwise Node may collect an attempt while its answer is awaited, and then its signal stops nothing. */
const underWay = new Set<Request>();

/** The longest time of a timer in milliseconds; a longer one would end at once. */
const longestTimer = 2 ** 31 - 1;

/** Sends a request once, within a time and until the signal is aborted. The answer's decimals are strings. */
async function once(
  request: Request, signal: AbortSignal, send: (request: Request) => Promise<Response>, timeout: number, uncertain: boolean,
): Promise<Response> {
  const stop = new AbortController();
  const attempt = new Request(request.clone(), { signal: stop.signal, redirect: "manual" });
  const abort = (): void => stop.abort(signal.reason);
  const expire = (): void => stop.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  const timer = setTimeout(expire, Math.min(timeout, longestTimer));
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  underWay.add(attempt);
  try {
    return await decoded(await send(attempt), uncertain);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    underWay.delete(attempt);
  }
}

/** Reads JSON; undefined when it is none. */
function parsed(text: string): unknown {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/** Reads an answer to its end. Its decimals are strings. */
async function decoded(response: Response, uncertain: boolean): Promise<Response> {
  const text = await response.text();
  const json = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
  if (!response.ok) throw errorOf(response, json ? parsed(text) : undefined, uncertain);
  const body = json ? parsed(text) : undefined;
  if (response.status !== 204 && (typeof body !== "object" || body === null)) { // of a program in between
    throw new RewardsError(response.status, "", "the answer lacks what was asked for", "", undefined, 0, uncertain);
  }
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const empty = response.status === 204;
  return new Response(empty ? null : json ? JSON.stringify(body) : text, { status: response.status, headers });
}
