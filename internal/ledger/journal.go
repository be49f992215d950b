package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The accounts. Users and apps appear by id only, without personal data. Shares owed and
// dollars spent are negative.
const (
	custody      = "assets:custody"              // shares at the broker, at cost
	acknowledged = "assets:custody:acknowledged" // shares of orders that the store does not have, without cost
	cash         = "assets:cash:broker"          // dollars spent at the broker
	receivable   = "assets:receivable"           // dollars owed by an app, with subaccounts by app, user and stock
	users        = "liabilities:users"           // shares owed, at cost, with subaccounts by app and user
	house        = "equity:house"                // the operator's own shares, at cost
	topUp        = "expenses:house:top-up"       // dollars that the house added to orders
	tooSmall     = "expenses:house:too-small"    // dollars of rewards too small for a share
	sold         = "income:house:shares"         // dollars of awards that the house's own shares paid for
	owed         = "liabilities:cash"            // dollars that the broker paid, with subaccounts by app and user
	income       = "income:house:actions"        // dollars that the broker paid and the house keeps
	actions      = "equity:corporate-actions"    // what an action has not distributed, and cost without shares
)

func owedTo(app rewards.AppID, user rewards.UserID) string {
	return owed + ":" + app.String() + ":" + user.String()
}

func receivableOfApp(app rewards.AppID) string { return receivable + ":" + app.String() }

func receivableFor(app rewards.AppID, user rewards.UserID, symbol string) string {
	return receivableOfApp(app) + ":" + user.String() + ":" + symbol
}

func userAccount(app rewards.AppID, user rewards.UserID) string {
	return users + ":" + app.String() + ":" + user.String()
}

// journal writes lines. Its writer keeps the first error until the end.
type journal struct{ w *bufio.Writer }

func (j *journal) line(format string, args ...any) {
	_, _ = fmt.Fprintf(j.w, format+"\n", args...) // the last flush returns the error
}

// header begins a transaction. The code is a client order id or "".
func (j *journal) header(at time.Time, code, description string) {
	if code != "" {
		code = "(" + clean(code) + ") "
	}
	j.line("")
	j.line("%s * %s%s", at.UTC().Format(time.DateOnly), code, description)
}

func (j *journal) tag(name, value string) {
	if value != "" {
		j.line("    ; %s: %s", name, clean(value))
	}
}

func (j *journal) posting(account, amount string) { j.line("    %s  %s", account, amount) }

func dollars(u money.USD) string { return "$" + u.String() }

func shares(s money.Shares, symbol string) string { return s.String() + " " + commodity(symbol) }

func atCost(s money.Shares, symbol string, cost money.USD) string {
	return shares(s, symbol) + " @@ " + dollars(cost)
}

// commodity returns a symbol in a journal's syntax: quoted unless it has only letters.
func commodity(symbol string) string {
	for _, c := range symbol {
		if !letter(c) {
			return `"` + symbol + `"`
		}
	}
	return symbol
}

func letter(c rune) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// checkSymbol fails if a symbol contains syntax of a journal.
func checkSymbol(symbol string) error {
	for _, c := range symbol {
		if !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune(".-/", c) {
			return fmt.Errorf("invalid commodity: the symbol %q", symbol)
		}
	}
	if symbol == "" {
		return errors.New("a stock has no symbol")
	}
	return nil
}

// clean replaces line breaks and the syntax of tags in a string from outside.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || strings.ContainsRune(",;:()", c) {
			return '_'
		}
		return c
	}, s)
}
