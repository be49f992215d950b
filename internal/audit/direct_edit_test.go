package audit_test

import (
	"slices"
	"testing"

	"stockrewards/internal/prove"
)

// TestDirectEditsAreNoticed: somebody with access to the file changes what an operator
// has decided, what identifies a user or a request, or the log of it.
func TestDirectEditsAreNoticed(t *testing.T) {
	t.Parallel()
	w, another := loose(t, newFile)
	for what, name := range map[string]string{
		"another actor": "operator_log", "the newest one gone": "operator_log", "all gone": "operator_log",
		"valid again": "operator_state", "no expiry any more": "operator_state", "a key gone": "operator_state",
		"no suspension any more": "operator_state", "giftable again": "operator_state", "another secret": "operator_state",
		"email": "user_seal", "external id": "user_seal", "no seal": "user_seal", "idempotency key": "fingerprint",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(prove.Plants(), func(p prove.Plant) bool { return p.Check == name && p.What == what })
			if i < 0 {
				t.Fatalf("%s is not planted", what)
			}
			where := another(t)
			for _, statement := range prove.Plants()[i].Statements {
				onBooks(t, where, w.sql(t, statement))
			}
			wantViolation(t, run(t, where), name)
		})
	}
}
