package alpaca

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/rewards"
)

// maxSnapshotSymbols is the number of symbols in a request. It keeps the URL under 8 KiB, which
// servers and proxies accept.
const maxSnapshotSymbols = 1_000

// Clock reads the broker's time and the market's hours.
func (c *Client) Clock(ctx context.Context) (rewards.MarketClock, error) {
	return ask(ctx, c, call{operation: opClock, host: c.trading, path: "/v2/clock"}, object(readClock))
}

type wireClock struct {
	Timestamp string `json:"timestamp"`
	IsOpen    *bool  `json:"is_open"`
	NextOpen  string `json:"next_open"`
	NextClose string `json:"next_close"`
	TestClock bool   `json:"test_clock"` // this and the next one only our paper brokerage sends
	CanJump   bool   `json:"can_jump"`
}

func readClock(w wireClock) (rewards.MarketClock, error) {
	now, nowErr := instant(w.Timestamp)
	opens, openErr := instant(w.NextOpen)
	closes, closeErr := instant(w.NextClose)
	err := errors.Join(nowErr, openErr, closeErr)
	if err == nil && (w.IsOpen == nil || now.IsZero() || opens.IsZero() || closes.IsZero()) {
		err = errMissing
	}
	if err != nil {
		return rewards.MarketClock{}, err
	}
	return rewards.MarketClock{
		Now: now, Open: *w.IsOpen, NextOpen: opens, NextClose: closes, Simulated: w.TestClock, CanJump: w.CanJump,
	}, nil
}

// LatestPrices reads the latest prices by symbol, with one request per thousand symbols. A symbol
// without a positive, readable price is missing from the result.
func (c *Client) LatestPrices(ctx context.Context, symbols []string) (map[string]rewards.BrokerPrice, error) {
	all := make(map[string]rewards.BrokerPrice, len(symbols))
	for chunk := range slices.Chunk(symbols, maxSnapshotSymbols) {
		some, err := c.snapshots(ctx, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

func (c *Client) snapshots(ctx context.Context, symbols []string) (map[string]rewards.BrokerPrice, error) {
	return ask(ctx, c, call{
		operation: opSnapshots, host: c.data, path: "/v2/stocks/snapshots", maxBody: maxPageBody,
		query: url.Values{"symbols": {strings.Join(symbols, ",")}},
	}, object(func(raw map[string]jsontext.Value) (map[string]rewards.BrokerPrice, error) {
		found := make(map[string]rewards.BrokerPrice, len(symbols))
		for _, symbol := range symbols { // other symbols are ignored
			if s, ok := readSnapshot(symbol, raw[symbol]); ok {
				found[symbol] = s
			}
		}
		return found, nil
	}))
}

func readSnapshot(symbol string, value jsontext.Value) (rewards.BrokerPrice, bool) {
	var w struct {
		LatestTrade struct {
			Time  string `json:"t"`
			Price number `json:"p"`
		} `json:"latestTrade"`
		PrevDailyBar struct {
			Close number `json:"c"`
		} `json:"prevDailyBar"`
	}
	if err := decode(value, &w); err != nil {
		return rewards.BrokerPrice{}, false
	}
	price, err := w.LatestTrade.Price.price()
	if err != nil || price == 0 {
		return rewards.BrokerPrice{}, false
	}
	s := rewards.BrokerPrice{Symbol: symbol, Price: price}
	if t, err := instant(w.LatestTrade.Time); err == nil {
		s.TradedAt = t // otherwise zero: a price of unknown age counts as stale
	}
	if closing, err := w.PrevDailyBar.Close.price(); err == nil {
		s.PreviousClose = closing
	}
	return s, true
}
