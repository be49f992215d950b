package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
)

// makeKey creates a key: of a new app, or of an app in a filled store.
func (h *harness) makeKey(ctx context.Context, t *target, filled bool) (err error) {
	if !filled {
		t.key, err = h.operate(ctx, "app", "create", "bench", "--database", t.books)
		return err
	}
	app := h.App
	if app == "" {
		table, err := h.operate(ctx, "app", "list", "--database", t.books)
		if err != nil {
			return err
		}
		lines := strings.Split(table, "\n")
		const heading = 1
		if len(lines) <= heading {
			return errors.New("the store has no app: create one")
		}
		app, _, _ = strings.Cut(lines[heading], " ")
	}
	t.key, err = h.operate(ctx, "key", "create", app, "--label", "bench", "--database", t.books)
	return err
}

func (h *harness) operate(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.binary, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("stockrewards %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// findSample takes a sample of a filled store: random users, and rewards of some of them.
func findSample(ctx context.Context, c client, users, holders int) (s sample, err error) {
	if s.users, err = findUsers(ctx, c, users); err != nil {
		return s, err
	}
	found := make([][]award, len(s.users))
	err = each(ctx, len(s.users), func(ctx context.Context, i int) error {
		var got struct{ Rewards []award }
		err := c.must(ctx, http.StatusOK, http.MethodGet, "/v1/rewards?limit=100&userId="+s.users[i], "", &got)
		found[i] = got.Rewards
		return err
	})
	if err != nil {
		return s, err
	}
	for _, list := range found {
		if err := s.take(list); err != nil {
			return s, err
		}
	}
	if len(s.holders) == 0 { // no user has five holdings
		s.holders = s.users
	}
	s.holders = s.holders[:min(holders, len(s.holders))]
	slices.SortStableFunc(found, func(a, b []award) int { return len(b) - len(a) })
	for _, list := range found[:min(busyUsers, len(found))] {
		if len(list) > 0 {
			s.busy = append(s.busy, list[0].UserID)
		}
	}
	return s, nil
}

func (s *sample) take(list []award) error {
	stocks := map[string]bool{}
	for _, r := range list {
		if r.Status == "executed" {
			stocks[r.AssetSymbol] = true
		}
	}
	if len(stocks) == holdings && len(list) < listed {
		s.holders = append(s.holders, list[0].UserID)
	}
	for _, r := range list[:min(holdings, len(list))] {
		s.rewards = append(s.rewards, r.ID)
		body, err := json.Marshal(r.rewardRequest)
		if err != nil {
			return err
		}
		s.bodies = append(s.bodies, string(body))
	}
	return nil
}

// findUsers draws users from the complete list, each with the same probability.
func findUsers(ctx context.Context, c client, most int) ([]string, error) {
	var taken []string
	seen := 0
	for path := "/v1/users?limit=200"; path != ""; {
		page, err := c.send(ctx, http.MethodGet, path, "")
		if err != nil {
			return nil, err
		}
		var got struct{ Users []struct{ ID string } }
		if err := json.Unmarshal(page.body, &got); err != nil || page.status != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", path, page.status, page.body)
		}
		for _, u := range got.Users {
			seen++
			if len(taken) < most {
				taken = append(taken, u.ID)
			} else if i := rand.IntN(seen); i < most {
				taken[i] = u.ID
			}
		}
		path = nextPage(page.header.Get("Link"))
	}
	return taken, nil
}

// nextPage returns the path of a list's next page from the Link header, empty on the last
// page.
func nextPage(link string) string {
	path, found := strings.CutSuffix(link, `>; rel="next"`)
	if !found {
		return ""
	}
	return strings.TrimPrefix(path, "<")
}
