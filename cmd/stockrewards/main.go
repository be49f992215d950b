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
	"time"

	"github.com/alecthomas/kong"
)

// commands is the command line; kong derives flags and help from it.
type commands struct {
	Dev         devCommand         `cmd:"" group:"Service" help:"Try the service: everything in one process, nothing to configure."`
	Serve       serveCommand       `cmd:"" group:"Service" help:"Run the service, over SQLite or PostgreSQL."`
	Paper       paperCommand       `cmd:"" group:"Service" help:"Run a paper brokerage that speaks Alpaca's API and can inject faults."`
	Listen      listenCommand      `cmd:"" group:"For client developers" help:"Forward the events of an app to a webhook receiver on this machine."`
	Trigger     triggerCommand     `cmd:"" group:"For client developers" help:"Cause an event of a type, to try a webhook receiver."`
	Health      healthCommand      `cmd:"" group:"Service" help:"Ask a running service at its --admin-listen whether it is ready; the exit status is 0 when it is."`
	App         appCommands        `cmd:"" group:"Apps" help:"Create, list, suspend, resume and limit client apps."`
	Apply       applyCommand       `cmd:"" group:"Apps" help:"Make apps, budgets, limits and webhook endpoints what a YAML file says; --dry-run shows the difference."`
	Budget      budgetCommands     `cmd:"" group:"Apps" help:"Set, list and remove spending limits of apps."`
	Key         keyCommands        `cmd:"" group:"Apps" help:"Create, list, rotate and revoke API keys."`
	Reward      rewardCommands     `cmd:"" group:"Users and rewards" help:"Reverse a reward."`
	User        userCommands       `cmd:"" group:"Users and rewards" help:"Show a user, or erase a person."`
	Asset       assetCommands      `cmd:"" group:"Stocks and orders" help:"List and change the catalog of stocks."`
	Fulfillment fulfillmentCommand `cmd:"" group:"Stocks and orders" help:"Pause, resume and inspect the buying of stock."`
	Order       orderCommands      `cmd:"" group:"Stocks and orders" help:"List orders, and resolve those that need an operator."`
	Action      actionCommands     `cmd:"" group:"Stocks and orders" help:"List corporate actions such as splits and dividends, and decide about those that are held."`
	Webhook     webhookCommands    `cmd:"" group:"Apps" help:"List webhook endpoints and their deliveries, and decide about those that fail."`
	Audit       auditCommand       `cmd:"" group:"Checks and accounting" help:"Check every invariant of the database, or compare it with the broker (--broker)."`
	Log         logCommands        `cmd:"" group:"Checks and accounting" help:"List and verify the operator log."`
	Ledger      ledgerCommand      `cmd:"" group:"Checks and accounting" help:"Export double-entry books as plain text, for hledger."`
	Backup      backupCommand      `cmd:"" group:"Database" help:"Copy the SQLite database to a file, even while serve runs, and audit the copy."`
	Migrate     migrateCommand     `cmd:"" group:"Database" help:"Create or migrate the database schema, so that serve needs no permission to do so."`
	Copy        copyCommand        `cmd:"" group:"Database" help:"Move the database of a stopped service from SQLite to PostgreSQL."`
	Completion  completionCommand  `cmd:"" group:"This program" help:"Print the completion script of a shell: source <(stockrewards completion bash)."`
	Manual      manualCommand      `cmd:"" group:"This program" help:"Print the manual page: stockrewards manual | man -l -."`
	Version     versionCommand     `cmd:"" group:"This program" help:"Print the version. Also: stockrewards --version."`
	Complete    completeCommand    `cmd:"" hidden:"" help:"Print what completes a command line, for the completion scripts."`
}

const (
	description = "Stock Rewards Service: reward your users with fractional stock.\n\n" +
		"Start with `stockrewards dev`. Help shows the environment variable of each setting in " +
		"parentheses; secrets are read from the environment only."
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	var c commands
	parser, err := kong.New(&c,
		kong.Name("stockrewards"), kong.Description(description), kong.UsageOnError(),
		kong.DefaultEnvars("STOCKREWARDS"), onlySettings(), durationsWithDays(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Writers(&stdout, os.Stderr),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fail(err, 1)
	}
	if err := checkEnvironment(parser.Model, os.Environ()); err != nil {
		fail(err, exitUsage)
	}
	args := os.Args[1:]
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "--version":
		args[0] = "version"
	case args[0] == "help":
		args = append(args[1:], "--help")
	}
	if err := checkArguments(args); err != nil {
		fail(err, exitUsage)
	}
	warnOfPassword(args)
	parsed, err := parser.Parse(args)
	if failure := stdout.failure(); failure != nil { // of the help
		fail(failure, 1)
	}
	if err != nil {
		fail(fmt.Errorf("%w (see %s --help)", redactArguments(err, args), commandOf(err)), exitUsage)
	}
	err = checkEmpty(parsed)
	if err == nil {
		err = parsed.Run()
	}
	if err = errors.Join(err, stdout.failure()); err != nil {
		code := 1
		if e, ok := errors.AsType[exitError](err); ok {
			code = e.code
		}
		err = inPlainWords(ctx, err)
		stop()
		fail(redactArguments(err, args), code)
	}
}

// commandOf is the command whose help explains an error in the command line.
func commandOf(err error) string {
	name := "stockrewards"
	if e, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, step := range e.Context.Path {
			if step.Command != nil {
				name += " " + step.Command.Name
			}
		}
	}
	return name
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

// numberError refuses the number that a flag gives: err is why it cannot be read, or nil when it is out of range.
func numberError(flag, given string, err error, must string) error {
	if err != nil {
		return usageErrorf("%s %q: %w: must be %s", flag, given, err, must)
	}
	return usageErrorf("%s %q: must be %s", flag, given, must)
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
