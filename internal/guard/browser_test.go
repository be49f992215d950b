package guard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"stockrewards/internal/guard"
)

// Requests from another site's page are refused, even when a foreign name resolves to
// this machine. Programs are served.
func TestBrowsersOfOtherSites(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	for name, c := range map[string]struct {
		method, host, header, value string
		served, anyHost             bool // whether it is served: with Host checked, without
	}{
		"a program":                    {"POST", "127.0.0.1:80", "", "", true, true},
		"a program by another address": {"GET", "10.1.2.3:80", "", "", true, true},
		"IPv6":                         {"POST", "[::1]:80", "", "", true, true},
		"IPv6 without a port":          {"GET", "[::1]", "", "", true, true},
		"localhost":                    {"POST", "LOCALHOST:80", "", "", true, true},
		"a configured name":            {"GET", "Metrics.internal:80", "", "", true, true},
		"no Host":                      {"GET", "", "", "", true, true},
		"the same site":                {"POST", "127.0.0.1:80", "Sec-Fetch-Site", "same-origin", true, true},
		"another site":                 {"POST", "127.0.0.1:80", "Sec-Fetch-Site", "cross-site", false, false},
		"another site, deleting":       {"DELETE", "127.0.0.1:80", "Sec-Fetch-Site", "cross-site", false, false},
		"another port":                 {"PUT", "127.0.0.1:80", "Origin", "http://127.0.0.1:81", false, false},
		"an older browser":             {"POST", "127.0.0.1:80", "Origin", "https://evil.example", false, false},
		"a foreign name":               {"GET", "evil.example:80", "", "", false, true},
		"a foreign name, posting":      {"POST", "evil.example", "Origin", "http://evil.example", false, true},
		"a name like localhost":        {"GET", "localhost.evil.example", "", "", false, true},
		"a name like an address":       {"GET", "127.0.0.1.evil.example", "", "", false, true},
	} {
		for anyHost, want := range map[bool]bool{false: c.served, true: c.anyHost} {
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/control/faults", http.NoBody)
			r.Host = c.host
			if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			w := httptest.NewRecorder()
			guard.Browsers(next, []string{"metrics.internal"}, anyHost).ServeHTTP(w, r)
			if served := w.Body.String() == "served"; served != want || !served && w.Code != http.StatusForbidden {
				t.Errorf("%s (any host: %t): %d %s", name, anyHost, w.Code, w.Body)
			}
		}
	}
}
