package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

// The kinds of brokers, as they are pinned in the store.
const (
	brokerPaper  = rewards.EmbeddedBroker
	brokerAlpaca = "alpaca"
)

// The credentials of the broker, read from the environment only, under the names
// that Alpaca's own tools use.
const (
	envKeyID     = "APCA_API_KEY_ID"
	envSecretKey = "APCA_API_SECRET_KEY" //nolint:gosec // a name, not a secret
)

// brokerFlags choose the broker.
type brokerFlags struct {
	addressFlags
	control **paper.Brokerage // where dev wants the embedded brokerage, to steer it; nil: nowhere

	Broker string `enum:"paper,alpaca" default:"paper" help:"Buy at this broker. paper: the embedded paper brokerage, with its books in paper.db beside the database. alpaca: Alpaca's API, with the credentials in APCA_API_KEY_ID and APCA_API_SECRET_KEY (default: paper)."`
}

// addressFlags say how to reach the broker, whichever it is.
type addressFlags struct {
	AlpacaURL     string `name:"alpaca-url" default:"https://paper-api.alpaca.markets" placeholder:"URL" help:"Send orders to Alpaca's trading API at this address (default: https://paper-api.alpaca.markets, paper money)."`
	AlpacaDataURL string `name:"alpaca-data-url" default:"https://data.alpaca.markets" placeholder:"URL" help:"Read prices from Alpaca's market data API at this address (default: https://data.alpaca.markets)."`
	PaperHours    string `enum:"always,us" default:"always" help:"Choose when the embedded paper brokerage trades: always, or us for the US market's hours (default: always)."`

	AllowPlainHTTPBroker bool `name:"allow-plain-http-broker" help:"Allow http:// for Alpaca's addresses beyond this machine, with the credentials unencrypted: for 'stockrewards paper' in a network that you trust."`

	AlpacaRequestsPerMinute int `name:"alpaca-requests-per-minute" default:"200" placeholder:"N" help:"Keep to the account's rate limit: requests per minute, for trading and for market data each (default: 200)."`
}

// embeddedRate is the rate limit over the embedded brokerage, in requests a minute.
const embeddedRate = 60_000

// checkCredentials fails when the broker's credentials are missing, or its rate
// limit makes no sense.
func (f brokerFlags) checkCredentials() error {
	if f.AlpacaRequestsPerMinute < 0 {
		return usageErrorf("--alpaca-requests-per-minute must not be negative")
	}
	if f.Broker == brokerAlpaca && (os.Getenv(envKeyID) == "" || os.Getenv(envSecretKey) == "") {
		return fmt.Errorf("the broker alpaca needs %s and %s in the environment", envKeyID, envSecretKey)
	}
	if f.Broker != brokerAlpaca {
		return nil
	}
	return errors.Join(
		f.checkAddress("--alpaca-url", f.AlpacaURL), f.checkAddress("--alpaca-data-url", f.AlpacaDataURL))
}

// checkAddress refuses an address of the broker's to which the credentials would go
// unencrypted beyond this machine, unless that is allowed.
func (f addressFlags) checkAddress(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return fmt.Errorf("%s: must be https://HOST, without user and password", flag)
	}
	if u.Scheme == "https" || f.AllowPlainHTTPBroker || onThisMachine(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s %s: the broker's credentials would travel unencrypted beyond this machine; use https://, "+
		"or for 'stockrewards paper' in a network that you trust say --allow-plain-http-broker", flag, address)
}

// observer is told of every call of the broker; it may be nil.
type observer = func(operation string, err error, took time.Duration)

// connect makes the client of the broker. The function closes what was opened.
func (f brokerFlags) connect(
	ctx context.Context, databasePath string, log *slog.Logger, observe observer,
) (*alpaca.Client, func() error, error) {
	if f.Broker == brokerAlpaca {
		if err := f.checkCredentials(); err != nil {
			return nil, nil, err
		}
		client := alpaca.New(alpaca.Options{
			TradingURL: f.AlpacaURL, DataURL: f.AlpacaDataURL,
			KeyID: os.Getenv(envKeyID), SecretKey: os.Getenv(envSecretKey),
			RequestsPerMinute: f.AlpacaRequestsPerMinute, Observe: observe,
		})
		return client, func() error { return nil }, nil
	}
	return f.openPaper(ctx, databasePath, log, observe)
}

func (f brokerFlags) openPaper(
	ctx context.Context, databasePath string, log *slog.Logger, observe observer,
) (*alpaca.Client, func() error, error) {
	o, err := paperOptions(f.PaperHours, log)
	if err != nil {
		return nil, nil, err
	}
	o.Control = f.control != nil
	brokerage, err := paper.Open(ctx, filepath.Join(filepath.Dir(databasePath), "paper.db"), o)
	if err != nil {
		return nil, nil, errors.Join(errors.New("the paper brokerage's books could not be opened"), err)
	}
	if f.control != nil {
		*f.control = brokerage
	}
	client := alpaca.New(alpaca.Options{
		TradingURL: "http://paper.invalid", DataURL: "http://paper.invalid", KeyID: "paper", SecretKey: "paper",
		Transport: brokerage.Transport(), RequestsPerMinute: embeddedRate, Observe: observe,
	})
	return client, brokerage.Close, nil
}
