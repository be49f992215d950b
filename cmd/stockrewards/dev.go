package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/page"
	"stockrewards/internal/reference"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

type devCommand struct {
	Listen      string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Serve the API and its web page at this address (default: 127.0.0.1:8080)."`
	Data        string `default:"stockrewards-data" placeholder:"FOLDER" help:"Keep the data in this folder (default: stockrewards-data)."`
	AdminListen string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Serve /livez, /readyz and /metrics at this address; at another port if this one is in use (default: 127.0.0.1:8081)."`
	Verbose     bool   `help:"Log every request and every order."`
}

const (
	devWindow  = 250 * time.Millisecond
	devAppName = "dev"
	devUser    = "first-user"
	devKeyFile = "dev.key"
)

// Run serves everything from one folder and prints commands to try.
func (c *devCommand) Run(ctx context.Context) error {
	if err := c.checkLocal(); err != nil {
		return err
	}
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelInfo
	}
	textLines := func(out io.Writer) slog.Handler {
		return slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})
	}
	out := server.NewLogWriter(os.Stderr, textLines)
	defer out.Close()
	log := slog.New(textLines(out))
	cfg, err := c.config()
	if err != nil {
		return err
	}
	cfg.Log, cfg.LogDropped = log, out.Dropped
	if c.Verbose {
		cfg.RequestLog = textRequests{log}
	}
	s, err := c.open(ctx, cfg)
	if interrupted(ctx, err) {
		sayln(stoppedEarly)
		return nil
	}
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// open opens the service with its app, its first user and its page, and greets.
func (c *devCommand) open(ctx context.Context, cfg server.Config) (*server.Server, error) {
	s, err := server.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	key, user, err := c.prepare(ctx, s.Store)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	front, err := c.page(s, cfg.Log, key, user)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Front(front)
	c.greet("http://"+s.Address(), key, user)
	c.greetAdmin(s.AdminAddress())
	return s, nil
}

// config is the service of dev: everything in one process, over the paper brokerage.
func (c *devCommand) config() (cfg server.Config, err error) {
	cfg = server.Config{
		Version: version, Revision: revision(), Role: server.RoleAll,
		Database: server.Database{SQLite: filepath.Join(c.Data, "stockrewards.db")},
		Broker:   server.Broker{Kind: server.BrokerPaper, Control: true},
		Listen:   c.Listen, AdminListen: c.AdminListen, AdminAnyPort: true,
		Connections: connectionFlags{}.limits(false), Webhooks: localWebhooks(),
	}
	limits := fulfillmentFlags{PoolingWindow: devWindow, MaxOrderNotional: rewards.LowestMaxNotional.String()}
	cfg.Fulfillment, err = limits.config(server.BrokerPaper)
	return cfg, err
}

// checkLocal refuses to show the key and the page beyond this machine.
func (c *devCommand) checkLocal() error {
	for _, flag := range []struct{ name, address string }{{"--listen", c.Listen}, {"--admin-listen", c.AdminListen}} {
		local, err := loopback(flag.address)
		switch {
		case flag.address == "" && flag.name == "--admin-listen": // no admin listener
		case err != nil:
			return usageErrorf("%s %q: must be HOST:PORT", flag.name, flag.address)
		case !local:
			return usageErrorf("%s %s: dev shows its key to all who reach it, so it listens on this machine only, "+
				"such as on 127.0.0.1:8080; to serve other machines, use `stockrewards serve`", flag.name, flag.address)
		}
	}
	return nil
}

// page is the page for people, in front of the API and of the brokerage's controls.
func (c *devCommand) page(s *server.Server, log *slog.Logger, key string, user rewards.User) (http.Handler, error) {
	docs, err := reference.Try(api.Document(), reference.TryOptions{
		Next: s.Handler(), Key: key, Known: map[string]string{"userId": user.ID.String()},
	})
	if err != nil {
		return nil, err
	}
	keyFile, err := filepath.Abs(filepath.Join(c.Data, devKeyFile))
	return page.New(page.Options{
		App: user.AppID, Key: key, KeyFile: keyFile, Service: s.Service, Store: s.Store, Market: s.Market,
		Next: s.Handler(), Control: s.Broker.Paper.Handler(), Docs: docs, Log: log,
	}), err
}

// prepare creates the app with its key and a first user, or finds those of an earlier
// start.
func (c *devCommand) prepare(ctx context.Context, s *store.Store) (key string, user rewards.User, err error) {
	if key, err = c.key(ctx, s); err != nil {
		return "", user, err
	}
	_, app, err := s.AppByKey(ctx, rewards.HashKey(key))
	if err != nil {
		return "", user, fmt.Errorf("%s: %w; remove the folder %s to start again",
			filepath.Join(c.Data, devKeyFile), err, c.Data)
	}
	found, err := s.Users(ctx, app.ID, rewards.UserFilter{ExternalID: devUser}, rewards.Page[rewards.User]{Limit: 1})
	switch {
	case err != nil:
		return "", user, err
	case len(found) > 0:
		return key, found[0], nil
	}
	user, err = s.CreateUser(ctx, rewards.User{AppID: app.ID, ExternalID: devUser})
	return key, user, err
}

// key reads the key file, or creates it and the app. The file is written before the app is
// stored, so that the next start can use it after a kill in between. An unknown, revoked or
// expired key is replaced.
func (c *devCommand) key(ctx context.Context, s *store.Store) (string, error) {
	path := filepath.Join(c.Data, devKeyFile)
	content, err := os.ReadFile(path)
	secret := strings.TrimSpace(string(content))
	if errors.Is(err, os.ErrNotExist) || err == nil && !rewards.WellFormedKey(secret) {
		secret, err = writeKey(path)
	}
	if err != nil {
		return "", err
	}
	found, _, err := s.AppByKey(ctx, rewards.HashKey(secret))
	switch {
	case err == nil && found.ValidAt(time.Now()):
		return secret, nil
	case err == nil: // it was revoked or has expired
		if secret, err = writeKey(path); err != nil {
			return "", err
		}
	case rewards.CodeOf(err) != rewards.CodeNotFound:
		return "", err
	}
	stored := rewards.Key{Hash: rewards.HashKey(secret), Hint: rewards.KeyHint(rewards.TestKeyPrefix, secret)}
	by, err := reasonFlag{}.operator("dev")
	if err != nil {
		return "", err
	}
	operator := s.As(by)
	if _, _, err = operator.CreateApp(ctx, devAppName, stored); rewards.CodeOf(err) == rewards.CodeConflict {
		_, err = operator.CreateKey(ctx, devAppName, stored) // the key file was removed
	}
	return secret, err
}

func writeKey(path string) (string, error) {
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	if err != nil {
		return "", err
	}
	const ownerOnly = 0o600
	if err := os.WriteFile(path, []byte(secret+"\n"), ownerOnly); err != nil {
		return "", err
	}
	return secret, os.Chmod(path, ownerOnly) // of an existing file
}

func (c *devCommand) greet(url, key string, user rewards.User) {
	keyFile := filepath.Join(c.Data, devKeyFile)
	sayf(`Stock Rewards Service %s is running at %s
Its data is in %s; stop it with Ctrl-C.

Watch it in a browser: %s/

The API key of the app %q (stored in %s):
  %s

Give a user $5.25 of Apple:
  curl -s -X POST %s/v1/rewards \
    -H 'x-api-key: %s' -H 'content-type: application/json' \
    -d '{"userId":"%s","idempotencyKey":"first-%d","amountUsd":5.25,"assetSymbol":"AAPL"}'

A second later, see the shares at live prices:
  curl -s %s/v1/users/%s/portfolio -H 'x-api-key: %s'

Forward its events to your webhook receiver, and make some happen:
  stockrewards listen --url %s --key-file %s --forward http://localhost:3000/hook
  stockrewards trigger reward.failed --url %s --key-file %s

Read how to use the API, and try it: %s/docs
The API is described in: %s/openapi.json
`, version, url, c.Data, url, devAppName, keyFile, key,
		url, key, user.ID, time.Now().Unix(), url, user.ID, key,
		url, page.Quoted(keyFile), url, page.Quoted(keyFile), url, url)
}

// greetAdmin prints the admin address, and why it is not the requested one.
func (c *devCommand) greetAdmin(address string) {
	if address == "" {
		return
	}
	sayf("Health and metrics: http://%s (/livez, /readyz, /metrics)\n", address)
	if _, port, _ := net.SplitHostPort(c.AdminListen); port != "0" && !strings.HasSuffix(address, ":"+port) {
		sayf("  Another program uses %s, so this is another port.\n", c.AdminListen)
	}
}
