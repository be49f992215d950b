package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"stockrewards/client"
	"stockrewards/internal/rewards"
)

// clientFlags are those of commands that call a running service as a client app does.
type clientFlags struct {
	URL     string `name:"url" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Call the service at this address (default: http://127.0.0.1:8080)."`
	KeyFile string `default:"stockrewards-data/dev.key" placeholder:"FILE" help:"Read the app's API key from this file (default: stockrewards-data/dev.key, which dev makes)."`
}

// connect returns a client of the service.
func (f clientFlags) connect() (*client.Client, error) {
	content, err := os.ReadFile(f.KeyFile)
	if err != nil {
		return nil, usageErrorf("--key-file: %w", err)
	}
	key := strings.TrimSpace(string(content))
	if !rewards.WellFormedKey(key) {
		return nil, usageErrorf("--key-file %s: must have an API key of the service and nothing else", f.KeyFile)
	}
	address, err := baseURL("--url", f.URL)
	if err != nil {
		return nil, err
	}
	if live(key) && address.Scheme != "https" {
		if local, _ := loopback(net.JoinHostPort(address.Hostname(), "0")); !local {
			return nil, usageErrorf("--url %s: a live key is sent over https only", f.URL)
		}
	}
	return client.New(address.String(), key), nil
}

// live reports whether a key spends real money.
func live(key string) bool { return strings.HasPrefix(key, rewards.LiveKeyPrefix) }

// baseURL reads the address of a server from a flag, without a path at its end.
func baseURL(flag, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageErrorf("%s %q: must be a URL such as http://127.0.0.1:8080", flag, text)
	}
	return u, nil
}

// patience returns how long to wait before a failed request is sent again, and whether that may help.
func patience(err error, pause time.Duration) (wait time.Duration, again bool) {
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case !answered:
		return pause, true
	case e.Status != http.StatusTooManyRequests && e.Status < http.StatusInternalServerError:
		return 0, false
	}
	return max(pause, e.RetryAfter), true
}
