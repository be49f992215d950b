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
	what  string  // a column, for people
	query string  // scope, text and row, sorted by scope and text
	given *sorter // the same, kept by a pass before; nil: it is queried
	row   func(*text) string
}

func (a *auditor) uniquenesses() []uniqueness {
	aUser := func(t *text) string { return userName(t.scope, t.id) }
	return []uniqueness{
		{
			checkKeyUnique, "idempotency key", "", a.keys,
			func(t *text) string { return fmt.Sprintf("reward %q of app %s", t.text, uuid(t.scope)) },
		},
		{
			checkClientOrderID, "client order id",
			`SELECT '', client_order_id, id FROM orders ORDER BY client_order_id`, nil,
			func(t *text) string { return "order " + uuid(t.id) },
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

// uniqueTexts checks that no text stands twice. Equal ones are neighbours, whatever
// the database's order of texts.
func (a *auditor) uniqueTexts(ctx context.Context) error {
	for _, u := range a.uniquenesses() {
		if err := a.uniqueText(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) uniqueText(ctx context.Context, u uniqueness) error {
	all := stream[text]{
		what: u.what, query: u.query,
		bind: func(t *text) []any { return []any{&t.scope, &t.text, &t.id} },
		key:  func(t *text) key { return key{t.scope} },
	}
	var rows *cursor[text]
	var err error
	if u.given != nil {
		rows, err = reopen(a, all, u.given)
	} else {
		rows, err = open(ctx, a, all)
	}
	if err != nil {
		return err
	}
	var last text
	return rows.rest(func(t *text) {
		a.t.row(u.check)
		switch {
		case t.text == "":
			a.t.fail(u.check, u.row(t), "no "+u.what, "one")
		case t.text == last.text && t.scope == last.scope:
			a.t.fail(u.check, u.row(t), "the same "+u.what+" as "+u.row(&last), "one of its own")
		}
		last = *t
	})
}
