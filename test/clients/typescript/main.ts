// A client that somebody generated from the API document with openapi-typescript.
// TestGeneratedTypeScriptClient generates api.d.ts, compiles this in strict mode and
// runs it against the built service; it prints the operation and the status of every
// answer that it could read.
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./api.js";
import { errors } from "./errors.js";
import { events } from "./events.js";
import { reversals } from "./reversals.js";
import { webhooks } from "./webhooks.js";

export type User = components["schemas"]["User"];
export type Reward = components["schemas"]["Reward"];

/** One answer of openapi-fetch. */
export interface Answer {
  data?: unknown;
  error?: { error: { code: string; message: string; requestId: string } };
  response: Response;
}

/** One run against one service. */
export interface Program {
  url: string;
  key: string;
  client: Client<paths>;
  user: User; // one of the users
  reward: Reward; // one of the rewards
  action: string; // id of a corporate action
  event: string; // id of an event
  reversal: string; // id of a reversal
}

/** Makes a client that sends a key. */
export function dial(url: string, key: string, ...middleware: Middleware[]): Client<paths> {
  const client = createClient<paths>({ baseUrl: url, headers: { "x-api-key": key } });
  client.use(...middleware);
  return client;
}

export function check(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}

/** Checks that an answer has the status, and that an error has its code and the request's id. */
export function saw(operation: string, status: number, answer: Answer): void {
  const { response, error } = answer;
  check(response.status === status, `${operation}: status ${response.status}, want ${status}: ${JSON.stringify(error)}`);
  if (status >= 400) {
    const id = response.headers.get("x-request-id");
    check(error !== undefined && error.error.code !== "", `${operation}: ${status} without a code`);
    check(error.error.requestId === id && id !== null, `${operation}: ${status} without the request's id`);
  }
  console.log(operation, status);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until the reward is bought. */
async function executed(client: Client<paths>, rewardId: string): Promise<Reward> {
  for (const deadline = Date.now() + 30_000; ; await pause(20)) {
    const got = await client.GET("/v1/rewards/{rewardId}", { params: { path: { rewardId } } });
    saw("getReward", 200, got);
    check(got.data !== undefined, "no reward");
    const reward = got.data.reward;
    if (reward.status === "executed" && reward.executedAt !== null && reward.failureReason === null) return reward;
    check(reward.status !== "failed" && Date.now() < deadline, `the reward is ${JSON.stringify(reward)}`);
  }
}

/** Gives an amount to a new user, follows it and reads the portfolio. */
async function give(client: Client<paths>, name: string, amountUsd: number): Promise<[User, Reward]> {
  const created = await client.POST("/v1/users", { body: { externalId: name } });
  saw("createUser", 201, created);
  check(created.data !== undefined, "no user");
  const user = created.data.user;
  check(user.externalId === name && user.email === null, `the user is ${JSON.stringify(user)}`);
  const body = {
    userId: user.id, idempotencyKey: `${name}-reward`, amountUsd, assetSymbol: "aapl", metadata: { campaign: "spring" },
  };
  const given = await client.POST("/v1/rewards", { body });
  saw("createReward", 201, given);
  check(given.data?.reward.amountUsd === amountUsd, `${amountUsd} was recorded as ${given.data?.reward.amountUsd}`);
  const again = await client.POST("/v1/rewards", { body });
  saw("createReward", 200, again);
  check(again.data?.idempotentReplay === true && again.data.reward.id === given.data.reward.id, "no replay");
  const reward = await executed(client, given.data.reward.id);
  const path = { userId: user.id };
  const portfolio = await client.GET("/v1/users/{userId}/portfolio", { params: { path } });
  saw("getPortfolio", 200, portfolio);
  const [holding] = portfolio.data?.holdings ?? [];
  check(holding?.costBasis === amountUsd, `the holding of ${amountUsd} cost ${holding?.costBasis}`);
  check(portfolio.data?.costBasis === amountUsd, `the portfolio of ${amountUsd} cost ${portfolio.data?.costBasis}`);
  saw("getUser", 200, await client.GET("/v1/users/{userId}", { params: { path } }));
  const activity = await client.GET("/v1/users/{userId}/activity", { params: { path } });
  saw("listActivity", 200, activity);
  const [bought] = activity.data?.activity ?? [];
  check(bought?.type === "award" && bought.rewardId === reward.id, `the activity is ${JSON.stringify(activity.data)}`);
  check(bought.costBasis === amountUsd && bought.quantity === holding.quantity, `the part of ${amountUsd}`);
  const timeline = await client.GET("/v1/rewards/{rewardId}/timeline", { params: { path: { rewardId: reward.id } } });
  saw("getTimeline", 200, timeline);
  const last = timeline.data?.timeline.at(-1);
  check(last?.type === "executed" && last.at === reward.executedAt, `the timeline ends with ${JSON.stringify(last)}`);
  return [user, reward];
}

/** The cursor of the next page, out of the Link header. */
function next(response: Response): string | undefined {
  const link = response.headers.get("link");
  if (link === null) return undefined;
  const target = /^<([^>]+)>; rel="next"$/.exec(link)?.[1];
  check(target !== undefined, `no next page in the Link header ${link}`);
  return new URL(target, response.url).searchParams.get("cursor") ?? undefined;
}

/** Makes more users than a page has and reads all pages of both lists. */
async function pages(client: Client<paths>, users: number, rewards: number): Promise<void> {
  const names = Array.from({ length: 25 }, (_, i) => `ts-page-${i}`);
  for (const externalId of names) saw("createUser", 201, await client.POST("/v1/users", { body: { externalId } }));
  const ids = new Set<string>();
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const query = cursor === undefined ? { limit: 7 } : { limit: 7, cursor };
    const page = await client.GET("/v1/users", { params: { query } });
    saw("listUsers", 200, page);
    for (const user of page.data?.users ?? []) ids.add(user.id);
    cursor = next(page.response);
  }
  check(ids.size === users + names.length, `${ids.size} users are listed`);
  ids.clear();
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const filter = { limit: 2, status: "executed" } as const;
    const query = cursor === undefined ? filter : { ...filter, cursor };
    const page = await client.GET("/v1/rewards", { params: { query } });
    saw("listRewards", 200, page);
    for (const reward of page.data?.rewards ?? []) ids.add(reward.id);
    cursor = next(page.response);
  }
  check(ids.size === rewards, `${ids.size} of ${rewards} rewards are listed`);
}

/** Sends a new award, a replay and refusals in one batch, and reads the results. */
async function batch(client: Client<paths>, user: User): Promise<void> {
  const item = { userId: user.id, idempotencyKey: "ts-in-a-batch", amountUsd: 5.25, assetSymbol: "KO" };
  const rewards = [item, item, { ...item, amountUsd: 6 }, { ...item, idempotencyKey: "ts-not-listed", assetSymbol: "ZZZZZ" }];
  const got = await client.POST("/v1/rewards/batches", { body: { rewards } });
  saw("createRewards", 200, got);
  const { results = [], summary } = got.data ?? {};
  check(results.map((r) => r.status).join() === "201,200,409,422", `the results are ${JSON.stringify(results)}`);
  check(results[0]?.reward?.amountUsd === 5.25 && results[1]?.idempotentReplay === true, "the awards of a batch");
  check(results[2]?.error?.code === "conflict" && results[2].reward === undefined, "the error of an item");
  check(summary?.created === 1 && summary.replayed === 1 && summary.refused === 2, `the summary is ${JSON.stringify(summary)}`);
}

/** Finds a dividend of a stock that the users hold, by its symbol and status, and reads it. */
async function actions(client: Client<paths>): Promise<string> {
  const list = await client.GET("/v1/corporate-actions", { params: { query: { assetSymbol: "aapl", status: "announced" } } });
  saw("listCorporateActions", 200, list);
  const [action, ...more] = list.data?.corporateActions ?? [];
  check(action !== undefined && more.length === 0, `the corporate actions are ${JSON.stringify(list.data)}`);
  check(action.type === "cash_dividend" && action.cashRate === 0.25 && action.newRate === null, "the rates of a dividend");
  check(action.appliedAt === null && action.exDate === "2099-12-01", `the dividend is ${JSON.stringify(action)}`);
  const path = { corporateActionId: action.id };
  saw("getCorporateAction", 200, await client.GET("/v1/corporate-actions/{corporateActionId}", { params: { path } }));
  const effects = await client.GET("/v1/corporate-actions/{corporateActionId}/effects", { params: { path } });
  saw("listCorporateActionEffects", 200, effects);
  check(effects.data?.effects.every((effect) => effect.amountUsd === null || effect.amountUsd >= 0) === true, "the effects");
  return action.id;
}

// Amounts that a 32-bit float or a careless conversion changes.
const amounts = [999999.99, 123456.789012, 167772.17, 1000000, 0.3];

async function main(): Promise<void> {
  const url = process.env["REWARDS_URL"] ?? "";
  const key = process.env["REWARDS_KEY"] ?? "";
  const client = dial(url, key);
  const assets = await client.GET("/v1/assets");
  saw("listAssets", 200, assets);
  check(assets.data?.assets.some((asset) => asset.symbol === "AAPL") === true, "AAPL is not in the catalog");
  saw("listBudgets", 200, await client.GET("/v1/budgets"));
  saw("getDocument", 200, await client.GET("/openapi.json"));
  let last: [User, Reward] | undefined;
  for (const [i, amount] of amounts.entries()) last = await give(client, `ts-${i}`, amount);
  check(last !== undefined, "nothing was given");
  await pages(client, amounts.length, amounts.length);
  await batch(client, last[0]);
  const [user, reward] = last;
  const action = await actions(client);
  const event = await events(url, key, client, reward);
  const reversal = await reversals(client, reward);
  const program = { url, key, client, user, reward, action, event, reversal };
  await webhooks(program);
  await errors(program);
}

await main();
