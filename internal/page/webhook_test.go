package page_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// The page shows the endpoints of its app alone. Its button sends a test through the use case of the API.
func TestWebhooksAreShownAndTested(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nudged := 0
	w.setup.Service.SetWebhooks(rewards.Webhooks{Nudge: func() { nudged++ }})
	wantWords(t, w.get(t, "/"), "Webhooks None yet.")
	create := func(app rewards.AppID, url string) rewards.WebhookEndpoint {
		e, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
			AppID: app, URL: url, Secret: rewards.SealedSecret("sealed"), Types: rewards.EventRewardFailed,
		})
		check(t, err)
		return e
	}
	mine := create(w.App.ID, "https://mine.example/?<b>")
	theirs := create(w.NewApp(t, "second").ID, "https://theirs.example/")
	wantWords(t, w.get(t, "/"), "https://mine.example/?<b> enabled Gets reward.failed. No event waits to be sent for the first time. Send a test")

	a := w.ask(t, http.MethodPost, "/", "webhook="+mine.ID.String())
	if target := a.Header().Get("Location"); a.Code != http.StatusSeeOther || nudged != 1 || target != "/?tested="+mine.ID.String()+"#tested" {
		t.Errorf("a test: %d, to %q, nudged %d times", a.Code, target, nudged)
	}
	html := w.get(t, "/?tested="+mine.ID.String())
	wantWords(t, html, "A test was sent to https://mine.example/?<b>", "not yet test.ping pending 0 attempts")
	if strings.Contains(html, "theirs.example") || strings.Contains(html, "<b>") || strings.Contains(html, "sealed") {
		t.Error("the page shows another app's endpoint, foreign HTML or a secret")
	}
	for _, id := range []string{theirs.ID.String(), "nonsense", ""} {
		if a := w.ask(t, http.MethodPost, "/", "webhook="+id); a.Code != http.StatusNotFound || nudged != 1 {
			t.Errorf("a test of %q: %d %s", id, a.Code, a.Body)
		}
		if html := w.get(t, "/?tested="+id); strings.Contains(html, "A test was sent") {
			t.Errorf("the page says that a test was sent to %q", id)
		}
	}
	_, err := w.ChangeWebhookEndpoint(t.Context(), w.App.ID, mine.ID, func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledGone) })
	check(t, err)
	wantWords(t, w.get(t, "/"), "disabled the address answered 410. Its events wait until you enable it.")
	if a := w.ask(t, http.MethodPost, "/", "webhook="+mine.ID.String(), func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); a.Code != http.StatusForbidden || nudged != 1 {
		t.Errorf("another site's form: %d", a.Code)
	}
}

// Where thousands of events of other types come first, the page does not say that no event waits.
func TestWebhookBehindOtherTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
		AppID: w.App.ID, URL: "https://mine.example/", Secret: rewards.SealedSecret("sealed"), Types: rewards.EventRewardFailed,
	})
	check(t, err)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO events (app_id, last, types, subject, positions, at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			SELECT ?1, ?2 + i, ?3, ?4, ?5, 0 FROM n`,
			w.App.ID[:], e.Cursor, int64(rewards.EventReversalCompleted), []byte("subject"), []byte{})
		return err
	}))
	html := w.get(t, "/")
	wantWords(t, html, "Whether an event waits to be sent is not known yet.")
	if strings.Contains(html, "No event waits") {
		t.Error("the page says that no event waits")
	}
}
