package main

import (
	"context"
	"fmt"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type logCommands struct {
	List   logList   `cmd:"" help:"List operators' changes, newest first."`
	Verify logVerify `cmd:"" help:"Check that no entry of the operator log was changed, added or removed, and print its head. Keep the head elsewhere."`
}

type logList struct {
	listFlags
	Object string `placeholder:"OBJECT" help:"List only changes of this object, such as 'app 0190…', 'key 0190…', 'asset 7' or 'ordering' (default: all)."`
	JSON   bool   `name:"json" help:"Print the entries as JSON, with their hashes."`
}

func (c *logList) Run(ctx context.Context) error {
	return c.list(ctx, func(s *store.Store) error {
		entries, err := s.LogEntries(ctx, store.LogFilter{Object: c.Object, Limit: c.Limit})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(jsonEntries(entries))
		}
		return table("NUMBER\tAT\tWHO\tCOMMAND\tOBJECT\tCHANGE\tREASON", entries, func(d rewards.LogEntry) []string {
			return []string{
				strconv.FormatInt(d.Number, 10), moment(d.At), d.Actor, d.Command, d.Object, d.Changed(), d.Reason,
			}
		})
	})
}

type jsonEntry struct {
	Number   int64  `json:"number"`
	At       string `json:"at"`
	Actor    string `json:"actor"`
	Command  string `json:"command"`
	Object   string `json:"object"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Reason   string `json:"reason"`
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

func jsonEntries(entries []rewards.LogEntry) []jsonEntry {
	list := make([]jsonEntry, len(entries))
	for i, d := range entries {
		list[i] = jsonEntry{
			d.Number, d.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), d.Actor, d.Command, d.Object,
			d.Before, d.After, d.Reason, d.Previous.String(), d.Hash.String(),
		}
	}
	return list
}

type logVerify struct {
	databaseFlag
	outputFlag
	Head string `placeholder:"NUMBER:HASH" help:"Check that the log still contains this head, which an earlier run printed."`
}

// Run verifies the chain of hashes; a broken log ends with status 1.
func (c *logVerify) Run(ctx context.Context) error {
	var kept rewards.LogHead
	if c.Head != "" {
		var err error
		if kept, err = rewards.ParseLogHead(c.Head); err != nil {
			return usageErrorf("--head %q: %w", c.Head, err)
		}
	}
	return c.with(ctx, func(s *store.Store) error {
		head, err := verifyLog(ctx, s, kept)
		if err != nil {
			return fmt.Errorf("the operator log was changed: %w; "+
				"after a restored backup the last entries are missing; otherwise keep a copy of the database "+
				"and find out who changed it", err)
		}
		if c.JSON {
			return printJSON(objectOf([][2]string{
				{"entries", strconv.FormatInt(head.Number, 10)}, {"head", head.String()},
			}))
		}
		sayf("%d entries, all of them unchanged\nhead: %s\n", head.Number, head)
		return nil
	})
}

// verifyLog reads the whole log. It fails at the first invalid entry, and when the log does
// not contain the head that was kept elsewhere.
func verifyLog(ctx context.Context, s *store.Store, elsewhere rewards.LogHead) (head rewards.LogHead, err error) {
	stored, err := s.WalkLog(ctx, func(d rewards.LogEntry) error {
		if err := d.Follows(head); err != nil {
			return err
		}
		head = d.Head()
		if head.Number == elsewhere.Number && head != elsewhere {
			return fmt.Errorf("the entry %d differs from --head", head.Number)
		}
		return nil
	})
	switch {
	case err != nil:
		return head, err
	case head.Number > 0 && stored != head.String():
		return head, fmt.Errorf("the log ends with entry %d, but the stored head is %q: "+
			"rows are missing at its end, or were added by hand", head.Number, stored)
	case head.Number == 0 && stored != "":
		return head, fmt.Errorf("the log is empty, but the stored head is %q", stored)
	case head.Number < elsewhere.Number:
		return head, fmt.Errorf("the log ends with entry %d, before --head", head.Number)
	}
	return head, nil
}
