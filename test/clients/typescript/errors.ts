import { check, dial, saw, type Answer, type Program } from "./main.js";
import { wrongReversals } from "./reversals.js";
import { hooks } from "./webhooks.js";
import type { Client } from "openapi-fetch";
import type { paths } from "./api.js";

const nobody = "01890000-0000-7000-8000-000000000000";

/** Sends each operation as it is right. */
function operations(p: Program, client: Client<paths>): Record<string, () => Promise<Answer>> {
  const user = { params: { path: { userId: p.user.id } } };
  const reward = { params: { path: { rewardId: p.reward.id } } };
  const action = { params: { path: { corporateActionId: p.action } } };
  const award = { userId: p.user.id, idempotencyKey: "ts-one-more", amountUsd: 5.25, assetSymbol: "KO" };
  return {
    createUser: () => client.POST("/v1/users", { body: { externalId: "ts-again" } }),
    listUsers: () => client.GET("/v1/users"),
    changeUser: () => client.PATCH("/v1/users/{userId}", { ...user, body: { email: "ts@example.com" } }),
    getUser: () => client.GET("/v1/users/{userId}", user),
    getPortfolio: () => client.GET("/v1/users/{userId}/portfolio", user),
    createReward: () => client.POST("/v1/rewards", { body: award }),
    createRewards: () => client.POST("/v1/rewards/batches", { body: { rewards: [award] } }),
    listRewards: () => client.GET("/v1/rewards"),
    getReward: () => client.GET("/v1/rewards/{rewardId}", reward),
    listActivity: () => client.GET("/v1/users/{userId}/activity", user),
    getTimeline: () => client.GET("/v1/rewards/{rewardId}/timeline", reward),
    listCorporateActions: () => client.GET("/v1/corporate-actions"),
    createReversal: () =>
      client.POST("/v1/rewards/{rewardId}/reversals", { ...reward, body: { idempotencyKey: "ts-one-more", amountUsd: 0.1 } }),
    listReversals: () => client.GET("/v1/reversals"),
    getReversal: () => client.GET("/v1/reversals/{reversalId}", { params: { path: { reversalId: p.reversal } } }),
    listEvents: () => client.GET("/v1/events"),
    getEvent: () => client.GET("/v1/events/{eventId}", { params: { path: { eventId: p.event } } }),
    streamEvents: () => client.GET("/v1/events/stream"),
    getCorporateAction: () => client.GET("/v1/corporate-actions/{corporateActionId}", action),
    listCorporateActionEffects: () => client.GET("/v1/corporate-actions/{corporateActionId}/effects", action),
    listBudgets: () => client.GET("/v1/budgets"),
    listAssets: () => client.GET("/v1/assets"),
    ...hooks(client, nobody),
  };
}

/** Sends one operation and wants a status. */
async function want(p: Program, client: Client<paths>, operation: string, status: number): Promise<void> {
  const send = operations(p, client)[operation];
  check(send !== undefined, `no operation ${operation}`);
  saw(operation, status, await send());
}

/** Makes every error that a client can cause, and reads the examples of those that only a fault causes. */
export async function errors(p: Program): Promise<void> {
  const suspended = process.env["REWARDS_SUSPENDED_KEY"] ?? "";
  for (const operation of Object.keys(operations(p, p.client))) {
    await want(p, dial(p.url, "sr_test_wrong"), operation, 401);
    await want(p, dial(p.url, suspended), operation, 403);
  }
  for (const fault of (process.env["REWARDS_FAULTS"] ?? "").split(" ").filter((text) => text !== "")) {
    const [operation = "", status = ""] = fault.split("/"); // "getUser/500"
    await want(p, dial(`${p.url}/fault/${status}`, p.key), operation, Number(status));
  }
  await malformed(p);
  await refused(p);
  await wrongReversals(p);
  await methods(p);
}

async function malformed({ client, user }: Program): Promise<void> {
  const userId = "x";
  const body = { userId: user.id, idempotencyKey: "ts-one-more", amountUsd: 0, assetSymbol: "KO" };
  saw("createUser", 400, await client.POST("/v1/users", { body: {} }));
  saw("changeUser", 400, await client.PATCH("/v1/users/{userId}", { params: { path: { userId: user.id } }, body: {} }));
  const reward = await client.POST("/v1/rewards", { body });
  saw("createReward", 400, reward);
  const problem = reward.error?.error;
  check(problem?.code === "bad_request" && "details" in problem, "a 400 without its issues");
  check(problem.details[0]?.path === "amountUsd", `the issues are ${JSON.stringify(problem.details)}`);
  saw("createRewards", 400, await client.POST("/v1/rewards/batches", { body: { rewards: [] } }));
  saw("listUsers", 400, await client.GET("/v1/users", { params: { query: { limit: 0 } } }));
  saw("listEvents", 400, await client.GET("/v1/events", { params: { query: { limit: 0 } } }));
  saw("getEvent", 400, await client.GET("/v1/events/{eventId}", { params: { path: { eventId: "x" } } }));
  saw("streamEvents", 400, await client.GET("/v1/events/stream", { params: { query: { after: -1 } } }));
  saw("listCorporateActions", 400, await client.GET("/v1/corporate-actions", { params: { query: { limit: 0 } } }));
  const action = { params: { path: { corporateActionId: "x" } } };
  saw("getCorporateAction", 400, await client.GET("/v1/corporate-actions/{corporateActionId}", action));
  saw("listCorporateActionEffects", 400, await client.GET("/v1/corporate-actions/{corporateActionId}/effects", action));
  saw("listRewards", 400, await client.GET("/v1/rewards", { params: { query: { limit: 0 } } }));
  saw("getUser", 400, await client.GET("/v1/users/{userId}", { params: { path: { userId } } }));
  saw("getPortfolio", 400, await client.GET("/v1/users/{userId}/portfolio", { params: { path: { userId } } }));
  saw("listActivity", 400, await client.GET("/v1/users/{userId}/activity", { params: { path: { userId } } }));
  saw("getTimeline", 400, await client.GET("/v1/rewards/{rewardId}/timeline", { params: { path: { rewardId: "x" } } }));
  saw("getReward", 400, await client.GET("/v1/rewards/{rewardId}", { params: { path: { rewardId: "x" } } }));
}

async function refused({ client, user, reward }: Program): Promise<void> {
  const unknown = { params: { path: { userId: nobody } } };
  saw("getUser", 404, await client.GET("/v1/users/{userId}", unknown));
  saw("getPortfolio", 404, await client.GET("/v1/users/{userId}/portfolio", unknown));
  saw("changeUser", 404, await client.PATCH("/v1/users/{userId}", { ...unknown, body: { email: "ts@example.com" } }));
  const action = { params: { path: { corporateActionId: nobody } } };
  saw("getEvent", 404, await client.GET("/v1/events/{eventId}", { params: { path: { eventId: nobody } } }));
  saw("getCorporateAction", 404, await client.GET("/v1/corporate-actions/{corporateActionId}", action));
  saw("listCorporateActionEffects", 404, await client.GET("/v1/corporate-actions/{corporateActionId}/effects", action));
  saw("listActivity", 404, await client.GET("/v1/users/{userId}/activity", unknown));
  saw("getTimeline", 404, await client.GET("/v1/rewards/{rewardId}/timeline", { params: { path: { rewardId: nobody } } }));
  saw("getReward", 404, await client.GET("/v1/rewards/{rewardId}", { params: { path: { rewardId: nobody } } }));
  const body = { userId: user.id, idempotencyKey: "ts-one-more", amountUsd: 5.25, assetSymbol: "KO" };
  saw("createReward", 404, await client.POST("/v1/rewards", { body: { ...body, userId: nobody } }));
  const unlisted = await client.POST("/v1/rewards", { body: { ...body, assetSymbol: "ZZZZZ" } });
  saw("createReward", 422, unlisted);
  check(unlisted.error?.error.code === "unprocessable_entity", "the code of a 422");
  const used = await client.POST("/v1/rewards", { body: { ...body, idempotencyKey: reward.idempotencyKey } });
  saw("createReward", 409, used);
  check(used.error?.error.code === "conflict", "the code of a 409");
  check(used.error.error.details.idempotencyKey === reward.idempotencyKey, "the 409 names the key");
  const taken = await client.POST("/v1/users", { body: { externalId: user.externalId } });
  saw("createUser", 409, taken);
  check(taken.error?.error.code === "conflict" && taken.error.error.details.userId === user.id, "the 409 names the user");
  const second = await client.POST("/v1/users", { body: { email: "second@example.com" } });
  saw("createUser", 201, second);
  const their = { params: { path: { userId: second.data?.user.id ?? nobody } } };
  const change = { email: null, externalId: "ts-changed" };
  saw("changeUser", 200, await client.PATCH("/v1/users/{userId}", { ...their, body: change }));
  saw("changeUser", 409, await client.PATCH("/v1/users/{userId}", { ...their, body: { externalId: user.externalId } }));
  const long = { externalId: "x".repeat(70_000) };
  saw("createUser", 413, await client.POST("/v1/users", { body: long }));
  saw("changeUser", 413, await client.PATCH("/v1/users/{userId}", { ...their, body: long }));
  saw("createReward", 413, await client.POST("/v1/rewards", { body: { ...body, metadata: long } }));
  const large = { rewards: [{ ...body, metadata: { a: "x".repeat(5_000_000) } }] };
  saw("createRewards", 413, await client.POST("/v1/rewards/batches", { body: large }));
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  saw("createUser", 415, await client.POST("/v1/users", { body: { externalId: "x" }, headers: form }));
  saw("changeUser", 415, await client.PATCH("/v1/users/{userId}", { ...their, body: change, headers: form }));
  saw("createRewards", 415, await client.POST("/v1/rewards/batches", { body: { rewards: [body] }, headers: form }));
  saw("createReward", 415, await client.POST("/v1/rewards", { body, headers: form }));
}

/** Causes the 405 and the 404 of a path, which belong to no operation. */
async function methods({ url, key }: Program): Promise<void> {
  const headers = { "x-api-key": key };
  const wrong = await fetch(`${url}/v1/users`, { method: "DELETE", headers });
  check(wrong.status === 405 && wrong.headers.get("allow") === "GET, POST", `DELETE was answered ${wrong.status}`);
  const elsewhere = await fetch(`${url}/v2/users`, { headers });
  check(elsewhere.status === 404, `/v2/users was answered ${elsewhere.status}`);
  console.log("any 405\nany 404");
}
