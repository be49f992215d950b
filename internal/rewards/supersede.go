package rewards

// Supersede applies a decision when before, if not nil, was decided earlier. The same
// decision again changes nothing and returns false, unless the earlier one could not be
// booked, so that the order is quarantined again. It fails with CodeConflict when the order
// was decided differently, or when Resolve refuses the decision.
func (o Order) Supersede(before *Resolution, r Resolution) (resolved Order, changed bool, err error) {
	if before != nil && o.State != OrderQuarantined {
		if before.Same(r) {
			return o, false, nil
		}
		return o, false, &Error{Code: CodeConflict, Message: "the order already has a different resolution"}
	}
	resolved, err = o.Resolve(r)
	return resolved, err == nil, err
}
