package test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "stockrewards/client"
)

// The project's own Go client gives awards, follows them and reads every list of the built
// service. No digit is lost.
func TestGoClient(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--pooling-window", "50ms")
	c := sdk.New(s.url, s.key)
	ctx := t.Context()
	const symbol = "KO"
	for _, amount := range []string{"999999.99", "123456.789", "0.000001"} {
		user := call[sdk.User](t)(c.CreateUser(ctx, sdk.NewUser{ExternalID: "digits of " + amount}))
		award := sdk.NewReward{
			UserID: user.ID, IdempotencyKey: "digits of " + amount, AmountUSD: sdk.MustDecimal(amount), AssetSymbol: symbol,
		}
		given := call[sdk.Given](t)(c.Award(ctx, award))
		again := call[sdk.Given](t)(c.Award(ctx, award))
		if given.Reward.AmountUSD != award.AmountUSD || given.Replay || !again.Replay || again.Reward.ID != given.Reward.ID {
			t.Errorf("%s: %+v, then %+v", amount, given, again)
		}
		if amount == "0.000001" {
			continue // too small to be bought alone
		}
		done := call[sdk.Reward](t)(c.Await(ctx, given.Reward.ID))
		p := call[sdk.Portfolio](t)(c.Portfolio(ctx, user.ID))
		sent := string(s.must(200, "GET", "/v1/users/"+user.ID+"/portfolio", "").body)
		if done.Status != sdk.Executed || p.CostBasis != award.AmountUSD || p.Holdings[0].CostBasis != award.AmountUSD ||
			!strings.Contains(sent, `"quantity":`+p.Holdings[0].Quantity.String()+",") || len(p.Holdings[0].Quantity.String()) < 10 {
			t.Errorf("%s: %+v of %s", amount, p, sent)
		}
	}
	clientLists(t, c)
	clientFollows(t, s, c)
	clientEvents(t, c)
	clientErrors(t, s, c)
	clientTakesBack(t, s, c)
	clientEndpoints(t, c)
}

func clientLists(t *testing.T, c *sdk.Client) {
	t.Helper()
	users, rewards := 0, 0
	for u, err := range sdk.List[sdk.User](t.Context(), c, "/v1/users", map[string][]string{"limit": {"2"}}) {
		noError(t, err)
		users += len(u.ID) / 36
	}
	for r, err := range c.Rewards(t.Context(), sdk.RewardFilter{Status: sdk.Executed}) {
		noError(t, err)
		rewards += len(r.ID) / 36
	}
	assets := call[[]sdk.Asset](t)(c.Assets(t.Context()))
	if users != 3 || rewards != 2 || len(assets) < 900 {
		t.Errorf("%d users, %d executed rewards, %d assets", users, rewards, len(assets))
	}
	for a, err := range c.CorporateActions(t.Context(), sdk.ActionFilter{AssetSymbol: "KO"}) {
		t.Errorf("an action: %+v %v", a, err)
	}
}

// clientFollows reads budgets, and what changed the holdings of users.
func clientFollows(t *testing.T, s *service, c *sdk.Client) {
	t.Helper()
	s.command("budget", "set", "tester", "--name", "spring", "--per", "app", "--period", "total", "--limit", "2000000")
	budgets := call[[]sdk.Budget](t)(c.Budgets(t.Context()))
	if len(budgets) != 1 || budgets[0].Name != "spring" || budgets[0].UsedUSD.String() != "1123456.779001" || budgets[0].ResetsAt != nil {
		t.Errorf("the budgets are %+v", budgets)
	}
	for r, err := range c.Rewards(t.Context(), sdk.RewardFilter{Status: sdk.Executed}) {
		noError(t, err)
		entries := 0
		for a, err := range c.Activity(t.Context(), r.UserID) {
			noError(t, err)
			entries++
			if a.Type != "award" || a.RewardID != r.ID || a.CostBasis != r.AmountUSD || a.PriceUSD == nil {
				t.Errorf("the activity is %+v", a)
			}
		}
		if entries != 1 {
			t.Errorf("%d entries", entries)
		}
	}
}

// clientEvents follows the feed: it has each executed award once, and waits for the next one.
func clientEvents(t *testing.T, c *sdk.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	late := call[sdk.User](t)(c.CreateUser(ctx, sdk.NewUser{ExternalID: "late"}))
	var last int64
	var amounts []string
	for e, err := range c.Events(ctx, 0, "reward.executed") {
		noError(t, err)
		if again := call[sdk.Event](t)(c.Event(ctx, e.ID)); again.Sequence != e.Sequence || e.Sequence <= last {
			t.Errorf("%+v after %d, and again %+v", e, last, again)
		}
		last = e.Sequence
		amounts = append(amounts, e.Data.Reward.AmountUSD.String())
		if len(amounts) == 2 { // all events were read: the next one comes later
			call[sdk.Given](t)(c.Award(ctx, sdk.NewReward{
				UserID: late.ID, IdempotencyKey: "late award", AmountUSD: sdk.MustDecimal("7.77"), AssetSymbol: "AAPL",
			}))
		}
		if amounts[len(amounts)-1] == "7.77" {
			break
		}
	}
	want := []string{"999999.99", "123456.789", "7.77"}
	if got := slices.DeleteFunc(amounts, func(a string) bool { return a == "0.000001" }); !slices.Equal(got, want) {
		t.Errorf("the feed has %v, want %v", got, want)
	}
}

func clientErrors(t *testing.T, s *service, c *sdk.Client) {
	t.Helper()
	_, err := c.Award(t.Context(), sdk.NewReward{UserID: "x", AssetSymbol: "KO"})
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Code != sdk.CodeBadRequest || len(e.Issues()) != 3 || e.RequestID == "" || strings.Contains(err.Error(), s.key) {
		t.Errorf("a bad award: %v", err)
	}
	results := call[[]sdk.Result](t)(c.AwardAll(t.Context(), []sdk.NewReward{
		{UserID: "x", IdempotencyKey: "batch-key-1", AmountUSD: sdk.MustDecimal("1"), AssetSymbol: "KO"},
	}))
	if len(results) != 1 || results[0].Status != 400 || sdk.CodeOf(results[0].Error) != sdk.CodeBadRequest {
		t.Errorf("%+v", results)
	}
	stranger := sdk.New(s.url, "sr_test_none")
	if _, err := stranger.Assets(t.Context()); sdk.CodeOf(err) != sdk.CodeUnauthorized {
		t.Errorf("a wrong key: %v", err)
	}
}

// The project's TypeScript client passes its tests, does the same with the built service, and
// its package has what users need.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	folder := typescriptClient(t)
	runIn(t, folder, "npm", "test")
	s := newService(t, t.TempDir())
	s.command("budget", "set", "tester", "--name", "large", "--per", "app", "--period", "total", "--limit", "2000000.000001")
	s.start("--pooling-window", "50ms")
	runWith(t, folder, []string{"REWARDS_URL=" + s.url, "REWARDS_KEY=" + s.key}, "npm", "run", "test:service")
	packed := runIn(t, folder, "npm", "pack", "--ignore-scripts", "--json", "--dry-run")
	for _, want := range []string{"README.md", "LICENSE", "package.json", "dist/src/index.js", "dist/src/index.d.ts", "dist/src/generated/api.d.ts"} {
		if !strings.Contains(packed, `"path": "`+want+`"`) {
			t.Errorf("the package lacks %s: %s", want, packed)
		}
	}
	if strings.Contains(packed, filepath.Join("dist", "test")) {
		t.Error("the package has tests")
	}
}

var readmeCode = regexp.MustCompile("(?s)```ts not-run=TestReadmeInTypeScript\n(.*?)\n```")

// The README's program in TypeScript runs as it is shown, apart from the address.
func TestReadmeInTypeScript(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--pooling-window", "50ms")
	text, err := os.ReadFile("../README.md")
	noError(t, err)
	code := readmeCode.FindSubmatch(text)
	if code == nil {
		t.Fatal("the README has no program in TypeScript")
	}
	program := strings.ReplaceAll(string(code[1]), "http://127.0.0.1:8080", s.url)
	out := runTypeScript(t, typescriptClient(t), nil, program, []string{"API_KEY=" + s.key})
	if !strings.Contains(out, "executed") || !strings.Contains(out, "costBasis: '5.25'") {
		t.Errorf("it printed %s", out)
	}
}
