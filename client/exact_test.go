package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/client"
)

// No digit is lost, in either direction, and equal numbers are equal.
func TestDecimals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"999999.99", "123456.789", "0.000001", "1234567890.123456789", "0", "5", "-3.5", "9007199254740993", "0.1", "100",
	} {
		var d client.Decimal
		if err := json.Unmarshal([]byte(text), &d); err != nil || d != client.MustDecimal(text) || d.String() != text {
			t.Errorf("%s was read as %s: %v", text, d, err)
		}
		if out, err := json.Marshal(map[string]any{"a": d}); err != nil || string(out) != `{"a":`+text+`}` {
			t.Errorf("%s was written as %s: %v", text, out, err)
		}
	}
	if client.MustDecimal("5.250") != client.MustDecimal("5.25") || client.MustDecimal("-0.0") != (client.Decimal{}) {
		t.Error("equal numbers differ")
	}
	if got := client.MustDecimal("0.1").Rat().RatString(); got != "1/10" {
		t.Error(got)
	}
	for _, text := range []string{"", "-", "+1", "1.", ".5", "01", "1e3", "NaN", " 1", "1,5", `"1"`, "null"} {
		if d, err := client.ParseDecimal(text); err == nil {
			t.Errorf("%q is %s", text, d)
		}
	}
}

// These are the example of the Standard Webhooks specification, and changes of it.
func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	const secret, good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	const at, body = 1614265330, `{"test": 2432232314}`
	for name, c := range map[string]struct {
		secret, id, signature, body string
		age                         time.Duration
		signed                      bool // the error is not the signature's
		good                        bool
	}{
		"good":                {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, 0, true, true},
		"almost old":          {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, 5 * time.Minute, true, true},
		"old":                 {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, 5*time.Minute + time.Second, true, false},
		"from the future":     {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, -6 * time.Minute, true, false},
		"with an old secret":  {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "v1,AAAA v1a,x " + good, body, 0, true, true},
		"another body":        {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body + " ", 0, false, false},
		"another id":          {secret, "msg_other", good, body, 0, false, false},
		"another secret":      {"whsec_AAAA", "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, 0, false, false},
		"no signature":        {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "", body, 0, false, false},
		"another version":     {secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "v2" + good[2:], body, 0, false, false},
		"not a secret at all": {"whsec_", "msg_p5jXN8AQM9LWM0D4loKWxJek", good, body, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Unix(at, 0).Add(c.age))) // the clock of a synctest jumps there
				header := http.Header{
					"Webhook-Id": {c.id}, "Webhook-Timestamp": {"1614265330"}, "Webhook-Signature": {c.signature}, "X-Event-Sequence": {"7"},
				}
				w, err := client.VerifyWebhook(c.secret, header, []byte(c.body))
				if (err == nil) != c.good || errors.Is(err, client.ErrSignature) == c.signed {
					t.Errorf("%+v %v", w, err)
				}
				if c.good && (w.ID != c.id || w.Sequence != 7) {
					t.Errorf("%+v", w)
				}
			})
		})
	}
}
