// Package client calls the Stock Rewards Service. It retries what is safe to retry with the
// same idempotency key, honors Retry-After, keeps every digit of amounts, goes through lists
// and the event feed with iterators, and verifies webhooks. It needs only the standard library.
//
//	rewards := client.New(os.Getenv("API_URL"), os.Getenv("API_KEY"))
//	user, err := rewards.CreateUser(ctx, client.NewUser{ExternalID: "customer-42"})
//	given, err := rewards.Award(ctx, client.NewReward{
//		UserID: user.ID, IdempotencyKey: "welcome-42", AmountUSD: client.MustDecimal("5.25"), AssetSymbol: "AAPL",
//	})
//
// An error answer, an answer that cannot be decoded, and an invalid URL give an *Error. Other
// failures are plain errors, such as a lost connection. Methods are safe for concurrent use.
// Start with Client; send.go has the retries.
package client

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Client calls the service for one app. Change its fields before the first call only.
type Client struct {
	URL string // such as "https://rewards.example.com"
	Key string // the app's key, which no error contains
	// HTTP sends requests. Its timeout limits an attempt, and must be longer than the 20 seconds
	// that the event feed waits. It follows no redirect, whatever its CheckRedirect says.
	// Nil: http.DefaultClient, which has no timeout.
	HTTP *http.Client
	// Attempts is how often a request is sent at most; 1 means no retries.
	Attempts int
	// MaxWait limits the time before a retry. A longer Retry-After ends the retries.
	MaxWait time.Duration
}

// New returns a client with 6 attempts, 30 seconds for each, and at most a minute between them.
func New(url, key string) *Client {
	const timeout, attempts, maxWait = 30 * time.Second, 6, time.Minute
	return &Client{
		URL: strings.TrimSuffix(url, "/"), Key: key, HTTP: &http.Client{Timeout: timeout},
		Attempts: attempts, MaxWait: maxWait,
	}
}

// stay follows no redirect: the service sends none, and another host must not get the key.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Do sends any request of the API, also one that has no method here. The path begins with
// "/v1/" and may have a query. Body is encoded as JSON; nil means no body. The JSON of the
// answer is decoded into answer, unless answer is nil.
//
// GET, PUT, PATCH and DELETE are retried, and so is a body with an idempotency key. Other
// requests are retried only when the service did nothing: it refused them with 429, or no
// connection was made. When ctx ends before a retry, the error wraps both that and the last
// attempt's error.
func (c *Client) Do(ctx context.Context, method, path string, body, answer any) error {
	r, err := newRequest(method, path, body)
	if err == nil {
		_, err = c.send(ctx, r, answer)
	}
	return err
}
