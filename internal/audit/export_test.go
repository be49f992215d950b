package audit

// MembersOnPostgres is the query of the orders' members there.
var MembersOnPostgres = memberStream(false).Query
