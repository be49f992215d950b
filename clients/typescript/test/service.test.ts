// Against a running service: REWARDS_URL and REWARDS_KEY. The project's tests start one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../src/index.js";

const { REWARDS_URL: url, REWARDS_KEY: key } = process.env;

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
  let count = 0;
  for await (const found of rewards.rewards({ limit: 2 })) count += found.id === "" ? 0 : 1;
  assert.equal(count, 4);
});
