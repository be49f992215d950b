package rewards

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// WebhookAddresses decides which addresses webhooks may be sent to.
type WebhookAddresses struct {
	Allow []netip.Prefix // ranges in which any address, any port and plain HTTP are allowed
}

// The reasons why an address is refused.
var (
	errSpecialRange = errors.New("the address is in a private or special range")
	errPlainHTTP    = errors.New("must begin with https://")
	errPort         = errors.New("the port must be 443")
)

// secureProtocol is the scheme of URLs that are encrypted, httpsPort their port.
const (
	secureProtocol = "https"
	plainProtocol  = "http"
	httpsPort      = 443
)

// CheckAddress fails when webhooks must not be sent to a resolved address.
func (w WebhookAddresses) CheckAddress(to netip.AddrPort, encrypted bool) error {
	address := to.Addr().Unmap()
	if w.allows(address) {
		return nil
	}
	switch {
	case !globalUnicast(address):
		return errSpecialRange
	case !encrypted:
		return errPlainHTTP
	case to.Port() != httpsPort:
		return errPort
	}
	return nil
}

func (w WebhookAddresses) allows(address netip.Addr) bool {
	for _, prefix := range w.Allow {
		if address.Zone() == "" && prefix.Contains(address) {
			return true
		}
	}
	return false
}

// specialRanges returns the special ranges of IANA's registries inside the space of global
// unicast: 0.0.0.0/0 below 224.0.0.0, and 2000::/3.
func specialRanges() []string {
	return []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"2001::/23",         // protocol assignments, Teredo included
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	}
}

// globalUnicast reports whether an address may be one on the public Internet.
func globalUnicast(a netip.Addr) bool {
	const firstMulticast = 224
	switch {
	case a.Zone() != "" || a.Is4In6():
		return false
	case a.Is4() && a.As4()[0] >= firstMulticast: // multicast, reserved, broadcast
		return false
	case a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a): // NAT64 and unique local ones, too
		return false
	}
	for _, text := range specialRanges() {
		if netip.MustParsePrefix(text).Contains(a) {
			return false
		}
	}
	return true
}

// errWebhookURL is an error that says what a URL must be.
type errWebhookURL string

// Error implements error.
func (e errWebhookURL) Error() string { return string(e) }

// CheckURL fails when it is plain from the text of a URL that webhooks must not be sent there. A
// name is judged when it is resolved.
func (w WebhookAddresses) CheckURL(text string) error {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, invisible):
		return errWebhookURL("must be a URL of ASCII characters, such as https://example.com/hook")
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return errWebhookURL("must be a URL with a host, such as https://example.com/hook")
	case u.Scheme != secureProtocol && u.Scheme != plainProtocol:
		return errPlainHTTP
	case u.User != nil:
		return errWebhookURL("must not have a user name or password")
	case strings.Contains(text, "#"):
		return errWebhookURL("must not have a fragment")
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	return w.checkHost(strings.ToLower(u.Hostname()), port, u.Scheme == secureProtocol)
}

func portOf(u *url.URL) (uint16, error) {
	const plainPort, decimal, bits = 80, 10, 16
	switch {
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), decimal, bits)
		if err != nil || port == 0 {
			return 0, errWebhookURL("must have a port from 1 to 65535, or none")
		}
		return uint16(port), nil
	case strings.HasSuffix(u.Host, ":"):
		return 0, errWebhookURL("must have a port after the colon")
	case u.Scheme == plainProtocol:
		return plainPort, nil
	}
	return httpsPort, nil
}

// checkHost judges a host in lower case.
func (w WebhookAddresses) checkHost(host string, port uint16, encrypted bool) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return w.CheckAddress(netip.AddrPortFrom(address, port), encrypted)
	}
	if strings.ContainsAny(host, ":%") {
		return errWebhookURL("must have an IPv6 address without a zone")
	}
	name := strings.TrimSuffix(host, ".")
	if oddNumber(name) {
		return errWebhookURL("an IPv4 address must have four decimal numbers")
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}
		if !w.allows(loopback[0]) && !w.allows(loopback[1]) {
			return errSpecialRange
		}
		return nil
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	if name == "" || strings.Trim(name, letters) != "" || strings.Trim(name, ".") != name ||
		strings.Contains(name, "..") {
		return errWebhookURL("must have a host name of letters, digits, dots and hyphens")
	}
	switch {
	case len(w.Allow) > 0: // the name may resolve to an allowed address
		return nil
	case !encrypted:
		return errPlainHTTP
	case port != httpsPort:
		return errPort
	}
	return nil
}

// oddNumber reports whether resolvers may read a name as an IPv4 address in another spelling:
// decimal, octal, hexadecimal, or with fewer than four parts. No name has a last label of a number.
func oddNumber(name string) bool {
	label := name[strings.LastIndexByte(name, '.')+1:]
	if label == "" {
		return false
	}
	if digits, isHex := strings.CutPrefix(label, "0x"); isHex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
