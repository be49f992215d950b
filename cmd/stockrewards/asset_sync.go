package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

type assetSync struct {
	databaseFlag
	addressFlags `group:"Broker"`
	reasonFlag
	Symbols   []string `sep:"none" env:"-" placeholder:"AAPL,MSFT" help:"Add and change only these stocks; repeatable."`
	Exchanges []string `name:"exchange" sep:"none" env:"-" placeholder:"NASDAQ,NYSE" help:"Add and change only stocks of these exchanges; repeatable."`
	DryRun    bool     `env:"-" help:"Print the changes without making them."`
	Force     bool     `env:"-" help:"Sync even if the broker's list is empty, or would disable more than 5 stocks and more than a tenth of the catalog."`
	JSON      bool     `name:"json" help:"Print the report as JSON."`
}

func (c *assetSync) Run(ctx context.Context) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	return c.operate(ctx, "asset sync", c.reasonFlag, func(s *store.Operator) error {
		in, err := s.Installation(ctx)
		if err != nil {
			return err
		}
		if in.BrokerKind == "" {
			return errors.New("this database belongs to no broker yet: start `serve` first")
		}
		flags := brokerFlags{addressFlags: c.addressFlags}
		return flags.withBroker(ctx, c.databaseFlag, s.Store, func(broker server.Connection) error {
			theirs, err := broker.Assets(ctx)
			if err != nil {
				return fmt.Errorf("cannot read the broker's stocks, so nothing is changed: %w", err)
			}
			return c.sync(ctx, s, theirs, filter)
		})
	})
}

// filter parses the filter. It refuses empty entries: an accidentally empty list would
// limit nothing.
func (c *assetSync) filter() (f rewards.SyncFilter, err error) {
	for _, flag := range []struct {
		name  string
		given []string
		list  *[]string
	}{{"--symbols", c.Symbols, &f.Symbols}, {"--exchange", c.Exchanges, &f.Exchanges}} {
		for _, given := range flag.given {
			for entry := range strings.SplitSeq(given, ",") {
				entry = rewards.UpperSymbol(strings.TrimSpace(entry))
				if entry == "" {
					return f, usageErrorf("%s: an entry is empty", flag.name)
				}
				*flag.list = append(*flag.list, entry)
			}
		}
	}
	return f, nil
}

// sync compares and changes in one transaction, which also checks plausibility.
func (c *assetSync) sync(
	ctx context.Context, s *store.Operator, theirs []rewards.BrokerAsset, f rewards.SyncFilter,
) error {
	var found rewards.AssetSync
	decide := func(ours []rewards.Asset) (rewards.AssetSync, error) {
		found = rewards.SyncAssets(ours, theirs, f)
		if why := found.Implausible(); why != "" && !c.Force {
			return found, fmt.Errorf("cannot sync, nothing is changed: %s; if that is right, use --force", why)
		}
		return found, nil
	}
	var err error
	if c.DryRun {
		ours, readErr := s.Assets(ctx)
		if readErr != nil {
			return readErr
		}
		_, err = decide(ours)
	} else {
		_, err = s.SyncAssets(ctx, decide)
	}
	report := newSyncReport(found, c.DryRun, err == nil && !c.DryRun)
	return errors.Join(c.print(report), err)
}

func (c *assetSync) print(r syncReport) error {
	if !c.JSON {
		return r.print()
	}
	return printJSON(r)
}

// syncReport is the report in JSON, as the operators' manual describes it.
type syncReport struct {
	DryRun    bool         `json:"dryRun"`
	Applied   bool         `json:"applied"`
	Totals    syncTotals   `json:"totals"`
	Changes   []syncChange `json:"changes"`
	Skipped   []syncSkip   `json:"skipped"`
	Unchanged int          `json:"unchanged"`
}

// syncTotals counts the assets by kind of change; an asset can have several.
type syncTotals struct {
	Added    int `json:"added"`
	Renamed  int `json:"renamed"`
	NewName  int `json:"newName"`
	Adopted  int `json:"adopted"`
	Disabled int `json:"disabled"`
	Returned int `json:"returned"`
}

type syncChange struct {
	Changes   []string `json:"changes"`
	AssetID   int64    `json:"assetId,omitempty"` // none while it is not added
	BrokerID  string   `json:"brokerId"`
	Symbol    string   `json:"symbol"`
	OldSymbol string   `json:"oldSymbol,omitempty"`
	Name      string   `json:"name"`
	OldName   string   `json:"oldName,omitempty"`
	Why       string   `json:"why,omitempty"`
	Giftable  bool     `json:"giftable"`
}

type syncSkip struct {
	BrokerID string `json:"brokerId"`
	Symbol   string `json:"symbol"`
	Reason   string `json:"reason"`
}

func newSyncReport(found rewards.AssetSync, dryRun, applied bool) syncReport {
	r := syncReport{
		DryRun: dryRun, Applied: applied, Unchanged: found.Unchanged,
		Changes: make([]syncChange, 0, len(found.Changes)), Skipped: make([]syncSkip, 0, len(found.Skipped)),
	}
	for _, c := range found.Changes {
		r.Changes = append(r.Changes, r.Totals.count(c))
	}
	for _, s := range found.Skipped {
		r.Skipped = append(r.Skipped, syncSkip{s.BrokerID, s.Symbol, s.Reason})
	}
	return r
}

// count adds one change to the totals and describes it.
func (t *syncTotals) count(c rewards.AssetChange) syncChange {
	line := syncChange{
		AssetID: int64(c.After.ID), BrokerID: c.After.BrokerID, Symbol: c.After.Symbol, Name: c.After.Name,
		Why: c.Why, Giftable: c.After.Giftable(),
	}
	for _, kind := range []struct {
		is    bool
		name  string
		total *int
	}{
		{c.Added(), "added", &t.Added},
		{c.Renamed(), "renamed", &t.Renamed},
		{c.NewName(), "newName", &t.NewName},
		{c.Linked(), "adopted", &t.Adopted},
		{c.Disabled(), "disabled", &t.Disabled},
		{c.Returned(), "returned", &t.Returned},
	} {
		if kind.is {
			line.Changes = append(line.Changes, kind.name)
			*kind.total++
		}
	}
	if c.Renamed() {
		line.OldSymbol = c.Before.Symbol
	}
	if c.NewName() {
		line.OldName = c.Before.Name
	}
	return line
}

func (r syncReport) print() error {
	listed := slices.DeleteFunc(slices.Clone(r.Changes), func(c syncChange) bool {
		return c.Changes[0] == "adopted" && len(c.Changes) == 1 // the first sync links every asset: the total suffices
	})
	if len(listed) > 0 {
		if err := table("SYMBOL\tCHANGE\tDETAIL", listed, func(c syncChange) []string {
			return []string{c.Symbol, strings.Join(c.Changes, ", "), c.detail()}
		}); err != nil {
			return err
		}
	}
	for _, s := range r.Skipped {
		sayf("skipped: %s: %s\n", strings.TrimSpace(s.Symbol+" "+s.BrokerID), s.Reason)
	}
	t := r.Totals
	sayf("added %d, renamed %d, new names %d, adopted %d, disabled %d, returned %d, unchanged %d, skipped %d\n",
		t.Added, t.Renamed, t.NewName, t.Adopted, t.Disabled, t.Returned, r.Unchanged, len(r.Skipped))
	switch {
	case r.DryRun:
		sayln("a dry run: nothing is changed")
	case len(r.Changes) == 0:
		sayln("no changes")
	case r.Applied:
		sayln("the catalog is changed; `serve` notices within a second")
	}
	return nil
}

func (c syncChange) detail() string {
	parts := []string{c.Name}
	if c.OldSymbol != "" {
		parts = append(parts, "was "+c.OldSymbol)
	}
	if c.OldName != "" {
		parts = append(parts, "was "+c.OldName)
	}
	if c.Why != "" {
		parts = append(parts, c.Why)
	}
	if !c.Giftable && c.Why == "" {
		parts = append(parts, "disabled by the operator")
	}
	return strings.Join(parts, "; ")
}
