// Command rewardsclient is a client that somebody generated from the API document
// with oapi-codegen. TestGeneratedGoClient generates its package api, builds it and
// runs it against the built service; it prints the operation and the status of every
// answer that its generated types could read.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

const patience = 30 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	p := &program{url: os.Getenv("REWARDS_URL"), key: os.Getenv("REWARDS_KEY")}
	p.client = p.dial(p.url, p.key)
	for _, step := range []func(context.Context) error{
		p.rewards, p.pages, p.batch, p.actions, p.events, p.reversals, p.webhooks, p.errors,
	} {
		if err := step(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// program is one run against one service.
type program struct {
	url, key string
	client   *api.ClientWithResponses
	user     api.User    // one of the users
	reward   api.Reward  // one of the rewards
	action   string      // id of a corporate action
	event    api.EventId // id of an event
	reversal api.Id      // id of a reversal
	hook     uuid.UUID   // id of a webhook endpoint that was deleted
	count    int         // of users
}

// dial makes a client that sends a key.
func (p *program) dial(url, key string) *api.ClientWithResponses {
	client, err := api.NewClientWithResponses(url, api.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("x-api-key", key)
			return nil
		}))
	if err != nil {
		panic(err)
	}
	return client
}

// amounts are those that a 32-bit float or a careless conversion changes.
func amounts() map[float64]string {
	return map[float64]string{
		999999.99: "999999.99", 123456.789012: "123456.789012", 16777217.0 / 100: "167772.17",
		1000000: "1000000", 0.1 + 0.2: "0.3", 0.000001: "0.000001",
	}
}

// rewards awards each amount to a new user, waits for it and reads the portfolio.
func (p *program) rewards(ctx context.Context) error {
	assets, err := p.client.ListAssetsWithResponse(ctx, nil)
	if err := saw("listAssets", 200, assets, err); err != nil {
		return err
	}
	budgets, err := p.client.ListBudgetsWithResponse(ctx, nil)
	if err := saw("listBudgets", 200, budgets, err); err != nil {
		return err
	}
	document, err := p.client.GetDocumentWithResponse(ctx, nil)
	if err := saw("getDocument", 200, document, err); err != nil {
		return err
	}
	for amount, written := range amounts() {
		if err := p.give(ctx, amount, written); err != nil {
			return fmt.Errorf("%s: %w", written, err)
		}
	}
	return nil
}

func (p *program) give(ctx context.Context, amount float64, written string) error {
	p.count++
	name := fmt.Sprintf("go-%d", p.count)
	created, err := p.client.CreateUserWithResponse(ctx, nil, api.NewUser{ExternalId: &name})
	if err := saw("createUser", 201, created, err); err != nil {
		return err
	}
	p.user = created.JSON201.User
	award := api.NewReward{
		UserId: p.user.Id, IdempotencyKey: name + "-reward", AmountUsd: amount, AssetSymbol: "aapl",
		Metadata: &map[string]any{"campaign": "spring"},
	}
	given, err := p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 201, given, err); err != nil {
		return err
	}
	if !strings.Contains(string(given.Body), `"amountUsd":`+written+`,`) {
		return fmt.Errorf("the reward was recorded as %s", given.Body)
	}
	again, err := p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 200, again, err); err != nil {
		return err
	}
	if again.JSON200.Reward.Id != given.JSON201.Reward.Id || !bool(again.JSON200.IdempotentReplay) {
		return fmt.Errorf("the repetition was answered %s", again.Body)
	}
	if p.reward, err = p.executed(ctx, given.JSON201.Reward.Id); err != nil {
		return err
	}
	if err := p.history(ctx, amount); err != nil {
		return err
	}
	return p.portfolio(ctx, written)
}

// executed polls until the reward is bought.
func (p *program) executed(ctx context.Context, id api.RewardId) (api.Reward, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := p.client.GetRewardWithResponse(ctx, id, nil)
		if err := saw("getReward", 200, got, err); err != nil {
			return api.Reward{}, err
		}
		switch r := got.JSON200.Reward; {
		case r.Status == api.StatusExecuted && r.ExecutedAt != nil && r.FailureReason == nil:
			return r, nil
		case r.Status == api.StatusFailed, time.Now().After(deadline):
			return r, fmt.Errorf("the reward is %s", got.Body)
		}
	}
}

func (p *program) portfolio(ctx context.Context, written string) error {
	got, err := p.client.GetPortfolioWithResponse(ctx, p.user.Id, nil)
	if err := saw("getPortfolio", 200, got, err); err != nil {
		return err
	}
	if len(got.JSON200.Holdings) == 0 && written == "0.000001" {
		return nil // it came to less than a billionth of a share, or nearly
	}
	basis := fmt.Sprint(`"costBasis":`, written, `,`)
	if strings.Count(string(got.Body), basis) != 2 || got.JSON200.CostBasis != p.reward.AmountUsd {
		return fmt.Errorf("the portfolio is %s, want the cost basis %s", got.Body, written)
	}
	read, err := p.client.GetUserWithResponse(ctx, p.user.Id, nil)
	return saw("getUser", 200, read, err)
}
