package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// With the file of authorities in the home folder "require" checks the server's certificate. Without the file a running
// process does not connect unchecked, but waits for the file. A file that comes later is used.
func TestNoConnectionIsCheckedLess(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	root := filepath.Join(home, ".postgresql", "root.crt")
	const url = "postgres://app@db1,db2/rewards?sslmode=require"
	unchecked, err := poolConfig(url, Options{})
	if err = errors.Join(err, os.Mkdir(filepath.Dir(root), 0o700), os.WriteFile(root, []byte(authority), 0o600)); err != nil {
		t.Fatal(err)
	}
	f := &files{url: url}
	if err := f.renew(&unchecked.ConnConfig.Config); err != nil {
		t.Errorf("with a file that came after the start: %v", err)
	}
	config, err := poolConfig(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.renew(&config.ConnConfig.Config); err != nil {
		t.Errorf("with the file: %v", err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := f.renew(&config.ConnConfig.Config); !errors.Is(err, errFiles) {
		t.Errorf("without the file: %v", err)
	}
	for _, way := range ways(&config.ConnConfig.Config) {
		if safetyOf(way.TLSConfig) != trusted {
			t.Errorf("%s is connected to unchecked", way.Host)
		}
	}
}

// A changed service file may make the process check more of the same server, and not less. Another server is not used.
func TestAServiceFileCannotWeaken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "services")
	write := func(host, mode string) {
		if err := os.WriteFile(path, []byte("[rewards]\nhost="+host+"\nsslmode="+mode+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("db1", "require")
	f := &files{url: "postgres://app@/rewards?service=rewards&servicefile=" + path}
	config, err := poolConfig(f.url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, mode string
		want       safety
		err        error
	}{
		{"db1", "require", encrypted, nil},
		{"db1", "verify-full", named, nil},
		{"db1", "prefer", encrypted, errFiles},
		{"db1", "disable", encrypted, errFiles},
		{"db2", "disable", encrypted, nil},
		{"db1,db2", "verify-full", encrypted, nil},
	} {
		write(c.host, c.mode)
		got := config.ConnConfig.Copy()
		err := f.renew(&got.Config)
		if !errors.Is(err, c.err) || got.Host != "db1" || len(got.Fallbacks) > 0 || safetyOf(got.TLSConfig) != c.want {
			t.Errorf("%s, %s: %s and %d more, %d, %v", c.host, c.mode, got.Host, len(got.Fallbacks), safetyOf(got.TLSConfig), err)
		}
	}
}

// authority is a certificate that nothing uses.
const authority = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUZonLsGjavNStLwPhwmH9pG/ScYQwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAxOTExNDZaGA8yMTI2MTEwNjE5MTE0
NlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABH1v
0ICcL1dWiLtYZt/9EVzR3Xayw6Yq3sURT46zkzytf6222Pm0ZKBDwrMBIem1k4gU
ncJJfRkuVR0KBZHKhjCjUzBRMB0GA1UdDgQWBBRLBdHXGbDwAHDfeKBsT4ReY1lh
tzAfBgNVHSMEGDAWgBRLBdHXGbDwAHDfeKBsT4ReY1lhtzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQCuMrq0Tlzs3LTb0F2h3SnsEtyBduUAd66l
ymHy/GE2IgIhAMbeCXmOKL0k9yyaOmiJQ/eflhZ6EUvGubJK7o8PvmkV
-----END CERTIFICATE-----
`
