import { read } from "./decimal.js";
import type { EventData } from "./events.js";

/** A verified delivery of an event. */
export interface Webhook {
  /** The event's id: process it once. */
  id: string;
  type: string;
  /** Order by it; 0 for a test. */
  sequence: number;
  timestamp: string;
  data: EventData;
}

const maxAge = 300; // seconds

/** The headers of a request, as fetch, node:http, node:http2 and their frameworks have them. */
type Received = Headers | Record<string, string | readonly string[] | undefined>;

/** Returns a header, "" without one. Its name is in lower case. */
function valueOf(headers: Received, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return [found ?? ""].flat().join(" ");
}

/**
 * Checks a delivery as of Standard Webhooks 1.0.0 and decodes it. Give it the body exactly as
 * received, and the endpoint's secret, "whsec_…". It throws when the signature is not valid, or
 * when the delivery is older than five minutes.
 */
export async function verifyWebhook(secret: string, headers: Received, body: string | Uint8Array): Promise<Webhook> {
  const id = valueOf(headers, "webhook-id");
  const at = valueOf(headers, "webhook-timestamp");
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (c) => c.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = Uint8Array.from([...new TextEncoder().encode(`${id}.${at}.`), ...bytes]);
  let valid = false;
  for (const signature of valueOf(headers, "webhook-signature").split(" ")) {
    if (!signature.startsWith("v1,")) continue;
    try {
      const given = Uint8Array.from(atob(signature.slice(3)), (c) => c.charCodeAt(0));
      valid ||= await crypto.subtle.verify("HMAC", key, given, signed);
    } catch {
      // not base64: not a signature
    }
  }
  if (!valid) throw new Error("the webhook's signature is not valid");
  if (!/^[0-9]+$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > maxAge) {
    throw new Error(`the webhook's time ${at} is not within five minutes of the clock`);
  }
  const content = read(new TextDecoder().decode(bytes)) as { type: string; timestamp: string; data: EventData };
  return { id, ...content, sequence: Number(valueOf(headers, "x-event-sequence") || 0) };
}
