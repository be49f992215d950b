package test

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// withText replaces one member of a JSON object, if present.
func withText(body []byte, member, text string) []byte {
	head, rest, found := bytes.Cut(body, []byte(`"`+member+`":"`))
	if !found {
		return body
	}
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	return []byte(string(head) + `"` + member + `":"` + text + `"` + string(rest))
}

// over starts a service over a brokerage with the account number, and waits until the store
// is pinned to it.
func (s *service) over(number string) {
	s.t.Helper()
	b := startBrokerage(s.t, "")
	rewrite := func(body []byte) []byte { return withText(body, "account_number", number) }
	b.rewrite.Store(&rewrite)
	s.start(b.flags()...)
	s.eventually("account "+number, 20*time.Second, func() bool {
		_, err := s.try("key", "create", "tester", "--mode", "live")
		return (err != nil) == strings.HasPrefix(number, "PA") && strings.Contains(s.logs(), "sr_")
	})
}

// Test keys are refused over an account with real dollars; serve logs the keys that cannot
// work, and new keys have the account's mode.
func TestKeysOfTestMoneyOverARealAccount(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	id := s.firstID("key", "list", "tester")
	s.over("912345678")
	s.must(401, "GET", "/v1/assets", "")
	if line := `"key":"` + id + `"`; !strings.Contains(s.logs(), "an sr_test_ key cannot work") || !strings.Contains(s.logs(), line) {
		t.Errorf("the key %s is not in the log:\n%s", id, s.logs())
	}
	s.wantError("--mode test", "app", "create", "other", "--mode", "test")
	if s.key = strings.TrimSpace(s.command("key", "rotate", id)); !strings.HasPrefix(s.key, "sr_live_") {
		t.Errorf("the new key is %.12s…", s.key)
	}
	s.must(200, "GET", "/v1/assets", "")
}

// An existing live key works over a paper account, with a warning; new keys are test keys.
func TestALiveKeyOverAPaperAccount(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.key = strings.TrimSpace(s.command("app", "create", "older", "--mode", "live"))
	if !strings.HasPrefix(s.key, "sr_live_") {
		t.Errorf("--mode live made %.12s…", s.key)
	}
	s.over("PA3TEST")
	s.must(200, "GET", "/v1/assets", "")
	if logs := s.logs(); strings.Count(logs, "an sr_live_ key works over a paper account") == 0 || strings.Contains(logs, "cannot work") {
		t.Errorf("the log does not warn of the live key only:\n%s", logs)
	}
	if key := s.command("key", "create", "older"); !strings.HasPrefix(key, "sr_test_") {
		t.Errorf("the new key is %.12s…", key)
	}
	s.must(200, "GET", "/v1/assets", "")
}
