package test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	sdk "stockrewards/client"
)

// delivery is a request to a receiver of webhooks.
type delivery struct {
	Headers map[string]string // names in lower case
	Body    string
	Secrets map[string]bool // whether each must verify it
}

// hook is a receiver of webhooks.
type hook struct {
	url        string
	deliveries chan delivery
	seen       map[string]bool // by the test, by event
}

// newHook starts a receiver that answers with the status of refuse, or with 204 when that is 0.
func newHook(t *testing.T, refuse func(n int) int) *hook {
	t.Helper()
	in := &hook{deliveries: make(chan delivery, 100), seen: map[string]bool{}}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		d := delivery{Headers: map[string]string{}, Body: string(body)}
		for name := range r.Header {
			d.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		if status := refuse(int(requests.Add(1))); status != 0 {
			w.WriteHeader(status)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		in.deliveries <- d
	}))
	t.Cleanup(server.Close)
	in.url = server.URL + "/hook"
	return in
}

func accept(int) int { return 0 }

// next returns the next request that the receiver accepts and that is about another event than those
// before: an event may come twice.
func (in *hook) next(t *testing.T) delivery {
	t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		select {
		case d := <-in.deliveries:
			if id := d.Headers["webhook-id"]; !in.seen[id] {
				in.seen[id] = true
				return d
			}
		case <-deadline:
			t.Fatal("no delivery came")
		}
	}
}

// Real deliveries are verified by the official Go and npm libraries of Standard Webhooks: by the secret,
// by both secrets after a rotation, and by no other.
func TestOfficialLibrariesVerifyDeliveries(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(typescriptClient(t), "node_modules") // first: a signature is valid for five minutes
	s, stop := newDev(t)
	defer stop()
	in := newHook(t, accept)
	endpoint, first, err := s.sdk().CreateWebhookEndpoint(t.Context(), sdk.NewWebhookEndpoint{URL: in.url})
	noError(t, err)
	stranger := "whsec_" + strings.Repeat("QUJD", 11)
	s.give(s.newUser("hooked"), "hooked-key", "5.25", "AAPL")
	executed := in.next(t)
	executed.Secrets = map[string]bool{first: true, stranger: false}

	var rotated struct{ Secret string }
	s.must(200, "POST", "/v1/webhook-endpoints/"+endpoint.ID+"/rotate-secret", "{}").decode(t, &rotated)
	var sent struct{ EventID string }
	s.must(202, "POST", "/v1/webhook-endpoints/"+endpoint.ID+"/test", "{}").decode(t, &sent)
	ping := in.next(t)
	ping.Secrets = map[string]bool{first: true, rotated.Secret: true, stranger: false}
	s.give(s.newUser("hooked later"), "hooked-later-key", "1.25", "AAPL")
	later := in.next(t)
	later.Secrets = ping.Secrets

	deliveries := []delivery{executed, ping, later}
	for i, d := range deliveries {
		if n := len(strings.Fields(d.Headers["webhook-signature"])); n != min(i, 1)+1 {
			t.Errorf("delivery %d has %d signatures", i, n)
		}
		verifiedByGo(t, d)
	}
	if ping.Headers["webhook-id"] != sent.EventID || !strings.HasPrefix(ping.Body, `{"type":"test.ping",`) {
		t.Errorf("the test is %+v, want the event %s", ping, sent.EventID)
	}
	verifiedByNode(t, modules, deliveries)
}

func verifiedByGo(t *testing.T, d delivery) {
	t.Helper()
	header := http.Header{}
	for name, value := range d.Headers {
		header.Set(name, value)
	}
	for secret, valid := range d.Secrets {
		v := call[*standardwebhooks.Webhook](t)(standardwebhooks.NewWebhook(secret))
		if err := v.Verify([]byte(d.Body), header); (err == nil) != valid {
			t.Errorf("Go verified %s: %v, want valid: %t", d.Body, err, valid)
		}
		if v.Verify([]byte(d.Body+" "), header) == nil {
			t.Errorf("Go verified a changed body of %s", d.Body)
		}
	}
}

// nodeVerifies verifies the deliveries of a file with each secret, also with a changed body.
const nodeVerifies = `import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
let checks = 0;
for (const d of JSON.parse(readFileSync("deliveries.json", "utf8"))) {
  for (const [secret, valid] of Object.entries(d.Secrets)) {
    for (const body of [d.Body, d.Body + " "]) {
      let verified = true;
      try { new Webhook(secret).verify(body, d.Headers); } catch { verified = false; }
      if (verified !== (valid && body === d.Body)) throw new Error("verified: " + verified + ": " + body);
      checks++;
    }
  }
}
console.log(checks);
`

// verifiedByNode runs the npm library, which the lock file of the TypeScript client pins.
func verifiedByNode(t *testing.T, modules string, deliveries []delivery) {
	t.Helper()
	folder := t.TempDir()
	noError(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	content, err := json.Marshal(deliveries)
	noError(t, err)
	noError(t, os.WriteFile(filepath.Join(folder, "deliveries.json"), content, 0o600))
	noError(t, os.WriteFile(filepath.Join(folder, "verify.mjs"), []byte(nodeVerifies), 0o600))
	if out := strings.TrimSpace(runIn(t, folder, "node", "verify.mjs")); out != "16" {
		t.Errorf("Node made %s checks, want 16", out)
	}
}

// sameRequest reports what differs between two deliveries of one event, apart from time and signature.
func sameRequest(a, b delivery) (differ []string) {
	for name, value := range a.Headers {
		varies := slices.Contains([]string{"webhook-timestamp", "webhook-signature"}, name)
		if _, has := b.Headers[name]; !has || !varies && b.Headers[name] != value {
			differ = append(differ, name)
		}
	}
	if len(a.Headers) != len(b.Headers) || a.Body != b.Body {
		differ = append(differ, b.Body)
	}
	return differ
}
