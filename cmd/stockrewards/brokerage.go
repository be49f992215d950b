package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	actionsPath = "/control/corporate-actions"
	faultsPath  = "/control/faults"
)

// brokerage is a paper brokerage that can be controlled.
type brokerage struct{ url string }

// String returns the brokerage's address, or what a nil brokerage is.
func (b *brokerage) String() string {
	if b == nil {
		return "a running paper brokerage"
	}
	return b.url
}

// brokerage finds the control address. It fails without one.
func (c *triggerCommand) brokerage(ctx context.Context) (*brokerage, error) {
	flag, address := "--control", c.Control
	if address == "" {
		flag, address = "--url", c.URL
	}
	u, err := baseURL(flag, address)
	if err != nil {
		return nil, err
	}
	b := &brokerage{u.String()}
	if _, err := b.newYork(ctx); err != nil {
		return nil, fmt.Errorf("%s needs a paper brokerage that can be controlled, and %s is not one (%w): "+
			"use `stockrewards dev`, or --control with the address of `stockrewards paper`", c.Type, b, err)
	}
	return b, nil
}

// newYork returns the brokerage's time in New York.
func (b *brokerage) newYork(ctx context.Context) (now time.Time, err error) {
	var clock struct{ Now time.Time }
	if err := b.ask(ctx, http.MethodGet, "/control/clock", "", &clock); err != nil {
		return now, err
	}
	if clock.Now.IsZero() {
		return now, errors.New("the answer is not that of a paper brokerage")
	}
	zone, err := time.LoadLocation("America/New_York")
	return clock.Now.In(zone), err
}

func day(at time.Time) string { return at.Format(time.DateOnly) }

// announce announces a corporate action at the brokerage.
func (t *trigger) announce(ctx context.Context, terms map[string]any) (id string, err error) {
	body, err := json.Marshal(terms)
	if err != nil {
		return "", err
	}
	var announced struct{ ID string }
	if err := t.brokerage.ask(ctx, http.MethodPost, actionsPath, string(body), &announced); err != nil {
		return "", err
	}
	sayf("Announced a %s of %s at the brokerage: %s.\n", terms["type"], t.stock, announced.ID)
	return announced.ID, nil
}

// withdraw withdraws a corporate action that has not happened.
func (b *brokerage) withdraw(ctx context.Context, id string) error {
	return b.ask(ctx, http.MethodDelete, actionsPath+"/"+id, "", nil)
}

// fault makes the brokerage misbehave, until cleanUp.
func (t *trigger) fault(ctx context.Context, line string) error {
	var faults []struct{ ID int }
	if err := t.brokerage.ask(ctx, http.MethodPost, faultsPath, line, &faults); err != nil {
		return err
	}
	newest := 0
	for _, f := range faults {
		newest = max(newest, f.ID)
	}
	t.undo = append(t.undo, func(ctx context.Context) error {
		return t.brokerage.ask(ctx, http.MethodDelete, fmt.Sprint(faultsPath, "/", newest), "", nil)
	})
	return nil
}

// ask sends a request and decodes the answer's JSON into answer, unless answer is nil. It fails with the
// brokerage's message.
func (b *brokerage) ask(ctx context.Context, method, path, body string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	const patience, most = 15 * time.Second, 1 << 20
	response, err := (&http.Client{Timeout: patience}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	content, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		var refused struct{ Message string }
		_ = json.Unmarshal(content, &refused) // another server's error has another body
		return fmt.Errorf("%s %s: %s %s", method, path, response.Status, refused.Message)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}
