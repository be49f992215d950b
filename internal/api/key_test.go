package api_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

const second = time.Second

// Specification, sections 4.5 and 5; decisions, keys: every invalid key gets the same
// 401, so that nobody learns why it is invalid.
func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	revoked, expired := w.newApp(t), w.newApp(t)
	check(t, w.store.RevokeKey(t.Context(), revoked.keyID))
	expired = expired.stranger(t)
	expired.addKey(t, w.clock.now().Add(-second))
	flipped := []byte(c.key)
	flipped[20] ^= 1
	bodies := make(map[string]bool)
	for name, header := range map[string]http.Header{
		"missing":           {"X-Api-Key": nil},
		"empty":             {"X-Api-Key": {""}},
		"noise":             {"X-Api-Key": {"secret"}},
		"prefix alone":      {"X-Api-Key": {"sr_test_"}},
		"checksum":          {"X-Api-Key": {string(flipped)}},
		"shortened":         {"X-Api-Key": {c.key[:len(c.key)-1]}},
		"lengthened":        {"X-Api-Key": {c.key + "0"}},
		"upper case":        {"X-Api-Key": {strings.ToUpper(c.key)}},
		"live prefix":       {"X-Api-Key": {strings.Replace(c.key, "test", "live", 1)}},
		"two keys in one":   {"X-Api-Key": {c.key + "," + c.key}},
		"very long":         {"X-Api-Key": {strings.Repeat("x", 8000)}},
		"not ASCII":         {"X-Api-Key": {"sr_test_ключ"}},
		"unknown":           {"X-Api-Key": {newSecret(t)}},
		"revoked":           {"X-Api-Key": {revoked.key}},
		"expired":           {"X-Api-Key": {expired.key}},
		"another header":    {"X-Api-Key": nil, "Authorization": {"Bearer " + c.key}},
		"the hash of a key": {"X-Api-Key": {string(c.app.ID.Append(nil))}},
		"an app id too":     {"X-Api-Key": nil, "X-App-Id": {c.app.ID.String()}},
	} {
		for _, target := range []string{
			"/v1/users", "/v1/users/" + unknownID, "/v1/users/" + unknownID + "/portfolio", "/v1/rewards",
			"/v1/rewards/" + unknownID, "/v1/assets", "/v1/budgets", "/v1/corporate-actions", "/v1/corporate-actions/" + unknownID,
			"/v1/corporate-actions/" + unknownID + "/effects",
		} {
			a := c.send(t, request{method: http.MethodGet, target: target + "?apiKey=" + c.key, header: header})
			if a.status != http.StatusUnauthorized {
				t.Errorf("%s: status %d", name, a.status)
			}
			a.wantError(t, http.StatusUnauthorized, "unauthorized", nil)
			bodies[strings.Replace(string(a.body), a.header.Get("X-Request-Id"), "", 1)] = true
		}
	}
	if len(bodies) != 1 {
		t.Errorf("%d different responses: %v", len(bodies), bodies)
	}
	for _, target := range []string{"/v1/users", "/v1/rewards"} {
		c.send(t, request{method: http.MethodPost, target: target, body: `{}`, header: http.Header{"X-Api-Key": nil}}).
			wantError(t, http.StatusUnauthorized, "unauthorized", nil)
	}
}

// stranger is the client with a key that no app has.
func (c client) stranger(t *testing.T) client {
	t.Helper()
	c.key = newSecret(t)
	return c
}

// addKey gives the app the client's key; a zero time means without an expiry.
func (c client) addKey(t *testing.T, expires time.Time) {
	t.Helper()
	_, err := c.world.store.CreateKey(t.Context(), c.app.Name, rewards.Key{Hash: rewards.HashKey(c.key), ExpiresAt: expires})
	check(t, err)
}

// rotated is the client with a new key; the old one is valid until a time.
func (c client) rotated(t *testing.T, until time.Time) client {
	t.Helper()
	r := c.stranger(t)
	_, err := c.world.store.RotateKey(t.Context(), c.keyID, rewards.Key{Hash: rewards.HashKey(r.key)}, until)
	check(t, err)
	return r
}

// Decisions, keys: an app may have several; a rotated key stays valid for the overlap; a
// key with an expiry is valid until then.
func TestSeveralKeysOfAnApp(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	temporary, rotated := c.stranger(t), c.rotated(t, w.clock.now().Add(24*time.Hour))
	temporary.addKey(t, w.clock.now().Add(time.Hour))
	valid := func() (statuses []int) {
		for _, by := range []client{c, temporary, rotated} {
			statuses = append(statuses, by.get(t, "/v1/users/"+user).status)
		}
		return statuses
	}
	for _, step := range []struct {
		after time.Duration
		want  []int
	}{
		{0, []int{200, 200, 200}},
		{59 * time.Minute, []int{200, 200, 200}},
		{2 * time.Minute, []int{200, 401, 200}},
		{22 * time.Hour, []int{200, 401, 200}},
		{2 * time.Hour, []int{401, 401, 200}},
	} {
		w.clock.advance(step.after)
		if diff := cmp.Diff(step.want, valid()); diff != "" {
			t.Errorf("after another %v (-want +got):\n%s", step.after, diff)
		}
	}
}

// Decisions, keys: revocation takes effect within one second on every instance.
func TestRevocationOnEveryInstance(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	other := c.over(t, w.store, brokenRecorder{})
	for _, by := range []client{c, other} {
		by.get(t, "/v1/assets").wantStatus(t, http.StatusOK) // both servers now know the key
	}
	check(t, w.store.RevokeKey(t.Context(), c.keyID))
	w.clock.advance(second)
	for _, by := range []client{c, other} {
		by.get(t, "/v1/assets").wantStatus(t, http.StatusUnauthorized)
	}
}

// A new key is valid at once, even if it was refused a moment ago.
func TestNewKeysAreValidAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t).stranger(t)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusUnauthorized)
	c.addKey(t, time.Time{})
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
}

// Decisions, keys: within a second, a sr_test_ key over a live account gets the same 401
// as any invalid key. A sr_live_ key works over both kinds of accounts. Before the broker
// account is known, every key works.
func TestKeysAndTheAccountsMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	test := w.newApp(t)
	live := test
	var err error
	live.key, err = rewards.NewKeySecret(rewards.LiveKeyPrefix, rand.Reader)
	check(t, err)
	live.addKey(t, time.Time{})
	stranger := test.stranger(t)
	for _, step := range []struct {
		number     string
		test, live int
	}{{"", 200, 200}, {"PA3XYZ", 200, 200}, {"912345678", 401, 200}, {"PA3XYZ", 200, 200}} {
		account := rewards.BrokerAccount{ID: "account", Number: step.number}
		check(t, w.store.PinBroker(t.Context(), "alpaca", account))
		w.clock.advance(second)
		live.get(t, "/v1/assets").wantStatus(t, step.live)
		got, unknown := test.get(t, "/v1/assets").wantStatus(t, step.test), stranger.get(t, "/v1/assets")
		if step.test == http.StatusUnauthorized {
			unknown.wantStatus(t, step.test)
			same := strings.ReplaceAll(string(unknown.body), unknown.header.Get("X-Request-Id"), got.header.Get("X-Request-Id"))
			if same != string(got.body) {
				t.Errorf("%s, and an unknown key gets %s", got.body, same)
			}
		}
	}
}
