// Package guard keeps from our servers what no honest client sends: requests that a web
// page makes a browser send, and more connections than the process can hold. It knows
// nothing of what the servers answer. Read browser.go for the first and listener.go for
// the second.
package guard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Browsers refuses with 403 what a page of another site makes a browser send: by the
// headers of every newer browser, and by a Host that is a name of neither this machine
// nor hosts (a foreign name that was made to lead here). Programs are not affected,
// unless they use such a name. With anyHost every Host is accepted.
func Browsers(next http.Handler, hosts []string, anyHost bool) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !anyHost && !named(r.Host, hosts):
			http.Error(w, "this Host is not served here; use the address", http.StatusForbidden)
		case origins.Check(r) != nil:
			http.Error(w, "another site asked for this; nothing was done", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// named tells whether a Host header needs no foreign name server: it is empty, an
// address, localhost, or one of the names.
func named(host string, names []string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	_, err = netip.ParseAddr(name)
	return name == "" || err == nil || strings.EqualFold(name, "localhost") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
