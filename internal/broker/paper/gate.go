package paper

import (
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// unlimited is the rate limit that is told when there is none.
const unlimited = 1 << 30

// gate checks credentials and counts the requests of each minute.
type gate struct {
	keyID, secretKey string // any will do when keyID is empty
	perMinute        int

	mu      sync.Mutex
	trading tally
	data    tally
}

// tally counts the requests of one minute.
type tally struct {
	minute int64 // since 1970
	count  int
}

// The paths of the market data API, which at Alpaca has an address and a rate limit
// of its own.
const (
	pricePaths  = "/v2/stocks/"
	actionsPath = "/v1/corporate-actions"
)

func isData(path string) bool { return strings.HasPrefix(path, pricePaths) || path == actionsPath }

func newGate(keyID, secretKey string, perMinute int) *gate {
	if perMinute <= 0 {
		perMinute = unlimited
	}
	return &gate{keyID: keyID, secretKey: secretKey, perMinute: perMinute}
}

// visit is one request's place in its minute.
type visit struct {
	limit, remaining int // remaining is negative when the request is one too many
	reset            int64
}

// enter counts a request.
func (g *gate) enter(path string, now time.Time) visit {
	const secondsPerMinute = 60
	minute := floorDiv(now.Unix(), secondsPerMinute)
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &g.trading
	if isData(path) {
		t = &g.data
	}
	if minute != t.minute {
		*t = tally{minute: minute}
	}
	t.count++
	return visit{limit: g.perMinute, remaining: g.perMinute - t.count, reset: (minute + 1) * secondsPerMinute}
}

// tell writes the headers that are on every answer.
func (v visit) tell(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(v.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(v.remaining, 0)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(v.reset, 10))
}

// check refuses a request that is one too many or has other credentials.
func (v visit) check(g *gate, r *http.Request) error {
	if v.remaining < 0 {
		return rateLimited()
	}
	if g.keyID == "" {
		return nil
	}
	keyID, secretKey := r.Header.Get("APCA-API-KEY-ID"), r.Header.Get("APCA-API-SECRET-KEY")
	switch {
	case keyID == "" || secretKey == "":
		return &apiError{status: http.StatusUnauthorized, message: "unauthorized"}
	case !same(keyID, g.keyID) || !same(secretKey, g.secretKey):
		return &apiError{status: http.StatusForbidden, message: "forbidden."}
	}
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
