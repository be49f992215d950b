package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxy says how to find a client's address behind proxies. The zero Proxy means no
// proxy: the connection's address is the client's.
type Proxy struct {
	Header  string         // to which each proxy appends its peer's address, such as X-Forwarded-For
	Trusted []netip.Prefix // further proxies whose entries are trusted
}

// address returns the client's address: the rightmost one in the header that is not a
// trusted proxy's, since anybody can write the entries to its left. At an invalid entry
// it returns the address to the right of it.
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

// parseAddr parses what Proxy.address returned; the zero address means unknown.
func parseAddr(s string) netip.Addr {
	address, _ := netip.ParseAddr(s)
	return address
}

// parseHop parses an address with or without a port.
func parseHop(hop string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	if err != nil {
		var both netip.AddrPort
		if both, err = netip.ParseAddrPort(hop); err != nil {
			return netip.Addr{}, false
		}
		address = both.Addr()
	}
	return address.Unmap().WithZone(""), true
}

// hostOf returns a connection's address without the port.
func hostOf(remote string) string {
	if colon := strings.LastIndexByte(remote, ':'); colon >= 0 {
		remote = remote[:colon]
	}
	return strings.TrimSuffix(strings.TrimPrefix(remote, "["), "]")
}
