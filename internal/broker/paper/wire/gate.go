package wire

import (
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"stockrewards/internal/broker/paper/apierror"
)

// unlimited is the rate limit in the headers of a brokerage without a limit.
const unlimited = 1 << 30

// gate checks credentials and the rate limit.
type gate struct {
	keyID, secretKey string // not checked when keyID is empty
	perMinute        int

	mu      sync.Mutex
	trading tally
	data    tally
}

// tally counts the requests of one minute.
type tally struct {
	minute time.Time
	count  int
}

// The paths of the market data API, which has its own rate limit.
const (
	stocksPath  = "/v2/stocks/"
	actionsPath = "/v1/corporate-actions"
)

func isData(path string) bool { return strings.HasPrefix(path, stocksPath) || path == actionsPath }

func newGate(keyID, secretKey string, perMinute int) *gate {
	if perMinute <= 0 {
		perMinute = unlimited
	}
	return &gate{keyID: keyID, secretKey: secretKey, perMinute: perMinute}
}

// count counts a request and writes the headers of the rate limit, which every answer has.
// It fails when the request exceeds the limit.
func (g *gate) count(h http.Header, path string, now time.Time) error {
	minute := now.Truncate(time.Minute)
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &g.trading
	if isData(path) {
		t = &g.data
	}
	if !minute.Equal(t.minute) {
		*t = tally{minute: minute}
	}
	t.count++
	h.Set("X-RateLimit-Limit", strconv.Itoa(g.perMinute))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(g.perMinute-t.count, 0)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(minute.Add(time.Minute).Unix(), 10))
	if t.count > g.perMinute {
		return apierror.RateLimited()
	}
	return nil
}

// authenticate fails when the request has other credentials.
func (g *gate) authenticate(r *http.Request) error {
	if g.keyID == "" {
		return nil
	}
	keyID, secretKey := r.Header.Get("APCA-API-KEY-ID"), r.Header.Get("APCA-API-SECRET-KEY")
	switch {
	case keyID == "" || secretKey == "":
		return &apierror.Error{Status: http.StatusUnauthorized, Message: "unauthorized"}
	case !equal(keyID, g.keyID) || !equal(secretKey, g.secretKey):
		return &apierror.Error{Status: http.StatusForbidden, Message: "forbidden."}
	}
	return nil
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
