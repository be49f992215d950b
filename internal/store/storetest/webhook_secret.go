package storetest

import (
	"errors"
	"fmt"
	"testing"

	"stockrewards/internal/rewards"
)

func testReseal(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	for _, again := range []bool{false, true} {
		changed, err := w.ResealWebhookSecrets(ctx, func(e *rewards.WebhookEndpoint) (bool, error) {
			e.Secret, e.OldSecrets = rewards.SealedSecret("again"), []rewards.OldSecret{{Sealed: []byte("old"), Until: w.Now()}}
			return again, nil
		})
		check(t, err)
		got, err := w.WebhookEndpoint(ctx, e.AppID, e.ID)
		check(t, err)
		wantEqual(t, fmt.Sprint("sealed again: ", again), again,
			changed == 1 && string(got.Secret) == "again" && len(got.OldSecrets) == 1)
	}
	locked := w.endpoint(t, w.App.ID)
	why := errors.New("no key fits")
	changed, err := w.ResealWebhookSecrets(ctx, func(e *rewards.WebhookEndpoint) (bool, error) {
		e.Secret = rewards.SealedSecret("newest")
		if e.ID == locked.ID {
			return false, why
		}
		return true, nil
	})
	got, readErr := w.WebhookEndpoint(ctx, e.AppID, e.ID)
	check(t, readErr)
	if changed != 1 || !errors.Is(err, why) || string(got.Secret) != "newest" {
		t.Errorf("beside a locked endpoint %d were sealed again, %v; the secret is %q", changed, err, got.Secret)
	}
}
