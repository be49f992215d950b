package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

// The environment variables with the broker's credentials, named as by Alpaca's tools.
const (
	envKeyID     = "APCA_API_KEY_ID"
	envSecretKey = "APCA_API_SECRET_KEY" //nolint:gosec // a name, not a secret
)

type brokerFlags struct {
	Broker       string `group:"Broker" enum:"paper,alpaca" default:"paper" help:"Buy at this broker: paper, the embedded paper brokerage, with its books in paper.db beside the database; or alpaca, Alpaca's API, with the credentials in APCA_API_KEY_ID and APCA_API_SECRET_KEY (default: paper)."`
	addressFlags `group:"Broker"`
}

type addressFlags struct {
	AlpacaURL     string `name:"alpaca-url" default:"https://paper-api.alpaca.markets" placeholder:"URL" help:"Send orders to Alpaca's trading API at this address (default: https://paper-api.alpaca.markets, paper money)."`
	AlpacaDataURL string `name:"alpaca-data-url" default:"https://data.alpaca.markets" placeholder:"URL" help:"Read prices from Alpaca's market data API at this address (default: https://data.alpaca.markets)."`
	PaperHours    string `enum:"always,us" default:"always" help:"Choose when the embedded paper brokerage's market is open: always, or us for the hours of the US market (default: always)."`

	AllowPlainHTTPBroker bool `name:"allow-plain-http-broker" help:"Allow http:// for Alpaca's addresses beyond this machine, which sends the credentials unencrypted: for 'stockrewards paper' in a network that you trust."`

	AlpacaRequestsPerMinute int `name:"alpaca-requests-per-minute" default:"200" placeholder:"N" help:"Limit the requests per minute to the account's rate limit; trading and market data count separately (default: 200)."`
}

// broker parses the flags and reads the credentials.
func (f brokerFlags) broker() (b server.Broker, err error) {
	b = server.Broker{
		Kind: f.Broker, TradingURL: f.AlpacaURL, DataURL: f.AlpacaDataURL,
		KeyID: os.Getenv(envKeyID), SecretKey: os.Getenv(envSecretKey),
		RequestsPerMinute: f.AlpacaRequestsPerMinute, Hours: paperHours(f.PaperHours),
	}
	switch {
	case b.RequestsPerMinute < 1:
		return b, usageErrorf("--alpaca-requests-per-minute must be at least 1")
	case b.Kind != server.BrokerAlpaca:
		return b, nil
	case b.KeyID == "" || b.SecretKey == "":
		return b, usageErrorf("--broker alpaca needs %s and %s in the environment", envKeyID, envSecretKey)
	}
	return b, errors.Join(
		f.checkAddress("--alpaca-url", f.AlpacaURL), f.checkAddress("--alpaca-data-url", f.AlpacaDataURL))
}

func paperHours(flag string) paper.Hours {
	if flag == "us" {
		return paper.USEquities
	}
	return paper.AlwaysOpen
}

// checkAddress refuses to send the credentials unencrypted beyond this machine, unless
// that is allowed.
func (f addressFlags) checkAddress(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return usageErrorf("%s: must be https://HOST, without user and password", flag)
	}
	if u.Scheme == "https" || f.AllowPlainHTTPBroker || onThisMachine(u.Hostname()) {
		return nil
	}
	return usageErrorf("%s %s: the broker's credentials would travel unencrypted beyond this machine; use https://, "+
		"or, for 'stockrewards paper' in a network that you trust, use --allow-plain-http-broker", flag, address)
}

// connect creates a client of the broker, for a store that is pinned to an account of it.
func (f brokerFlags) connect(ctx context.Context, d server.Database, pinned string) (server.Connection, error) {
	broker, err := f.broker()
	if err != nil {
		return server.Connection{}, err
	}
	broker.Pinned = pinned
	return broker.Connect(ctx, d, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil)
}

// withBroker calls use with the broker that the store belongs to. It fails when the
// credentials are for another account.
func (f brokerFlags) withBroker(
	ctx context.Context, d databaseFlag, s *store.Store, use func(server.Connection) error,
) error {
	in, err := s.Installation(ctx)
	if err != nil {
		return err
	}
	if in.BrokerKind != "" {
		f.Broker = in.BrokerKind
	}
	database, err := d.database()
	if err != nil {
		return err
	}
	broker, err := f.connect(ctx, database, in.BrokerAccount)
	if err != nil {
		return err
	}
	account, err := broker.Account(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("cannot ask the broker, so nothing is decided: %w", err)
	case in.BrokerAccount != "" && account.ID != in.BrokerAccount:
		err = otherAccount(in.BrokerKind, account.ID, in.BrokerAccount)
	default:
		err = use(broker)
	}
	return errors.Join(err, broker.Close())
}

// otherAccount is the error for a broker with another account than the one that the store is pinned to.
func otherAccount(kind, account, pinned string) error {
	if kind == server.BrokerPaper {
		return fmt.Errorf("paper.db beside the database has the account %s, but the database belongs to %s; "+
			"put the paper.db of this database back (see docs/backup.md)", account, pinned)
	}
	return fmt.Errorf("the credentials are for the account %s, but the database belongs to %s", account, pinned)
}
