package main

import (
	"context"
	"fmt"
	"net/url"
	"regexp"

	"example.com/rewardsclient/api"
)

const users = 25

// pages makes more users than a page has and reads all pages of both lists.
func (p *program) pages(ctx context.Context) error {
	for ; p.count < users; p.count++ {
		name := fmt.Sprintf("go-page-%d", p.count)
		created, err := p.client.CreateUserWithResponse(ctx, nil, api.NewUser{ExternalId: &name})
		if err := saw("createUser", 201, created, err); err != nil {
			return err
		}
	}
	limit := 7
	listed, err := follow(func(cursor *string) (*string, []api.Id, error) {
		got, err := p.client.ListUsersWithResponse(ctx, &api.ListUsersParams{Limit: &limit, Cursor: cursor})
		if err := saw("listUsers", 200, got, err); err != nil {
			return nil, nil, err
		}
		var ids []api.Id
		for _, u := range got.JSON200.Users {
			ids = append(ids, u.Id)
		}
		return got.Headers200.Link, ids, nil
	})
	if err != nil || listed != users {
		return fmt.Errorf("%d of %d users listed: %w", listed, users, err)
	}
	status := api.StatusExecuted
	limit = 2
	listed, err = follow(func(cursor *string) (*string, []api.Id, error) {
		params := &api.ListRewardsParams{Limit: &limit, Status: &status, Cursor: cursor}
		got, err := p.client.ListRewardsWithResponse(ctx, params)
		if err := saw("listRewards", 200, got, err); err != nil {
			return nil, nil, err
		}
		var ids []api.Id
		for _, r := range got.JSON200.Rewards {
			ids = append(ids, r.Id)
		}
		return got.Headers200.Link, ids, nil
	})
	if err != nil || listed != len(amounts()) {
		return fmt.Errorf("%d of %d rewards listed: %w", listed, len(amounts()), err)
	}
	return nil
}

var next = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// follow reads page after page by its Link and counts the ids, each of which must be new.
func follow(page func(cursor *string) (*string, []api.Id, error)) (int, error) {
	seen := map[api.Id]bool{}
	for cursor := (*string)(nil); ; {
		link, ids, err := page(cursor)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			if seen[id] {
				return 0, fmt.Errorf("%s is listed twice", id)
			}
			seen[id] = true
		}
		if link == nil || *link == "" {
			return len(seen), nil
		}
		match := next.FindStringSubmatch(*link)
		if match == nil {
			return 0, fmt.Errorf("no next page in the Link header %q", *link)
		}
		target, err := url.Parse(match[1])
		if err != nil {
			return 0, err
		}
		value := target.Query().Get("cursor")
		cursor = &value
	}
}
