// Against a running service: REWARDS_URL and REWARDS_KEY. The project's tests start one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../src/index.js";

const { REWARDS_URL: url, REWARDS_KEY: key } = process.env;

/** Goes to the end of a list. */
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("an award is taken back, and its shares keep nine decimals", async () => {
  const rewards = connect({ url: url!, key: key! });
  const user = await rewards.createUser({ externalId: "taken back" });
  const { reward } = await rewards.award({ userId: user.id, idempotencyKey: "to take back", amountUsd: "123456.789", assetSymbol: "MSFT" });
  await rewards.awaitReward(reward.id);
  let parts = 0;
  let quantity = "";
  for (; !/[.][0-9]{9}$/.test(quantity); parts++) {
    const body = { idempotencyKey: `part-of-it-${parts}`, amountUsd: "0.000001", reason: "a test" };
    const { reversal } = await rewards.reverse(reward.id, body);
    assert.equal(reversal.amountUsd, "0.000001");
    assert.equal((await rewards.reverse(reward.id, body)).idempotentReplay, true);
    while ((await rewards.reversal(reversal.id)).status !== "completed") await new Promise((resolve) => setTimeout(resolve, 50));
    quantity = (await rewards.portfolio(user.id)).holdings[0]!.quantity;
  }
  const direct = await fetch(`${url}/v1/users/${user.id}/portfolio`, { headers: { "x-api-key": key! } });
  assert.ok((await direct.text()).includes(`"quantity":${quantity},`));
  assert.equal((await all(rewards.reversals({ rewardId: reward.id, limit: 1 }))).length, parts);
  const activity = await all(rewards.activity(user.id, { limit: 1 }));
  const sum = activity.reduce((total, a) => total + BigInt(a.costBasis.replace(/^(-?)([0-9]+)[.]?([0-9]*)$/, (_, sign, whole, part) => sign + whole + part.padEnd(6, "0"))), 0n);
  assert.equal(sum, 123456789000n - BigInt(parts));
  assert.deepEqual((await rewards.timeline(reward.id)).map((m) => m.type).filter((t) => t === "recorded"), ["recorded"]);
  const executed = [];
  for await (const event of rewards.events(0, ["reversal.completed"])) {
    executed.push(event.data.reversal!.amountUsd);
    if (executed.length === parts) break;
  }
  assert.ok(executed.every((amount) => amount === "0.000001"));
});

test("budgets and addresses of webhooks", async () => {
  const rewards = connect({ url: url!, key: key! });
  assert.deepEqual((await rewards.budgets()).map((b) => [b.name, b.limitUsd]), [["large", "2000000.000001"]]);
  const { webhookEndpoint: { id }, secret } = await rewards.createWebhookEndpoint({ url: "https://hooks.example.com/in" });
  assert.match(secret, /^whsec_/);
  assert.equal((await rewards.changeWebhookEndpoint(id, { status: "disabled" })).status, "disabled");
  assert.notEqual(await rewards.rotateWebhookSecret(id), secret);
  assert.match(await rewards.testWebhook(id), /^[0-9a-f-]{36}$/);
  await rewards.replayWebhooks(id, 0);
  assert.deepEqual((await all(rewards.webhookEndpoints())).map((e) => e.id), [id]);
  assert.deepEqual((await all(rewards.deliveries(id, { status: "pending" }))).map((d) => d.type), ["test.ping"]);
  await rewards.deleteWebhookEndpoint(id);
  assert.deepEqual(await all(rewards.webhookEndpoints()), []);
  assert.deepEqual(await all(rewards.corporateActions()), []);
});

test("a service buys, and no digit is lost", async () => {
  assert.ok(url && key, "set REWARDS_URL and REWARDS_KEY");
  const rewards = connect({ url, key });
  for (const amountUsd of ["999999.99", "123456.789", "0.000001"]) {
    const user = await rewards.createUser({ externalId: `digits of ${amountUsd}` });
    const award = { userId: user.id, idempotencyKey: `digits of ${amountUsd}`, amountUsd, assetSymbol: "KO", metadata: { exact: 1 } };
    const { reward } = await rewards.award(award);
    assert.equal(reward.amountUsd, amountUsd);
    assert.equal((await rewards.award(award)).idempotentReplay, true);
    if (amountUsd === "0.000001") continue; // too small to be bought alone
    assert.equal((await rewards.awaitReward(reward.id)).status, "executed");
    const portfolio = await rewards.portfolio(user.id);
    assert.equal(portfolio.costBasis, amountUsd);
    assert.match(portfolio.holdings[0]!.quantity, /^[0-9]+\.[0-9]{1,9}$/);
    const direct = await fetch(`${url}/v1/users/${user.id}/portfolio`, { headers: { "x-api-key": key } });
    assert.ok((await direct.text()).includes(`"quantity":${portfolio.holdings[0]!.quantity},`));
  }
  const [refused, bought] = await rewards.awardAll([
    { userId: "x", idempotencyKey: "batch-key-1", amountUsd: "1", assetSymbol: "KO" },
    { userId: (await rewards.createUser({ email: "b@example.com" })).id, idempotencyKey: "batch-key-2", amountUsd: "1.10", assetSymbol: "KO" },
  ]);
  assert.equal(refused?.status, 400);
  assert.equal(bought?.reward?.amountUsd, "1.1");
  const given = await all(rewards.rewards({ limit: 2 }));
  assert.equal(given.filter((r) => r.assetSymbol === "KO").length, 4);
});
