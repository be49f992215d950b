package main

import (
	"net/http"
	"net/netip"
	"strings"

	"stockrewards/internal/api"
)

// proxyFlags configure how to find a client's address behind a proxy.
type proxyFlags struct {
	BehindProxy         bool     `help:"Allow --listen beyond this machine without --tls-cert: a proxy in front terminates TLS."`
	ClientAddressHeader string   `placeholder:"NAME" help:"Read the client's address from this header, to which the proxy appends it, such as X-Forwarded-For; only with --behind-proxy (default: the address of the connection)."`
	TrustedProxy        []string `placeholder:"CIDR" help:"Trust the entries that proxies in this network append to --client-address-header, too; repeatable."`
}

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
	for _, network := range f.TrustedProxy {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return p, usageErrorf("--trusted-proxy %q: must be a network, such as 10.0.0.0/8", network)
		}
		p.Trusted = append(p.Trusted, prefix)
	}
	return p, nil
}

// headerLetters are the letters of header names, in practice.
const headerLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
