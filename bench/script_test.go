package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fussy answers 201, 503 with and without Retry-After, and 400 in turn, and keeps the
// requests.
type fussy struct {
	mu       sync.Mutex
	requests []rewardRequest
	keys     map[string]int
	wrong    []string
	answers  [4]int
}

func (f *fussy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var g rewardRequest
	err := json.NewDecoder(r.Body).Decode(&g)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/rewards" || r.Header.Get("X-Api-Key") != "key" {
		f.wrong = append(f.wrong, r.Method+" "+r.URL.Path)
	}
	turn := len(f.requests) % len(f.answers)
	f.requests = append(f.requests, g)
	f.keys[g.IdempotencyKey]++
	f.answers[turn]++
	if turn == 1 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader([4]int{201, 503, 503, 400}[turn])
}

// TestScript compares the requests of load.lua and its counts of answers with a server's.
func TestScript(t *testing.T) {
	t.Parallel()
	f := &fussy{keys: map[string]int{}}
	server := httptest.NewServer(f)
	defer server.Close()
	folder := t.TempDir()
	script, users := filepath.Join(folder, "load.lua"), filepath.Join(folder, "users")
	for path, text := range map[string]string{script: loadScript, users: sampleID + "\n" + sampleID + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := load{url: server.URL, key: "key", mode: modeOverload, file: users, connections: 4, seconds: 1}
	got, err := l.run(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) > 0 || len(f.requests) < 100 {
		t.Fatalf("%d requests, wrong ones: %v", len(f.requests), f.wrong)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$`)
	stocks := strings.Split(symbols, ",")
	for _, g := range f.requests {
		if f.keys[g.IdempotencyKey] != 1 || !uuid.MatchString(g.IdempotencyKey) || g.UserID != sampleID ||
			!slices.Contains(stocks, g.AssetSymbol) || !strings.Contains(string(g.AmountUSD), ".") {
			t.Fatalf("request %+v", g)
		}
	}
	c := got.Counted
	for _, pair := range [][2]int{
		{f.answers[0], c.Created},
		{f.answers[1] + f.answers[2], c.Unavailable},
		{f.answers[2], c.Unadvised},
		{f.answers[3], c.Other},
	} {
		const cut = 4 // wrk cuts its connections at the end
		if pair[1] == 0 || pair[0] < pair[1] || pair[0] > pair[1]+cut {
			t.Errorf("%d answers, %d are counted", pair[0], pair[1])
		}
	}
	if got.Refused < c.Unavailable+c.Other-4 {
		t.Errorf("%d of %d are counted as refused", got.Refused, c.Unavailable+c.Other)
	}
}
