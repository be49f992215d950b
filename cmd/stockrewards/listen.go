package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

type listenCommand struct {
	clientFlags
	Forward    string   `required:"" placeholder:"URL" help:"Send each event to this address, such as http://localhost:3000/hook."`
	Types      []string `placeholder:"TYPE" help:"Forward only events of these types, such as reward.executed,reward.failed (default: all)."`
	After      int64    `default:"-1" placeholder:"SEQUENCE" help:"Begin after the event with this sequence; 0 begins with the first event (default: forward what happens from now on)."`
	SecretFile string   `placeholder:"FILE" help:"Sign with the secret in this file, which is made when it is missing (default: make a new secret and print it)."`
	Retries    []string `default:"1s,5s,30s" placeholder:"TIME" help:"Retry an event that the receiver did not accept after these pauses (default: 1s,5s,30s)."`
}

// Help describes the command beyond its flags.
func (c *listenCommand) Help() string {
	return "For developers: it reads the events of an app from a running service, and forwards them signed as a " +
		"webhook, also to a receiver on this machine that the service cannot reach. It prints a line for each " +
		"attempt, and continues when the service or the receiver fails. It stores nothing: the last line has the " +
		"--after that continues where it ended."
}

// Run forwards events until it is interrupted.
func (c *listenCommand) Run(ctx context.Context) error {
	connection, err := c.connect()
	if err != nil {
		return err
	}
	everywhere := rewards.WebhookAddresses{ // the developer names the receiver
		Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
	}
	if err := everywhere.CheckURL(c.Forward); err != nil {
		return usageErrorf("--forward %q: %w", c.Forward, err)
	}
	for _, name := range c.Types {
		if _, known := rewards.ParseEventType(name); !known {
			return usageErrorf("--types %q: must be of %s", name, rewards.AllEvents)
		}
	}
	schedule, err := pauses("--retries", c.Retries)
	if err != nil {
		return err
	}
	secret, err := c.secret()
	if err != nil {
		return err
	}
	connection.Attempts = 1 // persist retries, and says so
	events := feed{connection, strings.Join(c.Types, ",")}
	after := c.After
	if after < 0 {
		err := persist(ctx, func() (err error) {
			after, err = events.newest(ctx)
			return err
		})
		if err != nil {
			return ended(ctx, err)
		}
	}
	sayf("Forwarding the events after %d to %s. Press Ctrl-C to end.\n", after, c.Forward)
	sender := webhook.NewSender(everywhere, version)
	defer sender.Close()
	f := webhook.Forwarder{
		Sender: sender, URL: c.Forward, Secret: secret, Schedule: schedule, Now: time.Now, Random: mathrand.Int64N,
		Report: reportAttempt,
	}
	return forward(ctx, events, after, &f)
}

// forward runs the feed and the forwarder until ctx ends or the feed fails for good.
func forward(ctx context.Context, events feed, after int64, f *webhook.Forwarder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deliveries := make(chan rewards.Delivery)
	failed := make(chan error, 1)
	go func() {
		failed <- events.follow(ctx, after, deliveries)
		cancel()
	}()
	f.Run(ctx, deliveries)
	waiting, next := f.Rest()
	sayf("Ended. To continue with the next event: --after %d\n", max(after, next))
	if waiting > 0 {
		sayf("The receiver has not accepted %d events yet; they come first then.\n", waiting)
	}
	return <-failed
}

// ended returns err, unless the user ended the command.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user ended it
	}
	return err
}

// secret reads the secret from its file, or makes one. A new one that no file keeps is printed.
func (c *listenCommand) secret() ([]byte, error) {
	if c.SecretFile != "" {
		content, err := os.ReadFile(c.SecretFile)
		if err == nil {
			secret, err := rewards.ParseWebhookSecret(strings.TrimSpace(string(content)))
			if err != nil {
				return nil, usageErrorf("--secret-file %s: %w", c.SecretFile, err)
			}
			return secret, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, usageErrorf("--secret-file: %w", err)
		}
	}
	secret, err := rewards.NewWebhookSecret(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a secret: %w", err)
	}
	shown := rewards.ShowWebhookSecret(secret)
	if c.SecretFile == "" {
		sayf("The secret that signs the requests: %s\n", shown)
		return secret, nil
	}
	const ownerOnly = 0o600
	return secret, os.WriteFile(c.SecretFile, []byte(shown+"\n"), ownerOnly)
}

// reportAttempt prints the outcome of an attempt.
func reportAttempt(d rewards.Delivery, took time.Duration) {
	status := "no answer"
	if d.StatusCode != 0 {
		status = fmt.Sprint(d.StatusCode)
	}
	line := fmt.Sprintf("%s  %-28s  %s  %d  %s  %s", d.TriedAt.Format(time.TimeOnly), d.Type, d.EventID, d.Sequence,
		status, took.Round(time.Millisecond))
	switch {
	case d.Status == rewards.DeliveryDelivered:
		sayf("%s\n", line)
	case d.Status == rewards.DeliveryFailed:
		sayf("%s: %s; gave up after %d attempts\n", line, d.Error, d.Attempts)
	case d.NextAt.IsZero():
		sayf("%s: %s; this would disable an endpoint\n", line, d.Error)
	default:
		sayf("%s: %s; again in %s\n", line, d.Error, d.NextAt.Sub(d.TriedAt).Round(time.Millisecond))
	}
}
