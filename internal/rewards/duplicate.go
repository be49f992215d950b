package rewards

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
