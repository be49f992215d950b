package page_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// The page of a reward has its facts and its timeline, and reloads itself until it is final.
func TestPageOfAReward(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.Give(t, 5_000_000)
	path := "/rewards/" + r.ID.String()
	html := w.get(t, "/")
	if !strings.Contains(html, `href="`+path+`"`) {
		t.Error("the list does not link to the reward")
	}
	html = w.get(t, path)
	wantWords(t, html, "Reward of $5.00 in AAPL", "recorded", r.IdempotencyKey, r.ID.String(), "it goes into the next order of AAPL")
	if !strings.Contains(html, `http-equiv="refresh"`) {
		t.Error("the page of a waiting reward does not reload itself")
	}
	o := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, o, "filled", 25_000_000, 200_000_000_000))
	html = w.get(t, path)
	wantWords(t, html, "executed", "Shares 0.025", "order "+o.ClientOrderID, "the user got 0.025 shares of AAPL for $5")
	if strings.Contains(html, `http-equiv="refresh"`) {
		t.Error("the page of a final reward reloads itself")
	}
	wantWords(t, w.get(t, "/users/"+w.Users[0].ID.String()), "User user-0", "Activity", "award 0.025 shares of AAPL at $200.00, cost basis 5",
		"no usable market price for AAPL now")
}

// The pages are of the app's rewards and users only, for this machine only, and escape what clients wrote.
func TestPagesOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.NewUser(t, w.NewApp(t, "second").ID, "stranger")
	for _, path := range []string{
		"/users/" + other.ID.String(), "/users/nonsense", "/users/", "/rewards/", "/rewards/x", "/rewards/" + rewards.RewardID{1}.String(),
	} {
		a := w.ask(t, http.MethodGet, path, "")
		if a.Code != http.StatusNotFound || strings.Contains(a.Body.String(), "stranger") {
			t.Errorf("GET %s: %d %s", path, a.Code, a.Body)
		}
	}
	mine := "/users/" + w.Users[0].ID.String()
	wantWords(t, w.get(t, mine), "None yet.")
	if a := w.ask(t, http.MethodGet, mine, "", func(r *http.Request) { r.Host = "rebound.example" }); a.Code != http.StatusForbidden {
		t.Errorf("a foreign host got %d", a.Code)
	}
	if a := w.ask(t, http.MethodPost, mine, ""); a.Code != http.StatusTeapot {
		t.Errorf("a POST got %d", a.Code)
	}
	const hostile = `"><script>alert(2)</script>`
	r := w.Request(t, 2_000_000)
	r.UserID, r.IdempotencyKey, r.Source = w.NewUser(t, w.App.ID, hostile).ID, hostile, hostile
	r.Fingerprint = rewards.NewFingerprint(r, "")
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	for _, path := range []string{"/rewards/" + outcomes[0].Reward.ID.String(), "/users/" + r.UserID.String()} {
		if html := w.get(t, path); strings.Contains(html, "<script>alert") || !strings.Contains(html, "alert(2)") {
			t.Errorf("%s does not escape: %s", path, html)
		}
	}
}
