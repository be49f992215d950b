import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Webhook as Signer } from "standardwebhooks";
import { read, write } from "../src/decimal.js";
import { connect, RewardsError, verifyWebhook, type Rewards } from "../src/index.js";

type Answer = { status: number; body?: string; headers?: Record<string, string> } | Error;

/** A client over answers in memory, one after the other, the last one again. It records what is sent. */
function over(...answers: Answer[]): { rewards: Rewards; sent: string[] } {
  const sent: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(`${request.method} ${request.url.replace("http://rewards.example", "")} ${await request.text()}`.trim());
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (answer === undefined || answer instanceof Error) throw answer;
    const headers = { "content-type": "application/json", ...answer.headers };
    return new Response(answer.body ?? null, { status: answer.status, headers });
  };
  return { rewards: connect({ url: "http://rewards.example/", key: "key", fetch, maxWait: 2000 }), sent };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  ({ status, headers, body: JSON.stringify({ error: { code, message: "m", requestId: "r", details: [1] } }) });
const given: Answer = { status: 201, body: '{"reward":{"id":"1","amountUsd":999999.99},"idempotentReplay":false}' };
const award = { userId: "u", idempotencyKey: "key-12345", amountUsd: "123456.789", assetSymbol: "AAPL" };

test("decimals keep every digit in both directions", () => {
  for (const text of ["999999.99", "123456.789", "0.000001", "1234567890.123456789", "0", "-3.5", "9007199254740993"]) {
    assert.equal((read(`{"quantity":${text}}`) as { quantity: string }).quantity, text);
    assert.equal(write({ quantity: text }), `{"quantity":${text}}`);
  }
  assert.deepEqual(read('{"sequence":7,"a":[1.5,null,true],"amountUsd":null}'), { sequence: 7, a: [1.5, null, true], amountUsd: null });
  assert.deepEqual(read('{"metadata":{"quantity":2,"big":9007199254740993,"s":"1"}}'),
    { metadata: { quantity: 2, big: "9007199254740993", s: "1" } });
  assert.equal(write({ metadata: { quantity: "2", n: 1 }, list: [{ amountUsd: "5.250" }] }), '{"metadata":{"quantity":"2","n":1},"list":[{"amountUsd":5.250}]}');
  assert.equal(write({ metadata: { at: new Date(0), link: new URL("https://x.example/y"), list: [new Date(0)] } }),
    '{"metadata":{"at":"1970-01-01T00:00:00.000Z","link":"https://x.example/y","list":["1970-01-01T00:00:00.000Z"]}}');
  for (const wrong of ["", "five", "1e3", "+1", "01", ".5"]) assert.throws(() => write({ amountUsd: wrong }), /must be a decimal/);
});

test("an award is sent again with the same bytes, as late as the service asks", async () => {
  const { rewards, sent } = over(new TypeError("reset"), refusal(503, "internal_error", { "retry-after": "1" }), given);
  const began = Date.now();
  const { reward } = await rewards.award(award);
  assert.equal(reward.amountUsd, "999999.99");
  assert.equal(sent.length, 3);
  assert.ok(sent.every((s) => s === 'POST /v1/rewards {"userId":"u","idempotencyKey":"key-12345","amountUsd":123456.789,"assetSymbol":"AAPL"}'), sent.join());
  assert.ok(Date.now() - began >= 1000);
});

test("what is not safe is sent once", async () => {
  for (const [answer, times] of [[new TypeError("reset"), 1], [refusal(503, "internal_error"), 1], [refusal(429, "forbidden"), 2]] as const) {
    const { rewards, sent } = over(answer, { status: 201, body: '{"user":{}}' });
    await rewards.POST("/v1/users", { body: { externalId: "x" } }).catch(() => undefined);
    assert.equal(sent.length, times);
  }
});

test("a request without a key is sent again when there was no connection", async () => {
  const cause = (members: object): TypeError => new TypeError("fetch failed", { cause: Object.assign(new Error("m"), members) });
  const refused = new TypeError("fetch failed", { cause: new AggregateError([new Error("refused")]) });
  for (const [error, times] of [[cause({ code: "ENOTFOUND", syscall: "getaddrinfo" }), 2], [cause({ code: "EHOSTUNREACH", syscall: "connect" }), 2],
    [cause({ code: "UND_ERR_CONNECT_TIMEOUT" }), 2], [refused, 2], [cause({ code: "EHOSTUNREACH", syscall: "read" }), 1]] as const) {
    const { rewards, sent } = over(error, { status: 201, body: '{"user":{}}' });
    await rewards.POST("/v1/users", { body: { externalId: "x" } }).catch(() => undefined);
    assert.equal(sent.length, times);
  }
});

test("a signal is not kept by what was done under it", async () => {
  const { signal } = new AbortController();
  const { rewards } = over({ status: 200, body: '{"events":[{"sequence":8}]}', headers: { link: '</v1/events?after=8>; rel="next"' } });
  for await (const event of rewards.events(0, [], signal)) if (event.sequence === 8) break;
  const open: Answer = { status: 200, body: '{"reward":{"id":"1","status":"recorded"}}' };
  await over(open, { status: 200, body: '{"reward":{"id":"1","status":"failed"}}' }).rewards.awaitReward("1", signal);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("an empty filter is sent, so that it does not list everything", async () => {
  const { rewards, sent } = over(refusal(400, "bad_request"));
  await assert.rejects(rewards.users({ email: "" }).next(), RewardsError);
  assert.deepEqual(sent, ["GET /v1/users?email="]);
  const feed = over(refusal(400, "bad_request"));
  await assert.rejects(feed.rewards.events(7).next(), RewardsError);
  await assert.rejects(feed.rewards.list("/v1/users?email=", { limit: 2 }).next(), RewardsError);
  assert.deepEqual(feed.sent, ["GET /v1/events?after=7&wait=20&limit=200", "GET /v1/users?email=&limit=2"]);
});

test("an award is sent again after 500, and a request without a key is not", async () => {
  const { rewards, sent } = over(refusal(500, "internal_error"), given);
  assert.equal((await rewards.award(award)).reward.id, "1");
  assert.equal(sent.length, 2);
  const once = over(refusal(500, "internal_error"));
  await assert.rejects(once.rewards.POST("/v1/users", { body: { externalId: "x" } }), RewardsError);
  assert.equal(once.sent.length, 1);
});

test("a Retry-After may be a date", async () => {
  const at = (seconds: number): string => new Date(Date.now() + 1000 * seconds).toUTCString();
  for (const [header, least, most] of [[at(3600), 3598, 3600], [at(-3600), 0, 0], ["Soon", 0, 0], ["-1", 0, 0], ["30", 30, 30]] as const) {
    const { rewards } = over(refusal(503, "internal_error", { "retry-after": header }));
    const call = rewards.POST("/v1/users", { body: { externalId: "x" } });
    await assert.rejects(call, (error) => error instanceof RewardsError && error.retryAfter >= least && error.retryAfter <= most);
  }
});

/** A server that reads requests and never answers in full. It collects garbage all the time. */
async function silent(t: TestContext, part = ""): Promise<string> {
  const server = createServer((_, response) => {
    if (part === "") return;
    response.writeHead(200, { "content-type": "application/json" });
    response.write(part);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  setFlagsFromString("--expose-gc");
  const timer = setInterval(runInNewContext("gc") as () => void, 10);
  t.after(() => { clearInterval(timer); server.closeAllConnections(); server.close(); });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [what, part] of [["an answer", ""], ["the rest of an answer", '{"reward":']] as const) {
  test(`the time limit ends the wait for ${what}`, { timeout: 10_000 }, async (t) => {
    const rewards = connect({ url: await silent(t, part), key: "key", timeout: 500, attempts: 1 });
    await assert.rejects(rewards.award(award), { name: "TimeoutError", message: "The operation was aborted due to timeout" });
    await assert.rejects(rewards.portfolio("u"), { name: "TimeoutError" });
    await assert.rejects(rewards.events().next(), { name: "TimeoutError" });
  });

  test(`the caller's signal ends the wait for ${what}`, { timeout: 10_000 }, async (t) => {
    const rewards = connect({ url: await silent(t, part), key: "key" });
    const mine = new Error("mine");
    const stop = new AbortController();
    setTimeout(() => stop.abort(mine), 500);
    await assert.rejects(rewards.events(0, [], stop.signal).next(), mine);
    await assert.rejects(rewards.awaitReward("r", stop.signal), mine); // it is aborted before the request
  });
}

test("a time limit may be longer than the longest timer", async () => {
  const answer = { status: 200, headers: { "content-type": "application/json" } };
  const fetch = (request: Request): Promise<Response> => new Promise((resolve, reject) => {
    request.signal.addEventListener("abort", () => reject(request.signal.reason));
    setTimeout(() => resolve(new Response('{"budgets":[]}', answer)), 100);
  });
  const rewards = connect({ url: "http://rewards.example", key: "key", fetch, timeout: 2 ** 40 });
  assert.deepEqual(await rewards.budgets(), []);
});

test("errors have a type, and a long Retry-After ends the retries", async () => {
  const { rewards, sent } = over(refusal(503, "internal_error", { "retry-after": "3600" }));
  await assert.rejects(rewards.portfolio("u"), (error) => error instanceof RewardsError && error.status === 503
    && error.code === "internal_error" && error.requestId === "r" && error.retryAfter === 3600);
  assert.equal(sent.length, 1);
  const price = over(refusal(502, "upstream_error"));
  await assert.rejects(price.rewards.portfolio("u"), RewardsError);
  assert.equal(price.sent.length, 1);
});

test("an answer of a program in between is no success", async () => {
  for (const body of ["", "null", "{}", '{"ok":true}', '{"ok":"yes"}', '{"reward":null}', '{"results":[]}', '{"events":null}', "<html>"]) {
    const { rewards, sent } = over({ status: 200, body });
    await assert.rejects(rewards.award(award), RewardsError, body);
    await assert.rejects(rewards.awardAll([award]), RewardsError, body);
    await assert.rejects(rewards.reverse("r", { idempotencyKey: "key-12345" }), RewardsError, body);
    await assert.rejects(rewards.createUser({ email: "a@b.c" }), RewardsError, body);
    await assert.rejects(rewards.awaitReward("r"), RewardsError, body);
    await assert.rejects(rewards.portfolio("u"), RewardsError, body);
    assert.equal(sent.length, 6);
    if (body !== '{"results":[]}') await assert.rejects(rewards.rewards().next(), RewardsError, body); // which is a list
    await assert.rejects(rewards.events(42).next(), RewardsError, body);
    assert.equal(sent.at(-1), "GET /v1/events?after=42&wait=20&limit=200");
  }
});

test("an error that is not the service's has its status", async () => {
  const broken = over({ status: 401, body: '{"error":' });
  await assert.rejects(broken.rewards.portfolio("u"), (error) => error instanceof RewardsError && error.status === 401);
  assert.equal(broken.sent.length, 1);
  const vague: Answer = { status: 409, body: '{"error":{"code":"conflict"}}' };
  await assert.rejects(over(new TypeError("reset"), vague).rewards.createUser({ email: "a@b.c" }),
    (error) => error instanceof RewardsError && error.status === 409);
});

test("a user is found after a lost answer, and another one's is a conflict", async () => {
  const taken: Answer = { status: 409, body: '{"error":{"code":"conflict","details":{"field":"email","userId":"u-1"}}}' };
  const found: Answer = { status: 200, body: '{"user":{"id":"u-1","email":"ADA@b.c","externalId":null}}' };
  const other: Answer = { status: 200, body: '{"user":{"id":"u-1","email":"ada@b.c","externalId":"x"}}' };
  const lost = new TypeError("reset");
  assert.equal((await over(lost, taken, found).rewards.createUser({ email: "ada@b.c" })).id, "u-1");
  await assert.rejects(over(lost, taken, other).rewards.createUser({ email: "ada@b.c" }), RewardsError);
  await assert.rejects(over(taken, found).rewards.createUser({ email: "ada@b.c" }), RewardsError);
});

test("a list has every page, and the feed goes on after the last sequence", async () => {
  const { rewards, sent } = over(
    { status: 200, body: '{"rewards":[{"id":"3"},{"id":"2"}]}', headers: { link: '</v1/rewards?cursor=c%3D&limit=2>; rel="next"' } },
    { status: 200, body: '{"rewards":[{"id":"1"}]}' });
  const ids = [];
  for await (const reward of rewards.rewards({ limit: 2 })) ids.push(reward.id);
  assert.deepEqual(ids, ["3", "2", "1"]);
  assert.deepEqual(sent, ["GET /v1/rewards?limit=2", "GET /v1/rewards?limit=2&cursor=c%3D"]);
  const page = (sequences: number[], after: number): Answer => ({
    status: 200, body: JSON.stringify({ events: sequences.map((sequence) => ({ sequence })) }),
    headers: { link: `</v1/events?after=${after}>; title="more"; rel="next"` },
  });
  const feed = over(page([8, 10], 10), page([], 12), page([13], 13));
  const sequences = [];
  for await (const event of feed.rewards.events(7, ["reward.executed"])) {
    sequences.push(event.sequence);
    if (event.sequence === 13) break;
  }
  assert.deepEqual(sequences, [8, 10, 13]);
  assert.equal(feed.sent[2], "GET /v1/events?after=12&types=reward.executed&wait=20&limit=200");
  const cut = over({ status: 200, body: '{"events":[]}' });
  await assert.rejects(cut.rewards.events().next(), RewardsError);
  const typed = over(page([], 1));
  await typed.rewards.GET("/v1/events", { params: { query: { types: ["reward.executed", "reward.failed"] } } });
  assert.deepEqual(typed.sent, ["GET /v1/events?types=reward.executed,reward.failed"]);
});

test("webhooks are verified as another implementation signs them", async () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const body = '{"type":"reward.executed","timestamp":"2026-03-02T09:30:00.125Z","data":{"reward":{"amountUsd":0.000001}}}';
  const sign = (at: Date): Record<string, string> => ({
    "webhook-id": "msg_1", "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "x-event-sequence": "7",
    "webhook-signature": `v1,AAAA ${new Signer(secret).sign("msg_1", at, body)}`,
  });
  const event = await verifyWebhook(secret, sign(new Date()), body);
  assert.equal(event.id, "msg_1");
  assert.equal(event.sequence, 7);
  assert.equal(event.data.reward?.amountUsd, "0.000001");
  const { "webhook-id": id, ...others } = sign(new Date());
  const ofNode: IncomingHttpHeaders = { ...others, "Webhook-ID": id, ":method": "POST", "set-cookie": [], "x-event-sequence": undefined };
  assert.equal((await verifyWebhook(secret, ofNode, Buffer.from(body))).sequence, 0);
  await assert.rejects(verifyWebhook(secret, sign(new Date()), `${body} `), /signature/);
  await assert.rejects(verifyWebhook("whsec_AAAA", sign(new Date()), body), /signature/);
  await assert.rejects(verifyWebhook(secret, {}, body), /signature/);
  await assert.rejects(verifyWebhook(secret, sign(new Date(Date.now() - 301_000)), body), /clock/);
});
