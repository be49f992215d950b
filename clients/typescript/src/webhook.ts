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

/**
 * Checks a delivery as of Standard Webhooks 1.0.0 and decodes it. Give it the body exactly as
 * received, and the endpoint's secret, "whsec_…". It throws when the signature is not valid, or
 * when the delivery is older than five minutes.
 */
export async function verifyWebhook(secret: string, headers: Headers | Record<string, string>, body: string): Promise<Webhook> {
  const given = headers instanceof Headers ? headers : new Headers(headers);
  const [id, at, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => given.get(name) ?? "");
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (c) => c.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${at}.${body}`);
  let valid = false;
  for (const signature of (signatures ?? "").split(" ")) {
    if (!signature.startsWith("v1,")) continue;
    try {
      const bytes = Uint8Array.from(atob(signature.slice(3)), (c) => c.charCodeAt(0));
      valid ||= await crypto.subtle.verify("HMAC", key, bytes, signed);
    } catch {
      // not base64: not a signature
    }
  }
  if (!valid) throw new Error("the webhook's signature is not valid");
  if (!/^[0-9]+$/.test(at ?? "") || Math.abs(Date.now() / 1000 - Number(at)) > maxAge) {
    throw new Error(`the webhook's time ${at} is not within five minutes of the clock`);
  }
  const content = read(body) as { type: string; timestamp: string; data: EventData };
  return { id: id ?? "", ...content, sequence: Number(given.get("x-event-sequence") ?? 0) };
}
