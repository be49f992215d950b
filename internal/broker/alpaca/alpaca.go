// Package alpaca is a thin client of Alpaca's Trading API and market data API, with only the
// calls that the service needs.
//
// Numbers are read exactly, never as floats. Every failure is a *rewards.BrokerError whose kind
// says what it means for the request; the outcome of a submit that the broker may have carried out
// is always BrokerUnknown. No answer is read beyond a limit and no redirect is followed. No error,
// no log line and no string of an answer has the credentials. Nothing is retried here.
//
// Read classify.go for what each answer means, pacer.go for the rate limit and order.go for orders.
package alpaca

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

const (
	defaultRequestsPerMinute = 200              // Alpaca's limit for one account
	defaultTimeout           = 10 * time.Second // of one exchange: connect, send and read
	dialTimeout              = 5 * time.Second
	idleTimeout              = 90 * time.Second
	maxIdleConnections       = 16       // to one host
	maxHeaderBytes           = 64 << 10 // of an answer
	maxSmallBody             = 1 << 20  // bytes of an answer about one thing, such as an order
	maxPageBody              = 4 << 20  // bytes of a page of at most a thousand things
	maxListBody              = 32 << 20 // bytes of an answer that is a whole list
	maxListed                = 100_000  // entries of a whole list
	maxErrorBody             = 64 << 10 // bytes of an error's body
	maxString                = 200      // bytes of a string of the broker that is kept
)

// Options are the broker's addresses, the credentials and the limits.
type Options struct {
	TradingURL string // "https://paper-api.alpaca.markets"; a trailing /v2 is dropped
	DataURL    string // "https://data.alpaca.markets"
	KeyID      string // sent as APCA-API-KEY-ID
	SecretKey  string // sent as APCA-API-SECRET-KEY

	// Transport carries the requests. Nil means TLS 1.2 or newer and the environment's proxy
	// variables.
	Transport http.RoundTripper

	// RequestsPerMinute is the maximum number of requests to each of the two hosts (default 200).
	RequestsPerMinute int

	// Timeout bounds one exchange with the broker, without the wait for the rate limit
	// (default 10 seconds).
	Timeout time.Duration

	// Observe, if not nil, is called after every call with the operation ("submit"), its error
	// and its duration without the wait for the rate limit.
	Observe func(operation string, err error, took time.Duration)
}

// Operations lists the operations that Observe is called with.
func Operations() []string {
	return []string{
		opAccount, opActions, opActivities, opAssets, opCalendar, opClock, opOrder, opOrders, opPositions,
		opSnapshots, opSubmit,
	}
}

const (
	opAccount    = "account"
	opActions    = "announcements"
	opActivities = "activities"
	opCalendar   = "calendar"
	opAssets     = "assets"
	opClock      = "clock"
	opOrder      = "order"
	opOrders     = "orders"
	opPositions  = "positions"
	opSnapshots  = "snapshots"
	opSubmit     = "submit"
)

// String describes the options without the credentials.
func (o Options) String() string {
	return "alpaca.Options{TradingURL: " + o.TradingURL + ", DataURL: " + o.DataURL + ", (redacted)}"
}

// GoString describes the options without the credentials, for the %#v verb.
func (o Options) GoString() string { return o.String() }

// LogValue describes the options without the credentials.
func (o Options) LogValue() slog.Value {
	return slog.GroupValue(slog.String("trading_url", o.TradingURL), slog.String("data_url", o.DataURL))
}

// Client is a client of one account at Alpaca. Its methods are safe for concurrent use. They fail
// with a *rewards.BrokerError.
type Client struct {
	http    *http.Client
	trading *host
	data    *host
	timeout time.Duration

	maxPages int // of a list of orders
	observe  func(operation string, err error, took time.Duration)

	// The credentials live in closures, where no formatting verb can reach them.
	authorize func(http.Header)
	scrub     func(string) string
}

// host is one of the two servers, with its own rate limit.
type host struct {
	base string
	pace *pacer
}

// New returns a client for the account of the credentials. It does no I/O.
func New(o Options) *Client {
	if o.RequestsPerMinute <= 0 {
		o.RequestsPerMinute = defaultRequestsPerMinute
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	if o.Observe == nil {
		o.Observe = func(string, error, time.Duration) {}
	}
	return &Client{
		observe: o.Observe,
		http: &http.Client{
			Transport:     o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		trading:  newHost(o.TradingURL, o.RequestsPerMinute),
		data:     newHost(o.DataURL, o.RequestsPerMinute),
		timeout:  o.Timeout,
		maxPages: maxOrderPages,
		authorize: func(h http.Header) {
			h.Set("APCA-API-KEY-ID", o.KeyID)
			h.Set("APCA-API-SECRET-KEY", o.SecretKey)
		},
		scrub: scrubber(o.KeyID, o.SecretKey),
	}
}

// Ready reports whether a trading call would go out at once: the rate limit has room and the
// broker has not asked for a pause.
func (c *Client) Ready() bool { return c.trading.pace.ready() }

func newHost(base string, requestsPerMinute int) *host {
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v2")
	return &host{base: base, pace: newPacer(requestsPerMinute)}
}

func defaultTransport() http.RoundTripper {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // an HTTP/2 connection whose path is gone would get each repetition, too
	return &http.Transport{
		Protocols:              protocols,
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConnsPerHost:    maxIdleConnections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// clean makes a string of the broker printable and short, without the credentials. It cuts last: what is left of a
// credential that is cut would no longer be found.
func (c *Client) clean(text string) string { return rewards.Excerpt(c.scrub(text), maxString) }

// scrubber returns a function that removes the credentials from a string. Brokers and proxies may
// echo what they received. Credentials of a few characters, which a paper brokerage accepts, are part of any words.
func scrubber(secrets ...string) func(string) string {
	const least = 8
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= least {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
