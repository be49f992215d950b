package audit

import (
	"context"
	"fmt"
)

// text is a text that may stand once within a scope, and the row that it is of.
type text struct{ scope, text, id string }

// uniqueness says what must be unique.
type uniqueness struct {
	check check
	what  string // a column, for people
	query string // scope, text and row, sorted by scope and text
	row   func(*text) string
}

func uniquenesses() []uniqueness {
	aUser := func(t *text) string { return userName(t.scope, t.id) }
	return []uniqueness{
		{
			checkKeyUnique, "idempotency key",
			`SELECT app_id, idempotency_key, '' FROM rewards ORDER BY app_id, idempotency_key`,
			func(t *text) string { return fmt.Sprintf("reward %q of app %s", t.text, uuid(t.scope)) },
		},
		{
			checkClientOrderID, "client order id",
			`SELECT '', client_order_id, id FROM orders ORDER BY client_order_id`,
			func(t *text) string { return "order " + uuid(t.id) },
		},
		{
			checkUserUnique, "email", `SELECT app_id, email_folded, id FROM users
				WHERE email_folded <> '' ORDER BY app_id, email_folded`, aUser,
		},
		{
			checkUserUnique, "external id", `SELECT app_id, external_id, id FROM users
				WHERE external_id <> '' ORDER BY app_id, external_id`, aUser,
		},
	}
}

// uniqueTexts checks that no text stands twice. Equal ones are neighbours, whatever
// the database's order of texts.
func (a *auditor) uniqueTexts(ctx context.Context) error {
	for _, u := range uniquenesses() {
		var last text
		err := readAll(ctx, a, stream[text]{
			what: u.what, query: u.query,
			bind: func(t *text) []any { return []any{&t.scope, &t.text, &t.id} },
			key:  func(t *text) key { return key{t.scope} },
		}, func(t *text) {
			a.t.row(u.check)
			switch {
			case t.text == "":
				a.t.fail(u.check, u.row(t), "no "+u.what, "one")
			case t.text == last.text && t.scope == last.scope:
				a.t.fail(u.check, u.row(t), "the same "+u.what+" as "+u.row(&last), "one of its own")
			}
			last = *t
		})
		if err != nil {
			return err
		}
	}
	return nil
}
