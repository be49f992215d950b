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
	if err := renew(url, &unchecked.ConnConfig.Config); err != nil {
		t.Errorf("with a file that came after the start: %v", err)
	}
	config, err := poolConfig(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := renew(url, &config.ConnConfig.Config); err != nil {
		t.Errorf("with the file: %v", err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := renew(url, &config.ConnConfig.Config); !errors.Is(err, errFiles) {
		t.Errorf("without the file: %v", err)
	}
	for _, way := range ways(&config.ConnConfig.Config) {
		if safetyOf(way.TLSConfig) != trusted {
			t.Errorf("%s is connected to unchecked", way.Host)
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
