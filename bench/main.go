// Command bench measures the speed of the service. It runs the service over SQLite and
// over PostgreSQL beside a bare server that does only HTTP and JSON (the ceiling), loads
// them in turn within the same minutes, and prints ratios. Ratios can be compared between
// machines, requests per second cannot. docs/performance.md explains the figures. Start
// reading at run.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the run and the programs that it starts as separate processes.
type commands struct {
	Run      runCommand      `cmd:"" default:"withargs" help:"Measure (default)."`
	Ceiling  ceilingCommand  `cmd:"" hidden:"" help:"Run the bare server."`
	OpenLoop openLoopCommand `cmd:"" hidden:"" help:"Generate load at a fixed rate."`
	Unread   unreadCommand   `cmd:"" hidden:"" help:"Request answers without reading them."`
}

const description = "Measure the service and a bare HTTP server in turn on the same machine, " +
	"and print ratios.\n\nNeeds wrk and PostgreSQL: tools/install.sh wrk postgres. All created files are " +
	"removed at the end, also after Ctrl-C."

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
