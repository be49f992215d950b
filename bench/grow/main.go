// Command grow fills an empty store with a past of millions of rewards, to measure the
// service as after years of use. Package growth says what it makes.
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
	growth.Options

	Keys string `placeholder:"FILE" help:"Write the apps' API keys to this new file, a line for each: id, key and name."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c command
	kong.Parse(&c, kong.Name("grow"), kong.BindTo(ctx, (*context.Context)(nil)), kong.Description(
		"Fill an empty store with a past. `stockrewards audit` finds no violation and `serve` runs on it, but "+
			"the broker does not know the orders: `audit --broker` reports them."),
	).FatalIfErrorf(c.run(ctx))
}

func (c *command) run(ctx context.Context) error {
	shown := time.Time{}
	c.End = time.Now()
	c.Progress = func(text string) {
		if now := time.Now(); now.Sub(shown) > time.Second || !strings.HasPrefix(text, "day") {
			shown = now
			fmt.Fprintln(os.Stderr, text)
		}
	}
	r, err := growth.Fill(ctx, c.Options)
	if err != nil {
		return err
	}
	if c.Keys != "" {
		if err := writeKeys(c.Keys, r.Keys); err != nil {
			return err
		}
	}
	sizes, err := growth.Measure(ctx, c.Database)
	if err != nil {
		return err
	}
	return printReport(os.Stdout, r, sizes)
}

// writeKeys writes the keys to a new file that only its owner can read.
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

func printReport(w io.Writer, r growth.Report, sizes growth.Sizes) error {
	rewards := int64(max(1, r.Rewards))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var text strings.Builder
	text.WriteString("table or index\tMiB\tbytes per reward\t\n")
	for _, s := range sizes.Parts {
		if s.Bytes < rewards/10 {
			continue // negligible
		}
		name := s.Name
		if s.Name != s.Table {
			name = s.Table + ": " + s.Name
		}
		fmt.Fprintf(&text, "%s\t%d\t%s\t\n", name, s.Bytes>>20, tenths(s.Bytes, rewards))
	}
	fmt.Fprintf(&text, "all\t%d\t%s\t\n", sizes.Data>>20, tenths(sizes.Data, rewards))
	fmt.Fprintf(&text, "write-ahead log\t%d\t%s\t\n", sizes.Log>>20, tenths(sizes.Log, rewards))
	if _, err := io.WriteString(t, text.String()); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d users, %d rewards and %d orders in %s\n", r.Users, r.Rewards, r.Orders,
		r.Took.Round(time.Second))
	return err
}

// tenths returns a quotient with one decimal.
func tenths(a, b int64) string { return fmt.Sprintf("%d.%d", a/b, a*10/b%10) }
