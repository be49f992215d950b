package main

import (
	"net/http"
	"net/netip"
	"strings"

	"stockrewards/internal/api"
)

// proxyFlags say how to find a client's address behind a proxy.
type proxyFlags struct {
	BehindProxy         bool     `help:"Allow listening beyond this machine without --tls-cert: a proxy in front terminates TLS."`
	ClientAddressHeader string   `placeholder:"NAME" help:"Read the client from the header to which the proxy appends the client's address, such as X-Forwarded-For; only with --behind-proxy (default: the connection's address counts)."`
	TrustedProxy        []string `placeholder:"CIDR" help:"Addresses of further proxies, whose entries in that header are believed too."`
}

// proxy reads the flags.
func (f proxyFlags) proxy() (p api.Proxy, err error) {
	if f.ClientAddressHeader == "" {
		if len(f.TrustedProxy) > 0 {
			return p, usageErrorf("--trusted-proxy needs --client-address-header")
		}
		return p, nil
	}
	if !f.BehindProxy {
		return p, usageErrorf("--client-address-header needs --behind-proxy: " +
			"without a proxy clients write that header themselves")
	}
	if strings.Trim(f.ClientAddressHeader, headerLetters) != "" {
		return p, usageErrorf("--client-address-header %q: must be the name of a header, such as X-Forwarded-For",
			f.ClientAddressHeader)
	}
	p.Header = http.CanonicalHeaderKey(f.ClientAddressHeader)
	for _, text := range f.TrustedProxy {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return p, usageErrorf("--trusted-proxy %q: must be a network, such as 10.0.0.0/8", text)
		}
		p.Trusted = append(p.Trusted, prefix)
	}
	return p, nil
}

// headerLetters are what the names of headers are made of in practice.
const headerLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
