package rewards_test

import (
	"testing"

	"stockrewards/internal/rewards"
)

// Decisions, keys: the prefix says what the brokerage's account is.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, number string
		account      rewards.Mode
		test, live   bool // whether such a key works
		prefix       string
	}{
		{"", "", rewards.ModeUnknown, true, true, "sr_test_"},
		{"alpaca", "", rewards.ModeUnknown, true, true, "sr_test_"},
		{"alpaca", "PA3XYZ", rewards.ModeTest, true, true, "sr_test_"},
		{"paper", "", rewards.ModeTest, true, true, "sr_test_"},
		{"alpaca", "912345678", rewards.ModeLive, false, true, "sr_live_"},
		{"alpaca", "9PA345678", rewards.ModeLive, false, true, "sr_live_"},
		{"alpaca", "pa345678", rewards.ModeLive, false, true, "sr_live_"},
	} {
		account := rewards.ModeOfAccount(c.kind, c.number)
		if account != c.account || account.KeyPrefix() != c.prefix ||
			account.Accepts(rewards.ModeOfKey("sr_test_x")) != c.test || account.Accepts(rewards.ModeOfKey("sr_live_x")) != c.live {
			t.Errorf("the account %q of %q: mode %q, prefix %s", c.number, c.kind, account, account.KeyPrefix())
		}
	}
	if got := (rewards.Key{Hint: "sr_live_…abcd"}).Mode(); got != rewards.ModeLive {
		t.Errorf("a key's mode by its hint is %q", got)
	}
}
