// Command stockrewards lets apps reward their users with fractional stock: it records
// awards, buys the stock and holds it. `stockrewards dev` is for trying it out,
// `stockrewards serve` runs the service, and the other commands are operators' tools.
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

// commands is the command line; kong derives flags and help from it.
type commands struct {
	Dev         devCommand         `cmd:"" help:"Try the service: everything in one process, nothing to configure."`
	Serve       serveCommand       `cmd:"" help:"Run the service, over SQLite or PostgreSQL."`
	App         appCommands        `cmd:"" help:"Create, list, suspend, resume and limit client apps."`
	Key         keyCommands        `cmd:"" help:"Create, list, rotate and revoke API keys."`
	Asset       assetCommands      `cmd:"" help:"List and change the catalog of stocks."`
	Fulfillment fulfillmentCommand `cmd:"" help:"Pause, resume and inspect the buying of stock."`
	Reward      rewardCommands     `cmd:"" help:"Reverse a reward."`
	User        userCommands       `cmd:"" help:"Show a user, or erase a person."`
	Order       orderCommands      `cmd:"" help:"List orders, and resolve those that need an operator."`
	Action      actionCommands     `cmd:"" help:"List corporate actions such as splits and dividends, and decide about those that are held."`
	Audit       auditCommand       `cmd:"" help:"Check every invariant of the database, or compare it with the broker (--broker)."`
	Log         logCommands        `cmd:"" help:"List and verify the operator log."`
	Ledger      ledgerCommand      `cmd:"" help:"Export double-entry books as plain text, for hledger."`
	Backup      backupCommand      `cmd:"" help:"Copy the SQLite database to a file, even while serve runs, and audit the copy."`
	Migrate     migrateCommand     `cmd:"" help:"Create or migrate the database schema, so that serve needs no permission to do so."`
	Copy        copyCommand        `cmd:"" help:"Move the database of a stopped service from SQLite to PostgreSQL."`
	Paper       paperCommand       `cmd:"" help:"Run a paper brokerage that speaks Alpaca's API and can inject faults."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

const (
	description = "Stock Rewards Service: reward your users with fractional stock.\n\n" +
		"Start with `stockrewards dev`. Help shows the environment variable of each setting in " +
		"parentheses; secrets are read from the environment only."
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
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

// exitError is an error with an exit status other than 1.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// usageErrorf returns an error in the command line.
func usageErrorf(format string, args ...any) error {
	return exitError{fmt.Errorf(format, args...), exitUsage}
}

// fail prints an error and exits with code, even when nobody reads standard error.
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
