// Command stockrewards gives an app's customers fractional stock as a reward: it
// records awards, buys the stock and holds it. `stockrewards dev` tries it in one
// process, `stockrewards serve` runs it; every other command is an operator's tool.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// commands is everything the program can do. Help and flags are made from it.
type commands struct {
	Dev         devCommand         `cmd:"" help:"Try it: everything in one process, nothing to configure."`
	Serve       serveCommand       `cmd:"" help:"Run the service."`
	App         appCommands        `cmd:"" help:"Create, list, suspend, resume and limit client apps."`
	Key         keyCommands        `cmd:"" help:"Create, list, rotate and revoke API keys."`
	Asset       assetCommands      `cmd:"" help:"See and change the catalog of giftable stocks."`
	Fulfillment fulfillmentCommand `cmd:"" help:"Pause, resume and watch the buying of stock."`
	Reward      rewardCommands     `cmd:"" help:"Take a reward back."`
	Order       orderCommands      `cmd:"" help:"See orders, and decide those that need an operator."`
	Action      actionCommands     `cmd:"" help:"See corporate actions, and resume the stocks that they hold."`
	Audit       auditCommand       `cmd:"" help:"Check every invariant of the books, or compare them with the broker (--broker)."`
	Log         logCommands        `cmd:"" help:"See and verify what operators did."`
	Ledger      ledgerCommand      `cmd:"" help:"Write the books as double-entry plain-text accounting, for hledger."`
	Backup      backupCommand      `cmd:"" help:"Write a consistent copy of the books to a file, also while serve runs."`
	Migrate     migrateCommand     `cmd:"" help:"Make or update the tables, so that serve needs no right to do so."`
	Copy        copyCommand        `cmd:"" help:"Move the books of a stopped service from SQLite to PostgreSQL."`
	Paper       paperCommand       `cmd:"" help:"Run a paper brokerage that speaks Alpaca's protocol and misbehaves on request."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

const (
	description = "Stock Rewards Service: give your customers fractional stock.\n\n" +
		"Start with `stockrewards dev`. Settings can come from the environment variable that help " +
		"shows in brackets; secrets are read from the environment only."
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	var c commands
	parser, err := kong.New(&c,
		kong.Name("stockrewards"), kong.Description(description), kong.UsageOnError(),
		kong.DefaultEnvars("STOCKREWARDS"), onlySettings(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fail(err, 1)
	}
	if err := checkEnvironment(parser.Model, os.Environ()); err != nil {
		fail(err, exitUsage)
	}
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	warnOfPassword(args)
	parsed, err := parser.Parse(args)
	if err != nil {
		fail(fmt.Errorf("%w (see --help)", redactArguments(err, args)), exitUsage)
	}
	if err := parsed.Run(); err != nil {
		stop()
		code := 1
		if e, ok := errors.AsType[exitError](err); ok {
			code = e.code
		}
		fail(redactArguments(err, args), code)
	}
}

// exitError is an error that ends the program with a status of its own.
type exitError struct {
	error
	code int
}

// Unwrap is the error itself.
func (e exitError) Unwrap() error { return e.error }

// usageErrorf is the error of a command line that says something impossible.
func usageErrorf(format string, args ...any) error {
	return exitError{fmt.Errorf(format, args...), exitUsage}
}

// fail ends the program, also when nobody reads what it prints.
func fail(err error, code int) {
	printed := make(chan struct{})
	go func() {
		fsayf(os.Stderr, "stockrewards: %s\n", err)
		close(printed)
	}()
	const limit = 2 * time.Second
	select {
	case <-printed:
	case <-time.After(limit):
	}
	os.Exit(code)
}
