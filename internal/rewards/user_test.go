package rewards_test

import (
	"testing"

	"stockrewards/internal/rewards"
)

func TestNotStored(t *testing.T) {
	t.Parallel()
	var nobody rewards.UserID
	u, ann, bob := rewards.User{ID: rewards.UserID{1}, Email: "ann@example.com"}, rewards.UserID{2}, rewards.UserID{3}
	for name, test := range map[string]struct {
		byEmail, byExternalID rewards.UserID
		want                  rewards.UserOutcome
		ok                    bool
	}{
		"email":               {ann, nobody, rewards.UserOutcome{Taken: rewards.DuplicateDetails{Field: "email", UserID: ann}}, true},
		"external id":         {nobody, bob, rewards.UserOutcome{Taken: rewards.DuplicateDetails{Field: "externalId", UserID: bob}}, true},
		"both: email first":   {ann, bob, rewards.UserOutcome{Taken: rewards.DuplicateDetails{Field: "email", UserID: ann}}, true},
		"own earlier attempt": {u.ID, u.ID, rewards.UserOutcome{User: u}, true},
		"nobody":              {nobody, nobody, rewards.UserOutcome{}, false},
	} {
		if got, ok := u.NotStored(test.byEmail, test.byExternalID); got != test.want || ok != test.ok {
			t.Errorf("%s: got %+v, %t", name, got, ok)
		}
	}
}

func TestUserFilterMatches(t *testing.T) {
	t.Parallel()
	u := rewards.User{Email: "Ann@example.com", ExternalID: "A1"}
	for name, test := range map[string]struct {
		filter rewards.UserFilter
		want   bool
	}{
		"nothing":           {rewards.UserFilter{}, true},
		"email in any case": {rewards.UserFilter{Email: "ann@EXAMPLE.com"}, true},
		"external id":       {rewards.UserFilter{ExternalID: "A1"}, true},
		"external id case":  {rewards.UserFilter{ExternalID: "a1"}, false},
		"only the email":    {rewards.UserFilter{Email: "ann@example.com", ExternalID: "B2"}, false},
	} {
		if got := test.filter.Matches(u); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
