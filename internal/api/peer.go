package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxy says how to find a client's address behind proxies. The zero Proxy is none: the
// connection's address is the client's.
type Proxy struct {
	Header  string         // to which each proxy appends the address that it sees, such as X-Forwarded-For
	Trusted []netip.Prefix // further proxies: their entries are believed too
}

// address is where a request comes from: the right-most address of the header that
// is not a trusted proxy's. What stands left of it may be written by anybody. When
// the header does not lead to an address it is the last one that is known.
func (p Proxy) address(r *http.Request) string {
	address := hostOf(r.RemoteAddr)
	if p.Header == "" {
		return address
	}
	for _, line := range slices.Backward(r.Header[p.Header]) {
		for _, hop := range slices.Backward(strings.Split(line, ",")) {
			found, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				return address
			}
			address = found.String()
			if !slices.ContainsFunc(p.Trusted, func(t netip.Prefix) bool { return t.Contains(found) }) {
				return address
			}
		}
	}
	return address
}

// addressOf is the address of a text that address made; the zero one for any other.
func addressOf(text string) netip.Addr {
	address, _ := netip.ParseAddr(text)
	return address
}

// parseHop reads an address, with a port or without.
func parseHop(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		var both netip.AddrPort
		if both, err = netip.ParseAddrPort(text); err != nil {
			return netip.Addr{}, false
		}
		address = both.Addr()
	}
	return address.Unmap().WithZone(""), true
}

// hostOf is the address of a connection without its port.
func hostOf(remote string) string {
	if colon := strings.LastIndexByte(remote, ':'); colon >= 0 {
		remote = remote[:colon]
	}
	return strings.Trim(remote, "[]")
}
