package rewards

import "time"

// User is a customer of an app who receives stock (specification, section 2.1). A user whom an
// operator has erased has neither an email nor an external id.
type User struct {
	AppID      AppID
	ID         UserID
	Email      string // "" if not given; unique within the app, ignoring ASCII case
	ExternalID string // "" if not given; unique within the app
}

// CreatedAt returns when the user was created, to the millisecond.
func (u User) CreatedAt() time.Time { return u.ID.Time() }

// Erased reports whether an operator has erased the user.
func (u User) Erased() bool { return u.Email == "" && u.ExternalID == "" }

// UserChange is a request to change a user. Nil leaves a member as it is, and "" erases it.
type UserChange struct {
	AppID      AppID
	UserID     UserID
	Email      *string
	ExternalID *string
}

// ErasesBoth reports whether the change would leave no user with an email or an external id.
func (c UserChange) ErasesBoth() bool {
	return c.Email != nil && *c.Email == "" && c.ExternalID != nil && *c.ExternalID == ""
}

// Decide answers the request to change u. byEmail and byExternalID are the users who have the new
// values; a zero id is nobody. User is zero when the request is refused.
func (c UserChange) Decide(u User, byEmail, byExternalID UserID) UserOutcome {
	if c.Email != nil {
		u.Email = *c.Email
	}
	if c.ExternalID != nil {
		u.ExternalID = *c.ExternalID
	}
	if u.Erased() {
		issue := Issue{Message: "the change leaves neither email nor externalId; only an operator erases both"}
		return UserOutcome{Refused: &Error{
			Code: CodeBadRequest, Message: "the request is not valid", Details: []Issue{issue},
		}}
	}
	if byEmail == u.ID {
		byEmail = UserID{}
	}
	if byExternalID == u.ID {
		byExternalID = UserID{}
	}
	if taken := Taken(byEmail, byExternalID); taken.Field != "" {
		return UserOutcome{Taken: taken}
	}
	return UserOutcome{User: u}
}

// UserOutcome is the outcome of one request to create or change a user.
type UserOutcome struct {
	User    User             // as stored
	Taken   DuplicateDetails // why it was not stored; Field is "" if it was
	Refused error            // why it was not changed; nil if it was
}

// Taken returns the conflict of a new user with the users who have its email or its external
// id; the email's comes first. A zero id means that nobody has it.
func Taken(byEmail, byExternalID UserID) DuplicateDetails {
	switch {
	case !byEmail.IsZero():
		return DuplicateDetails{Field: "email", UserID: byEmail}
	case !byExternalID.IsZero():
		return DuplicateDetails{Field: "externalId", UserID: byExternalID}
	}
	return DuplicateDetails{}
}

// Answer returns the user, or fails with Refused, or with CodeConflict and the DuplicateDetails.
func (o UserOutcome) Answer() (User, error) {
	if o.Taken.Field == "" {
		return o.User, o.Refused
	}
	return User{}, &Error{
		Code: CodeConflict, Message: "a user with this " + o.Taken.Field + " exists", Details: o.Taken,
	}
}

// UserFilter restricts a list of users. Empty members do not restrict.
type UserFilter struct {
	Email      string
	ExternalID string
}

// The limits of a user's members, in characters.
const (
	MaxEmail      = 320
	MaxExternalID = 128
)

// FoldEmail returns an email as it is compared: with its ASCII letters in lower case. It
// does not depend on an engine's collation.
func FoldEmail(email string) string { return mapASCII(email, 'A', 'Z', 'a'-'A') }

// UpperSymbol returns a symbol with its ASCII letters in upper case.
func UpperSymbol(symbol string) string { return mapASCII(symbol, 'a', 'z', -('a' - 'A')) }

func mapASCII(s string, from, to byte, shift int) string {
	b := []byte(s)
	for i, c := range b {
		if from <= c && c <= to {
			b[i] = byte(int(c) + shift)
		}
	}
	return string(b)
}

// NotStored answers a request to create u that was not stored because of a unique email or
// external id. byEmail and byExternalID are the users who have them; a zero id is nobody. A
// holder with u's own id is u, stored by an earlier attempt whose commit was ambiguous. It
// returns false when nobody has either: the store then contradicts itself.
func (u User) NotStored(byEmail, byExternalID UserID) (UserOutcome, bool) {
	taken := Taken(byEmail, byExternalID)
	switch {
	case taken.Field == "":
		return UserOutcome{}, false
	case taken.UserID == u.ID:
		return UserOutcome{User: u}, true
	}
	return UserOutcome{Taken: taken}, true
}

// Matches reports whether the user has the filter's email, apart from ASCII case, and its
// external id.
func (f UserFilter) Matches(u User) bool {
	return (f.Email == "" || FoldEmail(f.Email) == FoldEmail(u.Email)) &&
		(f.ExternalID == "" || f.ExternalID == u.ExternalID)
}
