package ledger

import (
	"bufio"
	"fmt"
	"strings"
	"time"
	"unicode"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The accounts. Users and apps are named by their ids, never by what a person could
// be found by. Shares that are owed and dollars that are spent are negative.
const (
	custody      = "assets:custody"              // shares at the broker, at cost
	acknowledged = "assets:custody:acknowledged" // shares of orders that the books do not know, without cost
	cash         = "assets:cash:broker"          // dollars spent at the broker
	receivable   = "assets:receivable"           // dollars that an app owes: below it app, user and stock
	users        = "liabilities:users"           // shares owed: below it app and user, at cost
	house        = "equity:house"                // the operator's own shares, at cost
	topUp        = "expenses:house:top-up"       // dollars that the house added to orders
	tooSmall     = "expenses:house:too-small"    // dollars of rewards that came to no shares
)

func receivableOfApp(app rewards.AppID) string { return receivable + ":" + app.String() }

func receivableFor(app rewards.AppID, user rewards.UserID, symbol string) string {
	return receivableOfApp(app) + ":" + user.String() + ":" + symbol
}

func userAccount(app rewards.AppID, user rewards.UserID) string {
	return users + ":" + app.String() + ":" + user.String()
}

// journal writes lines; its first error sticks and is told by flush.
type journal struct{ w *bufio.Writer }

func (j *journal) line(format string, args ...any) {
	_, _ = fmt.Fprintf(j.w, format+"\n", args...) // bufio keeps the error
}

// header begins a transaction. Its code is a client order id, or none.
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

func rewardTag(id rewards.RewardID) string { return "  ; reward: " + id.String() }

func (j *journal) flush() error { return j.w.Flush() }

func dollars(u money.USD) string { return "$" + u.String() }

func shares(s money.Shares, symbol string) string { return s.String() + " " + commodity(symbol) }

func atCost(s money.Shares, symbol string, cost money.USD) string {
	return shares(s, symbol) + " @@ " + dollars(cost)
}

// commodity is a symbol as a journal writes it: quoted unless it is letters only.
func commodity(symbol string) string {
	for _, c := range symbol {
		if !letter(c) {
			return `"` + symbol + `"`
		}
	}
	return symbol
}

func letter(c rune) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// checkSymbol fails when a symbol has what would mean something else in a journal.
func checkSymbol(symbol string) error {
	for _, c := range symbol {
		if !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune(".-/", c) {
			return fmt.Errorf("the symbol %q cannot stand in a journal", symbol)
		}
	}
	if symbol == "" {
		return fmt.Errorf("a stock without a symbol")
	}
	return nil
}

// clean makes one line without a tag of its own of a text from elsewhere.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || strings.ContainsRune(",;:()", c) {
			return '_'
		}
		return c
	}, text)
}
