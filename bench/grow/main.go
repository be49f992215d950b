// Command grow fills empty books with a past of millions of rewards, to measure how
// the service does when it has run for years. See package growth for what is made.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"stockrewards/bench/growth"
)

type command struct {
	Database string `arg:"" help:"Where to: sqlite:PATH or postgres://USER@HOST/NAME, without books."`
	Rewards  int    `default:"10000000" help:"How many rewards were executed, or failed (one in 200)."`
	Waiting  int    `default:"3000" help:"How many more wait to be bought."`
	Users    int    `default:"1000000" help:"How many users there are."`
	Apps     int    `default:"100" help:"How many apps; the first has three tenths of all."`
	Assets   int    `default:"300" help:"How many stocks of the catalog were given."`
	Days     int    `default:"365" help:"How long the past is; it ends two days ago."`
	Seed     uint64 `default:"1" help:"Another one makes another past."`
	Keys     string `placeholder:"FILE" help:"A new file for the apps' API keys, a line for each: id, key and name."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c command
	kong.Parse(&c, kong.Name("grow"), kong.BindTo(ctx, (*context.Context)(nil)), kong.Description(
		"Fill empty books with a past. `stockrewards audit` finds nothing in them, `serve` runs on them; "+
			"the broker does not know the orders, which only `audit --broker` notices."),
	).FatalIfErrorf(c.run(ctx))
}

func (c *command) run(ctx context.Context) error {
	shown := time.Time{}
	r, err := growth.Fill(ctx, growth.Options{
		Database: c.Database, Rewards: c.Rewards, Waiting: c.Waiting, Users: c.Users, Apps: c.Apps,
		Assets: c.Assets, Days: c.Days, Seed: c.Seed, End: time.Now(),
		Progress: func(text string) {
			if now := time.Now(); now.Sub(shown) > time.Second || !strings.HasPrefix(text, "day") {
				shown = now
				fmt.Fprintln(os.Stderr, text)
			}
		},
	})
	if err != nil {
		return err
	}
	if c.Keys != "" {
		if err := writeKeys(c.Keys, r.Keys); err != nil {
			return err
		}
	}
	return tell(os.Stdout, r, int64(max(1, c.Rewards+c.Waiting)))
}

// writeKeys writes the keys to a new file, for its owner only.
func writeKeys(path string, keys []growth.Key) error {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, ownerOnly)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&text, "%s %s %s\n", k.App, k.Secret, k.Name)
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

// tell tells what was made.
func tell(w io.Writer, r growth.Report, rewards int64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var text strings.Builder
	text.WriteString("table\trows\t\n")
	for _, c := range r.Rows {
		fmt.Fprintf(&text, "%s\t%d\t\n", c.Table, c.Rows)
	}
	text.WriteString("\t\t\ntable or index\tMiB\tbytes per reward\t\n")
	for _, s := range r.Sizes {
		if s.Bytes < rewards/10 {
			continue // of no weight
		}
		name := s.Name
		if s.Name != s.Table {
			name = s.Table + ": " + s.Name
		}
		fmt.Fprintf(&text, "%s\t%d\t%s\t\n", name, s.Bytes>>20, tenths(s.Bytes, rewards))
	}
	fmt.Fprintf(&text, "all\t%d\t%s\t\n", r.Total>>20, tenths(r.Total, rewards))
	if _, err := io.WriteString(t, text.String()); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nwritten in %s, indexes and the disk %s\n",
		r.Wrote.Round(time.Second), r.Index.Round(time.Second))
	return err
}

// tenths is a quotient with one decimal.
func tenths(a, b int64) string { return fmt.Sprintf("%d.%d", a/b, a*10/b%10) }
