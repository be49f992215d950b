package main

import (
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
)

type fulfillmentFlags struct {
	PoolingWindow      time.Duration  `default:"1s" help:"Wait this long for more rewards of a stock before ordering them together (default: 1s)."`
	SmallPoolWait      *time.Duration `placeholder:"DURATION" help:"Wait this long for a pool to reach the broker's minimum of $1 before the house tops it up (default: 0s with the paper brokerage, else 1h)."`
	DailyNotionalLimit string         `placeholder:"USD" help:"Limit the dollars ordered per UTC day; further rewards wait (default: no limit)."`
	HouseDailyLimit    string         `placeholder:"USD" help:"Limit the dollars that the house adds to small pools per UTC day (default: no limit with the paper brokerage, else 100)."`
	HouseAppLimit      string         `name:"house-daily-limit-per-app" placeholder:"USD" help:"Limit the dollars that the house adds to small pools of one app per UTC day (default: a quarter of --house-daily-limit)."`
	UseHouseShares     bool           `help:"Let the house's own shares pay for a part of the orders for their stock, at the order's average price."`
	CorporateActions   string         `default:"auto" enum:"auto,review" help:"Apply corporate actions that the broker's positions confirm: auto, or review to have an operator decide about each (default: auto)."`
	MaxOrderNotional   string         `default:"1000000" placeholder:"USD" help:"Limit the dollars of one order, to at least 1000000, the largest reward (default: 1000000)."`
}

func (f fulfillmentFlags) config(broker string) (fulfillment.Config, error) {
	c := fulfillment.Config{
		Brakes: rewards.Brakes{
			MaxMembers: rewards.MaxMembers, DailyLimit: server.NoLimit, HouseDailyLimit: server.NoLimit,
			UseHouse: f.UseHouseShares,
		},
		ReviewActions: f.CorporateActions == "review",
		Window:        f.PoolingWindow, PollEvery: 100 * time.Millisecond, Patience: 200 * time.Millisecond,
	}
	if broker == server.BrokerAlpaca {
		c.SmallPoolWait, c.HouseDailyLimit, c.PollEvery = time.Hour, 100*money.Dollar, time.Second
	}
	if f.SmallPoolWait != nil {
		c.SmallPoolWait = *f.SmallPoolWait
	}
	for _, flag := range []struct {
		name, given string
		value       *money.USD
	}{
		{"--daily-notional-limit", f.DailyNotionalLimit, &c.DailyLimit},
		{"--house-daily-limit", f.HouseDailyLimit, &c.HouseDailyLimit},
		{"--house-daily-limit-per-app", f.HouseAppLimit, &c.HouseAppLimit},
		{"--max-order-notional", f.MaxOrderNotional, &c.MaxNotional},
	} {
		if flag.given == "" {
			continue
		}
		amount, err := money.ParseUSD(flag.given)
		if err != nil || amount < 0 {
			return c, numberError(flag.name, flag.given, err, "an amount of dollars, with at most 6 decimals")
		}
		*flag.value = min(amount, server.NoLimit)
	}
	switch {
	case f.HouseAppLimit == "":
		c.HouseAppLimit = appShare(c.HouseDailyLimit)
	case f.HouseDailyLimit != "" && c.HouseAppLimit > c.HouseDailyLimit:
		return c, usageErrorf("--house-daily-limit-per-app %s: must not be more than --house-daily-limit, which is %s",
			c.HouseAppLimit, c.HouseDailyLimit)
	}
	if c.MaxNotional < rewards.LowestMaxNotional {
		return c, usageErrorf("--max-order-notional %s: must be at least %s", c.MaxNotional, rewards.LowestMaxNotional)
	}
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour // a longer one is a mistake after which nothing is bought
	if c.Window < 0 || c.Window > day {
		return c, usageErrorf("--pooling-window %s: must be from 0s to 1d", c.Window)
	}
	if c.SmallPoolWait < 0 || c.SmallPoolWait > week {
		return c, usageErrorf("--small-pool-wait %s: must be from 0s to 7d", c.SmallPoolWait)
	}
	return c, nil
}

// appShare is the default of --house-daily-limit-per-app: a quarter of --house-daily-limit,
// so that no app can use it up alone.
func appShare(limit money.USD) money.USD {
	const apps = 4
	if limit == server.NoLimit {
		return server.NoLimit
	}
	return limit / apps
}
