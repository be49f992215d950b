package test

import (
	"strings"
	"testing"
	"time"
)

// Additions, section 8: `user erase` leaves neither an email nor an external id. The books stay,
// and neither the operator log nor `user show` has either of them afterwards.
func TestAPersonIsErased(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.start()
	var created struct{ User struct{ ID string } }
	s.must(201, "POST", "/v1/users", `{"email":"secret@example.com","externalId":"secret-7"}`).decode(t, &created)
	id := created.User.ID
	given := s.give(id, "before-erasing", "5", "AAPL")
	s.await(given.ID, "executed", 20*time.Second)
	s.wantOutput("email: secret@example.com\nexternalId: secret-7\n", "user", "show", id)
	s.wantOutput("erased: user "+id, "user", "erase", id, "--reason", "request 4711")
	s.wantOutput("email: -\nexternalId: -\n", "user", "show", id)
	s.wantOutput("AAPL", "user", "show", id)
	s.wantOutput("user erase", "log", "list")
	for _, command := range [][]string{{"user", "show", id}, {"log", "list", "--json"}} {
		if out := s.command(command...); strings.Contains(out, "secret") {
			t.Errorf("%v still prints %s", command, out)
		}
	}
	var got struct{ User map[string]any }
	s.must(200, "GET", "/v1/users/"+id, "").decode(t, &got)
	if got.User["email"] != nil || got.User["externalId"] != nil {
		t.Errorf("the user is %v", got.User)
	}
	s.must(400, "PATCH", "/v1/users/"+id, `{"email":null}`)
	s.must(200, "PATCH", "/v1/users/"+id, `{"externalId":"again"}`)
	s.wantOutput("externalId: again\n", "user", "show", id)
	s.wantError("must be a UUID", "user", "show", "7")
	s.wantError("user not found", "user", "erase", "0199b1c6-3f60-7a10-8c1d-2e3f40516273", "--reason", "x")
	s.wantError("--reason must not be empty", "user", "erase", id, "--reason", " ")
	s.command("audit")
}
