package main

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"stockrewards/client"
)

// triggerDollars is the amount of each award that a trigger gives.
const triggerDollars = "5.25"

// quiet returns a stock of the catalog without corporate actions.
func (t *trigger) quiet(ctx context.Context) (symbol string, err error) {
	assets, err := t.client.Assets(ctx)
	if err != nil {
		return "", err
	}
	swap := func(i, j int) { assets[i], assets[j] = assets[j], assets[i] }
	rand.Shuffle(len(assets), swap) //nolint:gosec // any will do
	for _, a := range assets {
		busy := false
		for _, err := range t.client.CorporateActions(ctx, client.ActionFilter{AssetSymbol: a.Symbol}) {
			if err != nil {
				return "", err
			}
			busy = true
			break
		}
		if !busy {
			return a.Symbol, nil
		}
	}
	return "", errors.New("every stock of the catalog has corporate actions: name one with --stock")
}

// award gives an award to a new user.
func (t *trigger) award(ctx context.Context) (client.Reward, error) {
	name := "trigger-" + strings.ToLower(cryptorand.Text())
	user, err := t.client.CreateUser(ctx, client.NewUser{ExternalID: name})
	if err != nil {
		return client.Reward{}, err
	}
	sayf("Created the user %s (%s).\n", name, user.ID)
	given, err := t.client.Award(ctx, client.NewReward{
		UserID: user.ID, IdempotencyKey: name, AmountUSD: client.MustDecimal(triggerDollars), AssetSymbol: t.stock,
	})
	if err == nil {
		sayf("Gave $%s of %s: award %s.\n", triggerDollars, t.stock, given.Reward.ID)
	}
	return given.Reward, err
}

// bought gives an award and waits until it is bought.
func (t *trigger) bought(ctx context.Context) (client.Reward, error) {
	given, err := t.award(ctx)
	if err != nil {
		return given, err
	}
	r, err := t.client.Await(ctx, given.ID)
	switch {
	case ctx.Err() != nil:
		return r, t.explain(context.WithoutCancel(ctx), given.ID, context.Cause(ctx))
	case err != nil:
		return r, err
	case r.Status != client.Executed:
		return r, fmt.Errorf("the award failed: %s", r.FailureReason)
	}
	sayf("It is bought.\n")
	return r, nil
}

// explain adds what an award waits for to an error.
func (t *trigger) explain(ctx context.Context, id string, cause error) error {
	timeline, err := t.client.Timeline(ctx, id)
	if err != nil || len(timeline) == 0 {
		return errors.Join(cause, err)
	}
	return fmt.Errorf("the award is not bought: %w; it waits: %s", cause, timeline[len(timeline)-1].Message)
}

func (t *trigger) executed(ctx context.Context) (func(client.Event) bool, error) {
	r, err := t.bought(ctx)
	return aboutReward(r.ID), err
}

func aboutReward(id string) func(client.Event) bool {
	return func(e client.Event) bool { return e.Data.Reward != nil && e.Data.Reward.ID == id }
}

func (t *trigger) failed(ctx context.Context) (func(client.Event) bool, error) {
	if err := t.fault(ctx, "error on=submit status=422 times=1 symbol="+t.stock); err != nil {
		return nil, err
	}
	sayf("The brokerage will refuse the next order of %s.\n", t.stock)
	r, err := t.award(ctx)
	t.result = func(e client.Event) { sayf("The reason: %s\n", e.Data.Reward.FailureReason) }
	return aboutReward(r.ID), err
}

func (t *trigger) reversed(ctx context.Context) (func(client.Event) bool, error) {
	r, err := t.bought(ctx)
	if err != nil {
		return nil, err
	}
	back, err := t.client.Reverse(ctx, r.ID, client.NewReversal{IdempotencyKey: r.IdempotencyKey, Reason: "a trigger"})
	if err == nil {
		sayf("Took it back: reversal %s.\n", back.ID)
	}
	return func(e client.Event) bool { return e.Data.Reversal != nil && e.Data.Reversal.ID == back.ID }, err
}

func aboutAction(id string) func(client.Event) bool {
	return func(e client.Event) bool { return e.Data.CorporateAction != nil && e.Data.CorporateAction.ID == id }
}

// dividend gives an award and announces a dividend of its stock, so small and late that it changes nothing now.
func (t *trigger) dividend(ctx context.Context) (id string, err error) {
	const exDays, payDays = 30, 37
	if _, err = t.bought(ctx); err != nil {
		return "", err
	}
	now, err := t.brokerage.newYork(ctx)
	if err != nil {
		return "", err
	}
	return t.announce(ctx, map[string]any{
		"type": "cash_dividend", "symbol": t.stock, "rate": 0.01,
		"ex_date": day(now.AddDate(0, 0, exDays)), "payable_date": day(now.AddDate(0, 0, payDays)),
	})
}

func (t *trigger) announced(ctx context.Context) (func(client.Event) bool, error) {
	id, err := t.dividend(ctx)
	t.result = func(client.Event) {
		sayf("It stays announced. To withdraw it: curl -X DELETE %s%s/%s\n", t.brokerage, actionsPath, id)
	}
	return aboutAction(id), err
}

func (t *trigger) withdrawn(ctx context.Context) (func(client.Event) bool, error) {
	id, err := t.dividend(ctx)
	if err != nil {
		return nil, err
	}
	sayf("Waiting until the service has read it.\n")
	for e, err := range t.client.Events(ctx, 0, "corporate_action.announced") {
		if err != nil || aboutAction(id)(e) {
			break
		}
	}
	if err := t.brokerage.withdraw(ctx, id); err != nil {
		return nil, err
	}
	sayf("Withdrew it.\n")
	return aboutAction(id), nil
}

// split gives an award and splits its stock 11 for 10: so little that it can be done again and again.
func (t *trigger) split(ctx context.Context) (func(client.Event) bool, error) {
	const happens = 2*time.Hour + 30*time.Minute // after midnight
	if _, err := t.bought(ctx); err != nil {
		return nil, err
	}
	now, err := t.brokerage.newYork(ctx)
	if err != nil {
		return nil, err
	}
	id, err := t.announce(ctx, map[string]any{
		"type": "forward_split", "symbol": t.stock, "old_rate": 10, "new_rate": 11,
		"ex_date": day(now.Add(-happens)), // it has passed, so the split happens at once
	})
	return aboutAction(id), err
}

func (t *trigger) held(ctx context.Context) (func(client.Event) bool, error) {
	if err := t.fault(ctx, "wrong-ratio times=1 symbol="+t.stock); err != nil {
		return nil, err
	}
	isIt, err := t.split(ctx)
	t.result = func(e client.Event) {
		sayf("%s is not ordered until an operator decides. See what is wrong, then ignore the action:\n"+
			"  stockrewards action show %s --database URL\n"+
			"  stockrewards action ignore %s --reason TEXT --database URL\n",
			t.stock, e.Data.CorporateAction.ID, e.Data.CorporateAction.ID)
	}
	return isIt, err
}

func (t *trigger) ping(ctx context.Context) (func(client.Event) bool, error) {
	sent := 0
	for e, err := range t.client.WebhookEndpoints(ctx) {
		if err != nil {
			return nil, err
		}
		if e.Status != "enabled" {
			continue
		}
		var answer struct{ EventID string }
		if err := t.client.Do(ctx, "POST", "/v1/webhook-endpoints/"+e.ID+"/test", struct{}{}, &answer); err != nil {
			return nil, err
		}
		sayf("Sent test.ping to %s: event %s\n", e.URL, answer.EventID)
		sent++
	}
	if sent == 0 {
		return nil, errors.New("the app has no enabled webhook endpoint: create one with POST /v1/webhook-endpoints")
	}
	return nil, errSent
}
