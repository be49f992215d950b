// Command bench measures how fast the service is. It builds the service, runs it
// over SQLite and over PostgreSQL beside a bare server that does nothing but HTTP
// and JSON (the ceiling), loads all of them in turn in the same minutes, and prints
// ratios: those can be compared between machines, requests a second cannot.
// docs/performance.md says how to read the figures. Start reading at run.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the run, and the programs that it starts in processes of their own.
type commands struct {
	Run      runCommand      `cmd:"" default:"withargs" help:"Measure (the default)."`
	Ceiling  ceilingCommand  `cmd:"" hidden:"" help:"The bare server."`
	OpenLoop openLoopCommand `cmd:"" hidden:"" help:"The load generator with a fixed rate."`
	Unread   unreadCommand   `cmd:"" hidden:"" help:"Clients that do not read their answers."`
}

const description = "Measures the service beside a bare HTTP server on the same machine, in turn, " +
	"and prints ratios.\n\nIt needs wrk and PostgreSQL's programs: tools/install.sh wrk postgres. Everything " +
	"that it makes is removed at the end, also on Ctrl-C."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var c commands
	parsed := kong.Parse(&c, kong.Name("bench"), kong.Description(description), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.BindTo(ctx, (*context.Context)(nil)))
	err := parsed.Run()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
