import { check, saw, type Program, type Reward } from "./main.js";
import type { Client } from "openapi-fetch";
import type { paths } from "./api.js";

const nobody = "01890000-0000-7000-8000-000000000000";
const key = "ts-reversal";

/** Takes a part of an award back, repeats the request, and reads the reversal alone and in the list. */
export async function reversals(client: Client<paths>, { id: rewardId }: Reward): Promise<string> {
  const one = { params: { path: { rewardId } } };
  const body = { idempotencyKey: key, amountUsd: 0.1, reason: "the order was returned" };
  const made = await client.POST("/v1/rewards/{rewardId}/reversals", { ...one, body });
  saw("createReversal", 201, made);
  const reversal = made.data?.reversal;
  check(reversal?.amountUsd === 0.1 && reversal.quantity > 0, `the reversal is ${JSON.stringify(reversal)}`);
  check(reversal.status === "completed" && reversal.completedAt !== null, "the reversal of an executed award is completed");
  const again = await client.POST("/v1/rewards/{rewardId}/reversals", { ...one, body });
  saw("createReversal", 200, again);
  check(again.data?.idempotentReplay === true && again.data.reversal.id === reversal.id, "no replay");
  const list = await client.GET("/v1/reversals", { params: { query: { rewardId, status: "completed" } } });
  saw("listReversals", 200, list);
  check(list.data?.reversals.map((r) => r.id).join() === reversal.id, `the reversals are ${JSON.stringify(list.data)}`);
  const path = { reversalId: reversal.id };
  saw("getReversal", 200, await client.GET("/v1/reversals/{reversalId}", { params: { path } }));
  return reversal.id;
}

/** Causes every error of reversals that a client can cause. */
export async function wrongReversals({ client, reward }: Program): Promise<void> {
  const send = (rewardId: string, body: { idempotencyKey: string; amountUsd?: number; reason?: string }, headers = {}) =>
    client.POST("/v1/rewards/{rewardId}/reversals", { params: { path: { rewardId } }, body, headers });
  const other = { idempotencyKey: "ts-another-reversal", amountUsd: 1_000_000 };
  const none = await send(reward.id, other);
  saw("createReversal", 422, none);
  check(none.error?.error.code === "unprocessable_entity", "the code of a 422");
  check(none.error.error.details.leftUsd === 0.2, `the 422 is ${JSON.stringify(none.error)}`);
  const used = await send(reward.id, { idempotencyKey: key, amountUsd: 0.2 });
  saw("createReversal", 409, used);
  check(used.error?.error.code === "conflict" && used.error.error.details.idempotencyKey === key, "the 409 names the key");
  saw("createReversal", 400, await send("x", other));
  saw("createReversal", 404, await send(nobody, other));
  saw("createReversal", 413, await send(reward.id, { ...other, reason: "x".repeat(70_000) }));
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  saw("createReversal", 415, await send(reward.id, other, form));
  saw("listReversals", 400, await client.GET("/v1/reversals", { params: { query: { limit: 0 } } }));
  for (const [reversalId, status] of [["x", 400], [nobody, 404]] as const) {
    saw("getReversal", status, await client.GET("/v1/reversals/{reversalId}", { params: { path: { reversalId } } }));
  }
}
