package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "stockrewards/client"
	"stockrewards/internal/rewards"
)

// Each type that `trigger` makes happen comes to a receiver behind `listen`, and it says what it did.
func TestTrigger(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	in := newHook(t, accept)
	l := listen(t, s, "--forward", in.url)
	list, err := inFolder(t, s.folder, "trigger")
	noError(t, err)
	// Without --stock the commands choose at random: an action of one could hold the award of another.
	stocks := map[string]string{
		"corporate_action.applied": "AAPL", "corporate_action.held": "NVDA", "corporate_action.withdrawn": "VOO",
	}
	t.Run("types", func(t *testing.T) {
		for name, want := range map[string]string{
			"reward.executed":            "It is bought.",
			"reward.failed":              "The reason: order_refused",
			"reversal.completed":         "Took it back: reversal ",
			"corporate_action.announced": "It stays announced. To withdraw it: curl -X DELETE " + s.url + "/control/",
			"corporate_action.applied":   "Announced a forward_split of ",
			"corporate_action.held":      "stockrewards action ignore ",
			"corporate_action.withdrawn": "Withdrew it.",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				args := []string{"trigger", name, "--url", s.url}
				if stock := stocks[name]; stock != "" {
					args = append(args, "--stock", stock)
				}
				out, err := inFolder(t, s.folder, args...)
				if err != nil || !strings.Contains(out, want) || !strings.Contains(out, name+" happened: event ") ||
					!strings.Contains(list, name+" ") {
					t.Errorf("%v: %s; want %q", err, out, want)
				}
			})
		}
	})
	types := map[string]int{}
	for len(types) < 7 {
		d := in.next(t)
		name, _, _ := strings.Cut(strings.TrimPrefix(d.Body, `{"type":"`), `"`)
		types[name]++
	}
	l.end(t)
	if faults := s.must(200, "GET", "/control/faults", ""); string(faults.body) != "[]" {
		t.Errorf("it left faults: %s", faults.body)
	}
	_, _, err = s.sdk().CreateWebhookEndpoint(t.Context(), sdk.NewWebhookEndpoint{URL: in.url, Types: []string{"reward.failed"}})
	noError(t, err)
	succeeds(t, "Sent test.ping to "+in.url)(inFolder(t, s.folder, "trigger", "test.ping", "--url", s.url))
	if d := in.next(t); !strings.HasPrefix(d.Body, `{"type":"test.ping"`) {
		t.Errorf("the endpoint got %s", d.Body)
	}
}

// trigger refuses what it cannot do, and what would cost money.
func TestTriggerRefuses(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	served := newService(t, t.TempDir())
	served.start()
	folder := t.TempDir()
	key, live := filepath.Join(folder, "key"), filepath.Join(folder, "live")
	write := func(path, content string) { noError(t, os.WriteFile(path, []byte(content), 0o600)) }
	write(key, served.key)
	write(live, unknownKey(t, rewards.LiveKeyPrefix))
	for _, test := range []struct {
		want string
		args []string
	}{
		{"trigger` for the list", []string{"reward.sold"}},
		{"is a decision of an operator", []string{"corporate_action.undone"}},
		{"has a live key, and trigger would spend real money", []string{"reward.executed", "--key-file", live, "--url", s.url}},
		{"no enabled webhook endpoint", []string{"test.ping", "--url", s.url}},
		{"the award is not bought: timeout of 5s exceeded; it waits: ", []string{"reward.executed", "--url", s.url, "--timeout", "5s"}},
		{"404 Not Found", []string{"reward.failed", "--url", served.url, "--key-file", key}},
		{"use `stockrewards dev`, or --control", []string{"corporate_action.held", "--url", served.url, "--key-file", key}},
		{"no event came: timeout of 10s exceeded; is http://127.0.0.1", []string{
			"corporate_action.applied", "--url", served.url, "--key-file", key, "--control", s.url, "--timeout", "10s",
		}},
	} {
		if strings.Contains(test.want, "is not bought") {
			s.must(200, "PUT", "/control/market", `{"open":false}`)
		}
		out, err := inFolder(t, s.folder, append([]string{"trigger"}, test.args...)...)
		if err == nil || !strings.Contains(out, test.want) {
			t.Errorf("%v: %v: %s; want %q", test.args, err, out, test.want)
		}
	}
}
