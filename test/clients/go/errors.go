package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

// coded is a generated answer.
type coded interface {
	StatusCode() int
	GetBody() []byte
}

// saw checks that an answer has the status and that the generated type read its body:
// the member of this status is there, and an error has its code and the request's id.
func saw[T coded](operation string, status int, answer T, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if answer.StatusCode() != status {
		return fmt.Errorf("%s: status %d, want %d: %s", operation, answer.StatusCode(), status, answer.GetBody())
	}
	whole := reflect.ValueOf(answer).Elem()
	parsed := whole.FieldByName(fmt.Sprint("JSON", status))
	if status == http.StatusNoContent {
		if len(answer.GetBody()) != 0 {
			return fmt.Errorf("%s: a 204 with the body %s", operation, answer.GetBody())
		}
		_, err = fmt.Println(operation, status)
		return err
	}
	if !parsed.IsValid() || parsed.IsNil() {
		return fmt.Errorf("%s: the client can't read its %d: %s", operation, status, answer.GetBody())
	}
	if status >= http.StatusBadRequest {
		failure := parsed.Elem().FieldByName("Error")
		id := whole.FieldByName(fmt.Sprint("Headers", status)).Elem().FieldByName("XRequestId").String()
		if failure.FieldByName("Code").String() == "" || failure.FieldByName("RequestId").String() != id || id == "" {
			return fmt.Errorf("%s: %d without a code or the request's id: %s", operation, status, answer.GetBody())
		}
	}
	_, err = fmt.Println(operation, status)
	return err
}

// change alters a request that the generated client can't send wrong by itself.
func change(alter func(*http.Request)) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		alter(r)
		return nil
	}
}

// wrongID replaces an id in the path by one that is malformed.
func wrongID(id uuid.UUID) api.RequestEditorFn {
	return change(func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, id.String(), "x", 1) })
}

// errors makes every error that a client can cause, and reads the examples of those
// that only a fault causes.
func (p *program) errors(ctx context.Context) error {
	for operation := range p.operations(p.client) {
		for status, key := range map[int]string{401: "sr_test_wrong", 403: os.Getenv("REWARDS_SUSPENDED_KEY")} {
			if err := p.operations(p.dial(p.url, key))[operation](ctx, status); err != nil {
				return err
			}
		}
	}
	for fault := range strings.FieldsSeq(os.Getenv("REWARDS_FAULTS")) { // "getUser/500"
		operation, status, _ := strings.Cut(fault, "/")
		var number int
		if _, err := fmt.Sscan(status, &number); err != nil {
			return err
		}
		faulty := p.dial(p.url+"/fault/"+status, p.key)
		if err := p.operations(faulty)[operation](ctx, number); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		p.malformed, p.unknown, p.conflicts, p.bodies, p.methods, p.wrongHistory, p.wrongEvents, p.wrongReversals,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// operations sends each operation as it is right, and wants a status.
func (p *program) operations(c *api.ClientWithResponses) map[string]func(context.Context, int) error {
	all := map[string]func(context.Context, int) error{
		"createUser": func(ctx context.Context, status int) error {
			name := fmt.Sprint("go-again-", status)
			a, err := c.CreateUserWithResponse(ctx, nil, api.NewUser{ExternalId: &name})
			return saw("createUser", status, a, err)
		},
		"listUsers": func(ctx context.Context, status int) error {
			a, err := c.ListUsersWithResponse(ctx, nil)
			return saw("listUsers", status, a, err)
		},
		"changeUser": func(ctx context.Context, status int) error {
			name := "go-changed"
			a, err := c.ChangeUserWithResponse(ctx, p.user.Id, nil, api.UserChange{ExternalId: &name})
			return saw("changeUser", status, a, err)
		},
		"getUser": func(ctx context.Context, status int) error {
			a, err := c.GetUserWithResponse(ctx, p.user.Id, nil)
			return saw("getUser", status, a, err)
		},
		"getPortfolio": func(ctx context.Context, status int) error {
			a, err := c.GetPortfolioWithResponse(ctx, p.user.Id, nil)
			return saw("getPortfolio", status, a, err)
		},
		"createReward": func(ctx context.Context, status int) error {
			a, err := c.CreateRewardWithResponse(ctx, nil, p.award())
			return saw("createReward", status, a, err)
		},
		"createRewards": func(ctx context.Context, status int) error {
			a, err := c.CreateRewardsWithResponse(ctx, nil, api.NewRewards{Rewards: []api.NewReward{p.award()}})
			return saw("createRewards", status, a, err)
		},
		"listRewards": func(ctx context.Context, status int) error {
			a, err := c.ListRewardsWithResponse(ctx, nil)
			return saw("listRewards", status, a, err)
		},
		"getReward": func(ctx context.Context, status int) error {
			a, err := c.GetRewardWithResponse(ctx, p.reward.Id, nil)
			return saw("getReward", status, a, err)
		},
		"listCorporateActions": func(ctx context.Context, status int) error {
			a, err := c.ListCorporateActionsWithResponse(ctx, nil)
			return saw("listCorporateActions", status, a, err)
		},
		"getCorporateAction": func(ctx context.Context, status int) error {
			a, err := c.GetCorporateActionWithResponse(ctx, p.action, nil)
			return saw("getCorporateAction", status, a, err)
		},
		"listCorporateActionEffects": func(ctx context.Context, status int) error {
			a, err := c.ListCorporateActionEffectsWithResponse(ctx, p.action, nil)
			return saw("listCorporateActionEffects", status, a, err)
		},
		"listBudgets": func(ctx context.Context, status int) error {
			a, err := c.ListBudgetsWithResponse(ctx, nil)
			return saw("listBudgets", status, a, err)
		},
		"listAssets": func(ctx context.Context, status int) error {
			a, err := c.ListAssetsWithResponse(ctx, nil)
			return saw("listAssets", status, a, err)
		},
	}
	maps.Copy(all, p.histories(c))
	for name, send := range p.hooks(c) {
		all[name] = func(ctx context.Context, status int) error { return send(ctx, p.hook, status) }
	}
	return all
}

func (p *program) award() api.NewReward {
	return api.NewReward{UserId: p.user.Id, IdempotencyKey: "go-one-more", AmountUsd: 5.25, AssetSymbol: "KO"}
}

// malformed causes every 400.
func (p *program) malformed(ctx context.Context) error {
	zero := 0
	wrong := change(func(r *http.Request) {
		r.URL.Path = strings.NewReplacer(p.user.Id.String(), "x", p.reward.Id.String(), "x").Replace(r.URL.Path)
	})
	user, err := p.client.CreateUserWithResponse(ctx, nil, api.NewUser{})
	if err := saw("createUser", 400, user, err); err != nil {
		return err
	}
	changed, err := p.client.ChangeUserWithResponse(ctx, p.user.Id, nil, api.UserChange{})
	if err := saw("changeUser", 400, changed, err); err != nil {
		return err
	}
	award := p.award()
	award.AmountUsd = 0
	reward, err := p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 400, reward, err); err != nil {
		return err
	}
	if issues := reward.JSON400.Error.Details; len(issues) != 1 || issues[0].Path != "amountUsd" {
		return fmt.Errorf("the issues are %+v", issues)
	}
	none, err := p.client.CreateRewardsWithResponse(ctx, nil, api.NewRewards{Rewards: []api.NewReward{}})
	if err := saw("createRewards", 400, none, err); err != nil {
		return err
	}
	users, err := p.client.ListUsersWithResponse(ctx, &api.ListUsersParams{Limit: &zero})
	if err := saw("listUsers", 400, users, err); err != nil {
		return err
	}
	rewards, err := p.client.ListRewardsWithResponse(ctx, &api.ListRewardsParams{Limit: &zero})
	if err := saw("listRewards", 400, rewards, err); err != nil {
		return err
	}
	one, err := p.client.GetUserWithResponse(ctx, p.user.Id, nil, wrong)
	if err := saw("getUser", 400, one, err); err != nil {
		return err
	}
	portfolio, err := p.client.GetPortfolioWithResponse(ctx, p.user.Id, nil, wrong)
	if err := saw("getPortfolio", 400, portfolio, err); err != nil {
		return err
	}
	read, err := p.client.GetRewardWithResponse(ctx, p.reward.Id, nil, wrong)
	return saw("getReward", 400, read, err)
}

// unknown causes every 404, and the 422.
func (p *program) unknown(ctx context.Context) error {
	nobody := uuid.New()
	user, err := p.client.GetUserWithResponse(ctx, nobody, nil)
	if err := saw("getUser", 404, user, err); err != nil {
		return err
	}
	changed, err := p.client.ChangeUserWithResponse(ctx, nobody, nil, api.UserChange{ExternalId: p.user.ExternalId})
	if err := saw("changeUser", 404, changed, err); err != nil {
		return err
	}
	portfolio, err := p.client.GetPortfolioWithResponse(ctx, nobody, nil)
	if err := saw("getPortfolio", 404, portfolio, err); err != nil {
		return err
	}
	reward, err := p.client.GetRewardWithResponse(ctx, nobody, nil)
	if err := saw("getReward", 404, reward, err); err != nil {
		return err
	}
	award := p.award()
	award.UserId = nobody
	given, err := p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 404, given, err); err != nil {
		return err
	}
	award = p.award()
	award.AssetSymbol = "ZZZZZ"
	given, err = p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 422, given, err); err != nil {
		return err
	}
	if got := given.JSON422.Error.Details.AssetSymbol; got == nil || *got != "ZZZZZ" {
		return fmt.Errorf("the 422 is %s", given.Body)
	}
	return nil
}
