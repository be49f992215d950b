// Package guard protects HTTP servers from requests that a foreign web page makes a
// browser send (browser.go), from more connections than the process can hold
// (listener.go), and from peers that do not read (silence_linux.go).
package guard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Browsers refuses, with 403, requests that another site's page makes a browser send. It
// knows them by the browser's headers, and by a Host that is neither an address, nor
// localhost, nor one of hosts (DNS rebinding). With anyHost every Host is accepted.
func Browsers(next http.Handler, hosts []string, anyHost bool) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !anyHost && !named(r.Host, hosts):
			http.Error(w, "this Host is not served here; use the address", http.StatusForbidden)
		case origins.Check(r) != nil:
			http.Error(w, "another site sent this request; nothing was done", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// named reports whether a Host header is empty, an address, localhost or one of names.
func named(host string, names []string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	_, err = netip.ParseAddr(name)
	return name == "" || err == nil || strings.EqualFold(name, "localhost") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
