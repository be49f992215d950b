package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// healthCommand is the health check of containers, whose images have no other program.
type healthCommand struct {
	JSON    bool   `name:"json" help:"Print the service's answer as one JSON object, also when it is not ready."`
	Address string `arg:"" optional:"" env:"STOCKREWARDS_ADMIN_LISTEN" default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"The address of serve's --admin-listen (default: 127.0.0.1:8081)."`
}

// readiness is the part of the body of /readyz that the command prints.
type readiness struct {
	Status   string    `json:"status"`
	Reason   *warning  `json:"reason"`
	Warnings []warning `json:"warnings"`
}

// warning is a problem that the service reports about itself.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Run asks the running service whether it is ready, and prints its warnings. It fails when the
// service is not ready, or does not answer within 6 seconds.
func (c *healthCommand) Run(ctx context.Context) error {
	const patience = 6 * time.Second // /readyz answers within 5
	address, err := reachable(c.Address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{}} // without a proxy
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("cannot ask %s: %w", address, errors.Unwrap(err))
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return fmt.Errorf("cannot read the answer of %s: %w", address, err)
	}
	return c.judge(address, response.StatusCode, body)
}

// judge prints what the service reports, and returns an error unless it is ready.
func (c *healthCommand) judge(address string, status int, body []byte) error {
	var got readiness
	if err := json.Unmarshal(body, &got); err != nil || got.Status == "" {
		return fmt.Errorf("%s answers %d, but not as the service's --admin-listen does", address, status)
	}
	if c.JSON {
		if err := printJSON(got); err != nil {
			return err
		}
	}
	if status != http.StatusOK {
		reason := cmp.Or(got.Reason, &warning{Code: got.Status})
		return fmt.Errorf("%s is not ready: %s: %s", address, reason.Code, reason.Message)
	}
	if c.JSON {
		return nil
	}
	sayln(got.Status)
	for _, w := range got.Warnings {
		sayf("warning: %s: %s\n", w.Code, w.Message)
	}
	return nil
}

// reachable returns the address at which this machine reaches a listener: one that listens
// on all addresses is reached on the loopback interface.
func reachable(listener string) (string, error) {
	listener = strings.TrimSuffix(strings.TrimPrefix(listener, "http://"), "/")
	if _, err := loopback(listener); err != nil || strings.ContainsAny(listener, "/?#@") {
		return "", usageErrorf("ADDRESS %q: must be HOST:PORT", listener)
	}
	host, port, err := net.SplitHostPort(listener)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
