package prove

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
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
		holdingPlants(), otherPlants())
}

// Tables are the tables of the books.
func Tables() []string {
	return []string{
		"settings", "apps", "keys", "users", "assets", "prices", "rewards", "orders", "order_rewards",
		"order_resolutions", "allocations", "holdings", "spending", "lease", "broker_conflicts",
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

func placeholder() *regexp.Regexp { return regexp.MustCompile(`@[a-z-]+`) }
