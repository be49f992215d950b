package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"example.com/rewardsclient/api"
)

// conflicts causes every 409.
func (p *program) conflicts(ctx context.Context) error {
	user, err := p.client.CreateUserWithResponse(ctx, nil, api.NewUser{ExternalId: p.user.ExternalId})
	if err := saw("createUser", 409, user, err); err != nil {
		return err
	}
	if d := user.JSON409.Error.Details; d.Field != "externalId" || d.UserId != p.user.Id {
		return fmt.Errorf("the conflict is with %+v, want %s", d, p.user.Id)
	}
	other := "go-another-user"
	second, err := p.client.CreateUserWithResponse(ctx, nil, api.NewUser{ExternalId: &other})
	if err := saw("createUser", 201, second, err); err != nil {
		return err
	}
	changed, err := p.client.ChangeUserWithResponse(ctx, second.JSON201.User.Id, nil, api.UserChange{ExternalId: p.user.ExternalId})
	if err := saw("changeUser", 409, changed, err); err != nil {
		return err
	}
	if err := p.operations(p.client)["changeUser"](ctx, 200); err != nil {
		return err
	}
	award := p.award()
	award.IdempotencyKey = p.reward.IdempotencyKey
	reward, err := p.client.CreateRewardWithResponse(ctx, nil, award)
	if err := saw("createReward", 409, reward, err); err != nil {
		return err
	}
	if got := reward.JSON409.Error.Details.IdempotencyKey; got != p.reward.IdempotencyKey {
		return fmt.Errorf("the conflict is about %q", got)
	}
	return nil
}

// bodies causes every 413 and 415.
func (p *program) bodies(ctx context.Context) error {
	const json, form = "application/json", "application/x-www-form-urlencoded"
	large := func() *strings.Reader { return strings.NewReader(strings.Repeat(" ", 70_000)) }
	small := func() *strings.Reader { return strings.NewReader("{}") }
	user, err := p.client.CreateUserWithBodyWithResponse(ctx, nil, json, large())
	if err := saw("createUser", 413, user, err); err != nil {
		return err
	}
	user, err = p.client.CreateUserWithBodyWithResponse(ctx, nil, form, small())
	if err := saw("createUser", 415, user, err); err != nil {
		return err
	}
	changed, err := p.client.ChangeUserWithBodyWithResponse(ctx, p.user.Id, nil, json, large())
	if err := saw("changeUser", 413, changed, err); err != nil {
		return err
	}
	changed, err = p.client.ChangeUserWithBodyWithResponse(ctx, p.user.Id, nil, form, small())
	if err := saw("changeUser", 415, changed, err); err != nil {
		return err
	}
	batch, err := p.client.CreateRewardsWithBodyWithResponse(ctx, nil, json, strings.NewReader(strings.Repeat(" ", 5_000_000)))
	if err := saw("createRewards", 413, batch, err); err != nil {
		return err
	}
	batch, err = p.client.CreateRewardsWithBodyWithResponse(ctx, nil, form, small())
	if err := saw("createRewards", 415, batch, err); err != nil {
		return err
	}
	reward, err := p.client.CreateRewardWithBodyWithResponse(ctx, nil, json, large())
	if err := saw("createReward", 413, reward, err); err != nil {
		return err
	}
	reward, err = p.client.CreateRewardWithBodyWithResponse(ctx, nil, form, small())
	if err := saw("createReward", 415, reward, err); err != nil {
		return err
	}
	if message := reward.JSON415.Error.Message; !strings.Contains(message, form) {
		return fmt.Errorf("the 415 does not name the type: %s", message)
	}
	return nil
}

// methods causes the 405 and the 404 of a path, which belong to no operation.
func (p *program) methods(ctx context.Context) error {
	wrong, err := p.client.ListUsersWithResponse(ctx, nil, change(func(r *http.Request) { r.Method = http.MethodDelete }))
	if err != nil {
		return err
	}
	if wrong.StatusCode() != 405 || wrong.HTTPResponse.Header.Get("Allow") != "GET, POST" {
		return fmt.Errorf("the answer to DELETE is %d %s", wrong.StatusCode(), wrong.Body)
	}
	elsewhere, err := p.client.ListUsersWithResponse(ctx, nil, change(func(r *http.Request) { r.URL.Path = "/v2/users" }))
	if err != nil {
		return err
	}
	if elsewhere.StatusCode() != 404 || !strings.Contains(string(elsewhere.Body), `"not_found"`) {
		return fmt.Errorf("the answer to /v2/users is %d %s", elsewhere.StatusCode(), elsewhere.Body)
	}
	_, err = fmt.Println("any 405\nany 404")
	return err
}
