package page_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stockrewards/internal/page"
)

// The brokerage is controlled and operations are tried from this machine, but not by another
// site's page.
func TestControlIsLocal(t *testing.T) {
	t.Parallel()
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	controlled := page.New(page.Options{Next: answer("next"), Control: answer("control"), Docs: answer("docs"), Log: slog.New(slog.DiscardHandler)})
	without := page.New(page.Options{Next: answer("next"), Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		name, host, site string
		handler          http.Handler
		want             string
		status           int
	}{
		{"a program", "127.0.0.1:8080", "", controlled, "control", http.StatusOK},
		{"the page itself", "localhost:8080", "same-origin", controlled, "control", http.StatusOK},
		{"another site", "localhost:8080", "cross-site", controlled, "", http.StatusForbidden},
		{"another name", "evil.example", "", controlled, "", http.StatusForbidden},
		{"no controls", "127.0.0.1:8080", "", without, "next", http.StatusOK},
	} {
		for path, want := range map[string]string{"/control/clock": c.want, "/docs": strings.Replace(c.want, "control", "docs", 1)} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.host+path, nil)
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, r)
			if w.Code != c.status || want != "" && w.Body.String() != want {
				t.Errorf("%s: %s: %d %q", c.name, path, w.Code, w.Body)
			}
		}
	}
}
