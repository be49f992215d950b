package prove

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Plant is damage of one kind, which its check must find.
type Plant struct {
	Check      string   // the name of the check in the audit's report
	What       string   // what is wrong then
	Statements []string // what does it; @name stands for an id of World.IDs
	Anywhere   bool     // it is damage in any books that have such a row
}

func breaking(check, what string, statements ...string) Plant {
	return Plant{check, what, statements, false}
}

// Plants is all damage that is planted: at least one of every check.
func Plants() []Plant {
	anywhere := slices.Concat(anyPlants(), anyBookPlants())
	for i := range anywhere {
		anywhere[i].Anywhere = true
	}
	return slices.Concat(anywhere, rewardPlants(), rewardAssetPlants(), orderPlants(), orderEndPlants(), fillPlants(),
		holdingPlants(), otherPlants(), logPlants(), sealPlants(), decisionPlants())
}

// Tables are the tables of the books that the audit reads.
func Tables() []string {
	return []string{
		"settings", "operator_log", "apps", "keys", "users", "assets", "prices", "rewards", "orders", "order_rewards",
		"order_resolutions", "allocations", "holdings", "spending", "house_topups", "lease",
		"positions", "actions",
	}
}

// SQL puts the ids of the books into a statement.
func (w *World) SQL(statement string) (string, error) {
	var missing error
	statement = placeholder().ReplaceAllStringFunc(statement, func(name string) string {
		id, ok := w.IDs[name[1:]]
		if !ok {
			missing = fmt.Errorf("prove: no id %s", name)
		}
		return "x'" + hex.EncodeToString(id[:]) + "'"
	})
	return statement, missing
}

// InPostgres puts a statement of the plants, which are written for SQLite, into
// PostgreSQL's words.
func InPostgres(statement string) string {
	statement = hexLiteral().ReplaceAllString(statement, `bytea '\x$1'`)
	statement = zeros().ReplaceAllString(statement, `decode(repeat('00', $1), 'hex')`)
	return strings.ReplaceAll(statement, " AS BLOB", " AS bytea")
}

func hexLiteral() *regexp.Regexp { return regexp.MustCompile(`\bx'([0-9a-f]*)'`) }

func zeros() *regexp.Regexp { return regexp.MustCompile(`\bzeroblob\((\d+)\)`) }

func placeholder() *regexp.Regexp { return regexp.MustCompile(`@[a-z-]+`) }
