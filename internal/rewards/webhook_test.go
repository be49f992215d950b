package rewards_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// Additions, section 5: the addresses that are refused when they are plain from the text.
func TestWebhookURL(t *testing.T) {
	t.Parallel()
	local := rewards.WebhookAddresses{Allow: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.1.0.0/16"),
	}}
	for _, test := range []struct {
		url          string
		public, here bool // whether it is allowed, by default and with the ranges of local
	}{
		{"https://example.com/hook?a=b", true, true},
		{"https://EXAMPLE.com:443", true, true},
		{"https://example.com./", true, true},
		{"https://8.8.8.8/", true, true},
		{"https://[2606:4700::1]/", true, true},
		{"https://example.com:8443/", false, true}, // the name may resolve to an allowed address
		{"http://example.com/", false, true},
		{"http://8.8.8.8/", false, false},
		{"https://8.8.8.8:8443/", false, false},
		{"http://127.0.0.1:3000/hook", false, true},
		{"http://localhost:3000", false, true},
		{"https://localhost/", false, true},
		{"https://a.LOCALHOST./", false, true},
		{"https://[::1]/", false, true},
		{"https://[::ffff:127.0.0.1]/", false, true},
		{"https://10.1.2.3/", false, true},
		{"https://10.2.2.3/", false, false},
		{"https://2130706433/", false, false},
		{"https://0x7f000001/", false, false},
		{"https://0177.0.0.1/", false, false},
		{"https://127.1/", false, false},
		{"https://127.0.0.1../", false, false},
		{"https://localhost../", false, false},
		{"https://127.0.0.1./", false, false},
		{"https://0X7F.1/", false, false},
		{"https://[fe80::1%25eth0]/", false, false},
		{"https://user@example.com/", false, false},
		{"https://user:pw@example.com/", false, false},
		{"https://example.com/#", false, false},
		{"https://example.com/#part", false, false},
		{"https://exämple.com/", false, false},
		{"https://example.com\\@10.0.0.1/", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com:0/", false, false},
		{"https://example.com:/", false, false},
		{"https://example.com:65536/", false, false},
		{"https:///hook", false, false},
		{"https:example.com", false, false},
		{"//example.com/", false, false},
		{"ftp://example.com/", false, false},
		{"https://a..b/", false, false},
	} {
		if err := (rewards.WebhookAddresses{}).CheckURL(test.url); (err == nil) != test.public {
			t.Errorf("%s: error %v, want allowed: %v", test.url, err, test.public)
		}
		if err := local.CheckURL(test.url); (err == nil) != test.here {
			t.Errorf("%s with allowed ranges: error %v, want allowed: %v", test.url, err, test.here)
		}
	}
}

// Each special range of IANA's registries is refused, whatever its spelling.
func TestWebhookAddressRanges(t *testing.T) {
	t.Parallel()
	var none rewards.WebhookAddresses
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1",
		"192.168.0.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1",
		"64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378::1", "2001:1::1",
		"2001:20::1", "2001:db8::1", "2002:a00:1::1", "2620:4f:8000::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1",
		"fe80::1", "fec0::1", "ff02::1",
	} {
		if err := none.CheckAddress(netip.AddrPortFrom(netip.MustParseAddr(text), 443), true); err == nil {
			t.Errorf("%s is allowed", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "2a00:1450::1", "::ffff:8.8.8.8"} {
		address := netip.MustParseAddr(text)
		if err := none.CheckAddress(netip.AddrPortFrom(address, 443), true); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if none.CheckAddress(netip.AddrPortFrom(address, 80), true) == nil || none.CheckAddress(netip.AddrPortFrom(address, 443), false) == nil {
			t.Errorf("%s is allowed at port 80, or without encryption", text)
		}
	}
}

var tried = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// Additions, section 5: the retries, with up to a tenth more.
func TestDeliveryRetries(t *testing.T) {
	t.Parallel()
	schedule := rewards.RetrySchedule()
	var total time.Duration
	d := rewards.Delivery{Sequence: 7, Body: []byte("{}")}
	for i, pause := range schedule {
		total += pause
		d = d.After(rewards.WebhookAnswer{StatusCode: 500, Error: "no"}, tried, schedule, func(n int64) int64 { return n - 1 })
		if wait := d.NextAt.Sub(tried); d.Status != rewards.DeliveryPending || d.Attempts != i+1 || wait < pause || wait > pause*11/10 {
			t.Errorf("after attempt %d: %v, next in %v; want pending, and %v to a tenth more", d.Attempts, d.Status, wait, pause)
		}
	}
	if want := 75*time.Hour + 35*time.Minute + 5*time.Second; total != want {
		t.Errorf("all retries take %v, want %v", total, want)
	}
	d = d.After(rewards.WebhookAnswer{Error: "no answer"}, tried, schedule, zeroOf)
	if d.Status != rewards.DeliveryFailed || !d.NextAt.IsZero() || len(d.Body) == 0 {
		t.Errorf("after the last retry: %+v, want failed and kept", d)
	}
}

func zeroOf(int64) int64 { return 0 }

func TestDeliveryAfter(t *testing.T) {
	t.Parallel()
	schedule := []time.Duration{time.Second, time.Second}
	after := func(sequence int64, a rewards.WebhookAnswer) rewards.Delivery {
		return rewards.Delivery{Sequence: sequence, Number: 7, Body: []byte("{}")}.After(a, tried, schedule, zeroOf)
	}
	for _, status := range []int{200, 204, 299} {
		if d := after(1, rewards.WebhookAnswer{StatusCode: status}); d.Status != rewards.DeliveryDelivered || d.Body != nil || d.Number != 7 {
			t.Errorf("%d: %+v, want delivered, without the body, in the same place of a list", status, d)
		}
	}
	for _, status := range []int{0, 199, 300, 302, 400, 429, 500, 999} {
		if d := after(1, rewards.WebhookAnswer{StatusCode: status}); d.Status != rewards.DeliveryPending || d.NextAt != tried.Add(time.Second) {
			t.Errorf("%d: %+v, want pending for a second", status, d)
		}
	}
	if d := after(1, rewards.WebhookAnswer{StatusCode: 410}); d.Status != rewards.DeliveryPending || !d.NextAt.IsZero() {
		t.Errorf("410: %+v, want pending until the endpoint is enabled", d)
	}
	if d := after(-1, rewards.WebhookAnswer{StatusCode: 410}); d.Status != rewards.DeliveryFailed || !d.NextAt.IsZero() {
		t.Errorf("410 to a test: %+v, want failed at once", d)
	}
	for asked, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Millisecond: time.Second, time.Minute: time.Minute, 48 * time.Hour: 24 * time.Hour,
	} {
		if d := after(1, rewards.WebhookAnswer{StatusCode: 429, RetryAfter: asked}); d.NextAt != tried.Add(want) {
			t.Errorf("Retry-After of %v: next in %v, want %v", asked, d.NextAt.Sub(tried), want)
		}
	}
}

// An endpoint is disabled by 410 and by five days of nothing but failures.
func TestEndpointAnswered(t *testing.T) {
	t.Parallel()
	bad, good := rewards.WebhookAnswer{StatusCode: 500}, rewards.WebhookAnswer{StatusCode: 200}
	var e rewards.WebhookEndpoint
	e.Answered(bad, tried)
	e.Answered(bad, tried.Add(24*time.Hour))
	if _, raised := e.Alarm(tried.Add(24*time.Hour - 1)); raised {
		t.Error("an alarm within a day")
	}
	if a, raised := e.Alarm(tried.Add(24 * time.Hour)); !raised || a.Kind() != "webhook_failing" {
		t.Errorf("the alarm after a day is %+v", a)
	}
	e.Answered(good, tried.Add(48*time.Hour))
	e.Answered(bad, tried.Add(50*time.Hour))
	e.Answered(bad, tried.Add(50*time.Hour+5*24*time.Hour-1))
	if e.Disabled != "" {
		t.Fatalf("disabled within five days: %s", e.Disabled)
	}
	e.Answered(bad, tried.Add(50*time.Hour+5*24*time.Hour))
	if a, raised := e.Alarm(tried); e.Disabled != rewards.DisabledFails || !raised || a.Kind() != "webhook_disabled" {
		t.Errorf("after five days of failures: %q, alarm %+v", e.Disabled, a)
	}
	yes := true
	rewards.WebhookChange{Enabled: &yes}.Apply(&e)
	e.Answered(bad, tried)
	since := e.FailingSince
	rewards.WebhookChange{Enabled: &yes}.Apply(&e)
	if e.Disabled != "" || since.IsZero() || e.FailingSince != since {
		t.Errorf("enabled again: %q, and it fails since %s, want %s", e.Disabled, e.FailingSince, since)
	}
	e.DisableFor("seen")
	if _, raised := e.Alarm(tried); raised {
		t.Error("an alarm although an operator disabled the endpoint")
	}
	e.Enable()
	e.Answered(rewards.WebhookAnswer{StatusCode: 410}, tried)
	if e.Disabled != rewards.DisabledGone {
		t.Errorf("after 410: %q", e.Disabled)
	}
}

func TestShareShards(t *testing.T) {
	t.Parallel()
	all := make([]rewards.WebhookShard, 4)
	for i := range all {
		all[i].Number = i
	}
	take := func(holder string, workers int, now time.Time) (mine []int) {
		for _, s := range rewards.ShareShards(all, holder, workers, now, time.Minute, false) {
			if s.Epoch < all[s.Number].Epoch || s.Holder != all[s.Number].Holder && s.Epoch == all[s.Number].Epoch {
				t.Errorf("shard %d: %+v follows %+v", s.Number, s, all[s.Number])
			}
			all[s.Number] = s
			if s.Held(now) {
				mine = append(mine, s.Number)
			}
		}
		return mine
	}
	wantList := func(want, got []int) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the part (-want +got):\n%s", diff)
		}
	}
	wantList([]int{0, 1, 2, 3}, take("a", 1, tried))
	wantList(nil, take("b", 2, tried))
	wantList([]int{0, 1}, take("a", 2, tried.Add(time.Second)))
	wantList([]int{2, 3}, take("b", 2, tried.Add(time.Second)))
	wantList([]int{0, 1}, take("a", 2, tried.Add(2*time.Second)))
	wantList([]int{2, 3, 0, 1}, take("b", 1, tried.Add(time.Hour)))
}

// The secret has the form of Standard Webhooks, and both secrets sign for a day.
func TestWebhookSecret(t *testing.T) {
	t.Parallel()
	secret, err := rewards.NewWebhookSecret(strings.NewReader(strings.Repeat("x", 32)))
	if shown := rewards.ShowWebhookSecret(secret); err != nil || shown != "whsec_eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=" {
		t.Errorf("the secret is %q, error %v", shown, err)
	}
	parsed, err := rewards.ParseWebhookSecret(rewards.ShowWebhookSecret(secret))
	if err != nil || !bytes.Equal(parsed, secret) {
		t.Errorf("parsed: %q, error %v", parsed, err)
	}
	long, short := rewards.ShowWebhookSecret(make([]byte, 65)), rewards.ShowWebhookSecret(make([]byte, 23))
	for _, text := range []string{"", "whsec_", "whsec_?", long, short, strings.Repeat("eHh4", 8)} {
		if parsed, err := rewards.ParseWebhookSecret(text); err == nil {
			t.Errorf("%q is a secret: %q", text, parsed)
		}
	}
}

// Each secret signs for a day after it was replaced, also when the next one is replaced meanwhile. At most five sign.
func TestWebhookSecretsThatSign(t *testing.T) {
	t.Parallel()
	e := rewards.WebhookEndpoint{Secret: rewards.SealedSecret("a")}
	e.Rotate(rewards.SealedSecret("b"), tried)
	e.Rotate(rewards.SealedSecret("c"), tried.Add(time.Hour))
	wantSigned := func(after time.Duration, want string) {
		t.Helper()
		if got := string(bytes.Join(sealed(e.Secrets(tried.Add(after))), nil)); got != want {
			t.Errorf("%v after the first rotation %q sign, want %q", after, got, want)
		}
	}
	wantSigned(time.Hour, "cba")
	wantSigned(24*time.Hour-1, "cba")
	wantSigned(24*time.Hour, "cb")
	wantSigned(25*time.Hour, "c")
	e.Rotate(rewards.SealedSecret("d"), tried.Add(24*time.Hour))
	wantSigned(0, "dcb") // a has ended
	for _, next := range "efg" {
		e.Rotate(rewards.SealedSecret(string(next)), tried.Add(24*time.Hour))
	}
	wantSigned(24*time.Hour, "gfedc")
}

func sealed(secrets []rewards.SealedSecret) (list [][]byte) {
	for _, s := range secrets {
		list = append(list, s)
	}
	return list
}
