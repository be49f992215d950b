package world

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Request sends a request with an app's key, unless it is "", and reads the answer.
func Request(
	ctx context.Context, client *http.Client, key, method, url, body string,
) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

// Ask sends a request that must get the status, and decodes the JSON of the answer unless into is
// nil.
func Ask(t *testing.T, status int, key, method, url, body string, into any) {
	t.Helper()
	answer, text, err := Request(t.Context(), http.DefaultClient, key, method, url, body)
	Check(t, err)
	if answer.StatusCode != status {
		t.Fatalf("%s %s %s: %d %s, want %d", method, url, body, answer.StatusCode, text, status)
	}
	if into != nil {
		Check(t, json.Unmarshal(text, into))
	}
}
