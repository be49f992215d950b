package main

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
)

func TestProxyFlags(t *testing.T) {
	t.Parallel()
	networks := []string{"10.0.0.0/8", "2001:db8::/32"}
	for name, test := range map[string]struct {
		flags proxyFlags
		want  *api.Proxy // nil: refused
	}{
		"no proxy":           {proxyFlags{}, &api.Proxy{}},
		"a proxy":            {proxyFlags{BehindProxy: true}, &api.Proxy{}},
		"a header":           {proxyFlags{true, "x-forwarded-for", nil}, &api.Proxy{Header: "X-Forwarded-For"}},
		"networks":           {proxyFlags{true, "X-Real-Ip", networks}, &api.Proxy{Header: "X-Real-Ip", Trusted: []netip.Prefix{netip.MustParsePrefix(networks[0]), netip.MustParsePrefix(networks[1])}}},
		"header, no proxy":   {proxyFlags{false, "X-Forwarded-For", nil}, nil},
		"network, no header": {proxyFlags{true, "", networks}, nil},
		"no header's name":   {proxyFlags{true, "X Forwarded", nil}, nil},
		"no network":         {proxyFlags{true, "X-Forwarded-For", []string{"10.0.0.1"}}, nil},
	} {
		got, err := test.flags.proxy()
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if diff := cmp.Diff(*test.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
