import { check, saw, type Answer, type Program } from "./main.js";
import type { Client } from "openapi-fetch";
import type { paths } from "./api.js";

const nobody = "01890000-0000-7000-8000-000000000000";
const url = "https://example.com/hook";
const long = "x".repeat(70_000);

/** Sends each operation about an endpoint. body and headers replace those that are right. */
export function hooks(client: Client<paths>, id: string, more: Record<string, unknown> = {}): Record<string, () => Promise<Answer>> {
  const one = { params: { path: { webhookEndpointId: id } }, ...more };
  const all = "/v1/webhook-endpoints" as const;
  return {
    listWebhookEndpoints: () => client.GET(all, more),
    createWebhookEndpoint: () => client.POST(all, { body: { url }, ...more }),
    getWebhookEndpoint: () => client.GET(`${all}/{webhookEndpointId}`, one),
    changeWebhookEndpoint: () => client.PATCH(`${all}/{webhookEndpointId}`, { body: { url }, ...one }),
    rotateWebhookSecret: () => client.POST(`${all}/{webhookEndpointId}/rotate-secret`, one),
    testWebhookEndpoint: () => client.POST(`${all}/{webhookEndpointId}/test`, one),
    replayWebhookEvents: () => client.POST(`${all}/{webhookEndpointId}/replay`, { body: { after: 0 }, ...one }),
    listWebhookDeliveries: () => client.GET(`${all}/{webhookEndpointId}/deliveries`, one),
    deleteWebhookEndpoint: () => client.DELETE(`${all}/{webhookEndpointId}`, one),
  };
}

const statuses: Record<string, number> = {
  createWebhookEndpoint: 201, testWebhookEndpoint: 202, replayWebhookEvents: 202, deleteWebhookEndpoint: 204,
};

/** Creates an endpoint, sends each operation, and causes every error that a client can cause. */
export async function webhooks({ client }: Program): Promise<void> {
  const created = await client.POST("/v1/webhook-endpoints", { body: { url } });
  saw("createWebhookEndpoint", 201, created);
  check(created.data?.secret.startsWith("whsec_") === true, "no secret");
  const id = created.data.webhookEndpoint.id;
  const send = async (name: string, to: string, status: number, more: Record<string, unknown> = {}): Promise<void> => {
    const operation = hooks(client, to, more)[name];
    check(operation !== undefined, `no operation ${name}`);
    saw(name, status, await operation());
  };
  for (const name of Object.keys(hooks(client, id))) {
    if (name !== "deleteWebhookEndpoint") await send(name, id, statuses[name] ?? 200);
    if (name === "createWebhookEndpoint") await send(name, id, 400, { body: {} });
    else if (name === "listWebhookEndpoints") await send(name, id, 400, { params: { query: { limit: 0 } } });
    else {
      await send(name, "x", 400);
      await send(name, nobody, 404);
    }
    if (/^(list|get)/.test(name)) continue;
    await send(name, id, 413, { body: { url: long } });
    await send(name, id, 415, { body: { a: "b" }, headers: { "Content-Type": "application/x-www-form-urlencoded" } });
  }
  for (let i = 0; i < 16; i++) await client.POST("/v1/webhook-endpoints", { body: { url } });
  await send("createWebhookEndpoint", id, 422);
  const path = { webhookEndpointId: id };
  for (let i = 0; i < 100; i++) await client.POST("/v1/webhook-endpoints/{webhookEndpointId}/test", { params: { path } });
  await send("testWebhookEndpoint", id, 422);
  await send("deleteWebhookEndpoint", id, 204);
}
