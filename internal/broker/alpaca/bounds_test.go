package alpaca_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// An answer of some kilobytes may unpack to millions of entries. A list is read up to what it may have.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	orders := func(ctx context.Context, c *alpaca.Client) (int, error) {
		list, err := c.Orders(ctx, time.Time{}, nil)
		return len(list), err
	}
	for name, c := range map[string]struct {
		call                func(context.Context, *alpaca.Client) (int, error)
		before, each, after string
		most                int
	}{
		"orders": {orders, "[", `0`, "]", 500},
		"positions": {func(ctx context.Context, c *alpaca.Client) (int, error) {
			list, err := c.Positions(ctx)
			return len(list), err
		}, "[", `{"symbol":"A","qty":"1"}`, "]", 100_000},
		"assets": {func(ctx context.Context, c *alpaca.Client) (int, error) {
			list, err := c.Assets(ctx)
			return len(list), err
		}, "[", `{"id":"1","symbol":"A"}`, "]", 100_000},
		"activities": {func(ctx context.Context, c *alpaca.Client) (int, error) {
			list, _, err := c.Activities(ctx, "", time.Time{}, "")
			return len(list), err
		}, "[", `{"id":"1"}`, "]", 100},
		"announcements": {func(ctx context.Context, c *alpaca.Client) (int, error) {
			list, _, err := c.Announcements(ctx, "2026-11-22", "2027-02-20", "")
			return len(list), err
		}, `{"corporate_actions":{"redemptions":[{"id":"1"}],"name_changes":[`, `{"id":"1"}`, "]}}", 999},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := func(n int) string { return c.before + strings.Repeat(c.each+",", n-1) + c.each + c.after }
			if name != "orders" { // these lack a time of submission
				got, err := c.call(t.Context(), serveBody(t, http.StatusOK, body(c.most)))
				if err != nil || got < c.most {
					t.Errorf("of %d entries %d were read: %v", c.most, got, err)
				}
			}
			_, err := c.call(t.Context(), serveBody(t, http.StatusOK, body(c.most+1)))
			wantError(t, err, rewards.BrokerUnknown, "")
			if err != nil && !strings.Contains(err.Error(), "more than ") {
				t.Errorf("the error of a long list is %q", err)
			}
		})
	}
	_, err := orders(t.Context(), serveBody(t, http.StatusOK, `[`+member("legs", `"`+strings.Repeat("x", 4<<20)+`"`)+`]`))
	wantError(t, err, rewards.BrokerUnknown, "")
}

// A list of a million orders costs what one of 500 costs.
func TestALongListIsRefusedEarly(t *testing.T) { //nolint:paralleltest // it counts allocations
	body := "[" + strings.Repeat("0,", 1<<20) + "0]"
	client := serveBody(t, http.StatusOK, body)
	got := testing.AllocsPerRun(3, func() {
		_, err := client.Orders(t.Context(), time.Time{}, nil)
		wantError(t, err, rewards.BrokerUnknown, "")
	})
	if got > 10_000 {
		t.Errorf("a list of a million orders takes %.0f allocations", got)
	}
}
