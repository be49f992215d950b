import { check, saw, type Reward } from "./main.js";
import type { Client } from "openapi-fetch";
import type { paths } from "./api.js";

/** Finds the event of an award and reads it, alone and in the stream. */
export async function events(url: string, key: string, client: Client<paths>, reward: Reward): Promise<string> {
  const list = await client.GET("/v1/events", { params: { query: { types: ["reward.executed"], wait: 1 } } });
  saw("listEvents", 200, list);
  const event = list.data?.events.find((e) => e.data.reward?.id === reward.id);
  check(event !== undefined && event.type === "reward.executed", `the events are ${JSON.stringify(list.data)}`);
  saw("getEvent", 200, await client.GET("/v1/events/{eventId}", { params: { path: { eventId: event.id } } }));
  const end = new AbortController();
  const from = `${url}/v1/events/stream?after=${event.sequence - 1}`;
  const stream = await fetch(from, { headers: { "x-api-key": key }, signal: end.signal });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  check(stream.status === 200 && reader !== undefined, `the stream was answered ${stream.status}`);
  for (let text = ""; !text.includes(`id: ${event.sequence}\n`); ) {
    const { value, done } = await reader.read();
    check(!done, `the stream ended after ${text}`);
    text += value;
  }
  end.abort();
  console.log(`streamEvents ${stream.status}`);
  return event.id;
}
