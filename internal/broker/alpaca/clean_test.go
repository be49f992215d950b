package alpaca_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// answers are the calls of the client whose answers it keeps, each with a body that has a string in all members.
var answers = map[string]struct {
	body string
	call func(context.Context, *alpaca.Client) (any, error)
}{
	"order": {
		`{"id":"%[1]s","client_order_id":"%[1]s","asset_id":"%[1]s","symbol":"%[1]s","side":"%[1]s","status":"%[1]s","filled_qty":"%[1]s"}`,
		func(ctx context.Context, c *alpaca.Client) (any, error) { return c.OrderByClientID(ctx, "sr-1") },
	},
	"orders": {
		`[{"id":"%[1]s","client_order_id":"%[1]s","asset_id":"%[1]s","symbol":"%[1]s","side":"%[1]s","status":"%[1]s","filled_qty":"%[1]s"},
			{"client_order_id":"%[1]s","status":7},{"%[1]s":0,"%[1]s":0}]`,
		func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Orders(ctx, time.Time{}, nil) },
	},
	"account": {
		`{"id":"%[1]s","account_number":"%[1]s","status":"%[1]s"}`,
		func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Account(ctx) },
	},
	"positions": {
		`[{"asset_id":"%[1]s","symbol":"%[1]s","qty":"1"}]`,
		func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Positions(ctx) },
	},
	"assets": {
		`[{"id":"%[1]s","symbol":"%[1]s","name":"%[1]s","exchange":"%[1]s"}]`,
		func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Assets(ctx) },
	},
	"activities": {
		`[{"id":"1","activity_type":"%[1]s","activity_sub_type":"%[1]s","status":"%[1]s","group_id":"%[1]s","previous_id":"%[1]s",
			"order_id":"%[1]s","symbol":"%[1]s","per_share_amount":"%[1]s","date":"%[1]s","new":"%[1]s"}]`,
		func(ctx context.Context, c *alpaca.Client) (any, error) {
			page, _, err := c.Activities(ctx, "", time.Time{}, "")
			return page, err
		},
	},
	"announcements": {
		`{"corporate_actions":{"%[1]s":[{"id":"1","symbol":"%[1]s","new_symbol":"%[1]s","rate":"%[1]s","ex_date":"%[1]s","new":"%[1]s"}]}}`,
		func(ctx context.Context, c *alpaca.Client) (any, error) {
			page, _, err := c.Announcements(ctx, "2026-11-22", "2027-02-20", "")
			return page, err
		},
	},
}

// wantHidden checks that neither a credential nor a part of one is in a string.
func wantHidden(t *testing.T, shown string) {
	t.Helper()
	for _, secret := range []string{keyID, secretKey} {
		if part := secret[:7]; strings.Contains(shown, part) {
			t.Errorf("%q shows a part of %q", shown, secret)
		}
	}
}

// The broker may echo the credentials in any string of an answer, and across the end of what is kept of it.
func TestAnswersHideCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []int{0, 190, 400} {
				for _, secret := range []string{keyID, secretKey, strings.ReplaceAll(secretKey, "/", `\/`)} {
					echo := strings.Repeat("-", before) + secret + "."
					got, err := c.call(t.Context(), serveBody(t, http.StatusOK, fmt.Sprintf(c.body, echo)))
					wantHidden(t, fmt.Sprintf("%+v %v", got, err))
					if name != "order" && err != nil {
						t.Errorf("%d %s: %v", before, secret, err)
					}
				}
			}
		})
	}
}

// A credential that crosses the end of what is kept of a message is replaced before the message is cut.
func TestErrorsHideCredentials(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 422, 429, 500} {
		for _, before := range []int{0, 180, 190, 195, 200} {
			body := fmt.Sprintf(`{"message":%q}`, strings.Repeat("-", before)+secretKey)
			_, err := serveBody(t, status, body).Submit(t.Context(), request())
			wantHidden(t, err.Error())
			if len(err.Error()) > 300 {
				t.Errorf("status %d: the error has %d bytes", status, len(err.Error()))
			}
		}
	}
	_, err := serveBody(t, 422, `{"message":"`+secretKey+strings.Repeat(" ", 300)+`client_order_id must be unique"}`).
		Submit(t.Context(), request())
	wantError(t, err, rewards.BrokerDuplicate, "")
	o := alpaca.Options{KeyID: keyID, SecretKey: secretKey, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNotFound, Status: "404 " + strings.Repeat("-", 180) + secretKey, Body: http.NoBody}, nil
	})}
	_, _, err = alpaca.New(o).Activities(t.Context(), "", time.Time{}, "")
	wantHidden(t, err.Error())
}
