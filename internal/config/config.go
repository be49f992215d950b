// Package config reads the file that `stockrewards apply` takes, and compares it with what is
// stored. It changes nothing.
package config

import (
	"fmt"
	"strings"

	"stockrewards/internal/rewards"
)

// File is what a configuration file says. Whatever it does not name is left alone.
type File struct{ Apps []App }

// App is what a file says about an app.
type App struct {
	Name      string
	Mode      rewards.Mode            // of the app's first key; ModeUnknown: the broker's account decides
	Dividends *rewards.DividendPolicy // nil: left alone
	Limits    Limits
	Budgets   *[]Budget   // nil: left alone
	Endpoints *[]Endpoint // nil: left alone

	at, modeAt place
}

// Limits are limits of an app's requests. Those that are nil are left alone.
type Limits struct{ RequestsPerSecond, Concurrent *int }

// Over returns limits with those of the file in the place of others.
func (l Limits) Over(others rewards.Limits) rewards.Limits {
	if l.RequestsPerSecond != nil {
		others.RequestsPerSecond = *l.RequestsPerSecond
	}
	if l.Concurrent != nil {
		others.Concurrent = *l.Concurrent
	}
	return others
}

// Budget is a budget in a file.
type Budget struct {
	rewards.Budget

	at place
}

// Endpoint is a webhook endpoint in a file. Its URL identifies it in the app.
type Endpoint struct {
	URL         string
	Types       rewards.EventTypes // zero: left alone; all of a new endpoint
	Description string             // "": left alone
	Enabled     *bool              // nil: left alone; a new endpoint is enabled

	at place
}

// place is where a file has something.
type place struct {
	line int
	path string // such as apps[0].budgets[1].limit
}

// Issue is a reason to refuse a file.
type Issue struct {
	Line   int // 0: of the file as a whole
	Member string
	Reason string
}

// Issues are all reasons to refuse a file, in the order of its lines. They are an error.
type Issues []Issue

// Error has a line for each issue: LINE: MEMBER: REASON.
func (list Issues) Error() string {
	lines := make([]string, len(list))
	for i, issue := range list {
		lines[i] = issue.Reason
		if issue.Member != "" {
			lines[i] = issue.Member + ": " + lines[i]
		}
		if issue.Line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", issue.Line, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

func (list *Issues) add(at place, format string, values ...any) {
	*list = append(*list, Issue{Line: at.line, Member: at.path, Reason: fmt.Sprintf(format, values...)})
}
