package audit

import (
	"fmt"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// entry is a string that is unique within a scope, and the row that has it.
type entry struct{ scope, value, id string }

// uniqueness is a column whose strings are unique.
type uniqueness struct {
	check  check
	column string
	query  string         // scope, string and row, in the order of scope and string
	kept   *reader.Sorter // the same from an earlier pass; nil: run the query
	row    func(*entry) string
}

func (a *auditor) uniquenesses() []uniqueness {
	aUser := func(e *entry) string { return userName(e.scope, e.id) }
	anOrder := func(e *entry) string { return "order " + value.UUID(e.id) }
	return []uniqueness{
		{
			checkKeyUnique, "idempotency key", "", a.keys,
			func(e *entry) string { return fmt.Sprintf("reward %q of app %s", e.value, value.UUID(e.scope)) },
		},
		{
			checkClientOrderID, "client order id",
			`SELECT '', client_order_id, id FROM orders ORDER BY client_order_id`, nil,
			anOrder,
		},
		{
			checkPlaces, "number",
			`SELECT '', CAST(number AS TEXT), id FROM orders WHERE number > 0 ORDER BY number`, nil, anOrder,
		},
		{
			checkUserUnique, "email", `SELECT app_id, email_folded, id FROM users
				WHERE email_folded <> '' ORDER BY app_id, email_folded`, nil, aUser,
		},
		{
			checkUserUnique, "external id", `SELECT app_id, external_id, id FROM users
				WHERE external_id <> '' ORDER BY app_id, external_id`, nil, aUser,
		},
	}
}

// unique checks the unique columns. Equal strings are neighbors in any collation.
func (a *auditor) unique() error {
	for _, u := range a.uniquenesses() {
		s := reader.Stream[entry]{
			What: u.column, Query: u.query,
			Bind: func(e *entry) []any { return []any{&e.scope, &e.value, &e.id} },
			Key:  func(e *entry) reader.Key { return reader.Key{e.scope} },
		}
		var rows *reader.Cursor[entry]
		var err error
		if u.kept != nil {
			rows, err = reader.OpenSorted(a.r, s, u.kept)
		} else {
			rows, err = reader.Open(a.r, s)
		}
		if err != nil {
			return err
		}
		var last entry
		err = rows.Rest(func(e *entry) {
			a.t.row(u.check)
			switch {
			case e.value == "":
				a.t.fail(u.check, u.row(e), "no "+u.column, "one")
			case e.value == last.value && e.scope == last.scope:
				a.t.fail(u.check, u.row(e), "the "+u.column+" of "+u.row(&last), "another one")
			}
			last = *e
		})
		if err != nil {
			return err
		}
	}
	return nil
}
