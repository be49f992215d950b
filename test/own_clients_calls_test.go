package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "stockrewards/client"
)

// clientTakesBack takes millionths of an award back until the portfolio has nine decimals. No digit
// is lost: the activity adds up to the portfolio.
func clientTakesBack(t *testing.T, s *service, c *sdk.Client) {
	t.Helper()
	ctx := t.Context()
	user := call[sdk.User](t)(c.CreateUser(ctx, sdk.NewUser{ExternalID: "taken back"}))
	given := call[sdk.Given](t)(c.Award(ctx, sdk.NewReward{
		UserID: user.ID, IdempotencyKey: "to take back", AmountUSD: sdk.MustDecimal("123456.789"), AssetSymbol: "MSFT",
	}))
	call[sdk.Reward](t)(c.Await(ctx, given.Reward.ID))
	parts, quantity := 0, ""
	for ; ; parts++ {
		_, decimals, _ := strings.Cut(quantity, ".")
		if len(decimals) == 9 {
			break
		}
		r := sdk.NewReversal{
			IdempotencyKey: fmt.Sprint("part-of-it-", parts), AmountUSD: new(sdk.MustDecimal("0.000001")), Reason: "a test",
		}
		first := call[sdk.Reversal](t)(c.Reverse(ctx, given.Reward.ID, r))
		again := call[sdk.Reversal](t)(c.Reverse(ctx, given.Reward.ID, r))
		if first.ID != again.ID || first.AmountUSD.String() != "0.000001" || first.Reason != "a test" {
			t.Fatalf("%+v, then %+v", first, again)
		}
		s.eventually("the reversal", 10*time.Second, func() bool {
			return call[sdk.Reversal](t)(c.Reversal(ctx, first.ID)).CompletedAt != nil
		})
		quantity = call[sdk.Portfolio](t)(c.Portfolio(ctx, user.ID)).Holdings[0].Quantity.String()
	}
	raw := string(s.must(200, "GET", "/v1/users/"+user.ID+"/portfolio", "").body)
	if !strings.Contains(raw, `"quantity":`+quantity+",") {
		t.Errorf("the portfolio is %s, read as %s", raw, quantity)
	}
	found := 0
	for r, err := range c.Reversals(ctx, sdk.ReversalFilter{RewardID: given.Reward.ID, Status: "completed"}) {
		noError(t, err)
		found += len(r.ID) / 36
	}
	sum := sdk.MustDecimal("0").Rat()
	for a, err := range c.Activity(ctx, user.ID) {
		noError(t, err)
		sum.Add(sum, a.Quantity.Rat())
	}
	moments := call[[]sdk.Moment](t)(c.Timeline(ctx, given.Reward.ID))
	if found != parts || sum.FloatString(9) != quantity || len(moments) < 3 || moments[0].Type != "recorded" {
		t.Errorf("%d of %d reversals, %s of %s shares, %+v", found, parts, sum.FloatString(9), quantity, moments)
	}
}

// clientEndpoints goes through the life of an address of webhooks.
func clientEndpoints(t *testing.T, c *sdk.Client) {
	t.Helper()
	ctx := t.Context()
	made, secret, err := c.CreateWebhookEndpoint(ctx, sdk.NewWebhookEndpoint{URL: "https://hooks.example.com/in"})
	noError(t, err)
	off := call[sdk.WebhookEndpoint](t)(c.ChangeWebhookEndpoint(ctx, made.ID, sdk.EndpointChange{Status: new("disabled")}))
	if off.Status != "disabled" || !strings.HasPrefix(off.DisabledReason, "requested: ") || off.URL != made.URL {
		t.Errorf("%+v", off)
	}
	some := []string{"reward.failed"}
	call[sdk.WebhookEndpoint](t)(c.ChangeWebhookEndpoint(ctx, made.ID, sdk.EndpointChange{Types: some, Description: new("d")}))
	all := call[sdk.WebhookEndpoint](t)(c.ChangeWebhookEndpoint(ctx, made.ID, sdk.EndpointChange{AllTypes: true, EraseDescription: true}))
	if diff := cmp.Diff(made.Types, all.Types); diff != "" || all.Description != "" {
		t.Errorf("the description is %q, the types are (-all +got):\n%s", all.Description, diff)
	}
	if again := call[string](t)(c.RotateWebhookSecret(ctx, made.ID)); again == secret || !strings.HasPrefix(again, "whsec_") {
		t.Errorf("the secret is %s, then %s", secret, again)
	}
	ping := call[string](t)(c.TestWebhook(ctx, made.ID))
	noError(t, c.ReplayWebhooks(ctx, made.ID, 0))
	for d, err := range c.Deliveries(ctx, made.ID, "pending") {
		noError(t, err)
		if d.EventID != ping || d.Type != "test.ping" {
			t.Errorf("%+v", d)
		}
	}
	if read := call[sdk.WebhookEndpoint](t)(c.WebhookEndpoint(ctx, made.ID)); read.Status != "disabled" {
		t.Errorf("%+v", read)
	}
	noError(t, c.DeleteWebhookEndpoint(ctx, made.ID))
	for e, err := range c.WebhookEndpoints(ctx) {
		t.Errorf("%+v %v", e, err)
	}
}
