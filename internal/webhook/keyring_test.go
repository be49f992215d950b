package webhook_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

func openKeyring(t *testing.T, path string) *webhook.Keyring {
	t.Helper()
	k, err := webhook.OpenKeyring(path, "", rand.Reader)
	check(t, err)
	return k
}

// A missing file is made for its owner only, and opens what it sealed.
func TestKeyringIsMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	first := openKeyring(t, path)
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the mode is %v, want 0600", info.Mode())
	}
	app, other := rewards.AppID{1}, rewards.AppID{2}
	sealed, err := first.Seal(app, []byte("secret"))
	check(t, err)
	if strings.Contains(string(sealed), "secret") {
		t.Error("the sealed secret is readable")
	}
	second := openKeyring(t, path)
	if got, err := second.Open(app, sealed); err != nil || string(got) != "secret" {
		t.Errorf("opened %q, error %v", got, err)
	}
	if _, err := second.Open(other, sealed); err == nil {
		t.Error("another app's secret can be opened")
	}
	for i := range sealed {
		damaged := append(rewards.SealedSecret{}, sealed...)
		damaged[i] ^= 1
		if _, err := second.Open(app, damaged); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
}

// A rotation: a newer key in the first line, and later only that one.
// Others lose their permissions of the file. One that everyone may write is refused.
func TestKeyringIsProtected(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := webhook.OpenKeyring(path, "", rand.Reader); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o644: false, 0o660: false, 0o666: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := webhook.OpenKeyring(path, "", rand.Reader)
		if refused != (err != nil && strings.Contains(err.Error(), "lets everyone write to it")) {
			t.Errorf("a file with the mode %o: %v", mode, err)
		}
		if file, err := os.Stat(path); err != nil || !refused && file.Mode() != 0o600 {
			t.Errorf("the mode %o became %v, %v", mode, file.Mode(), err)
		}
	}
}

func TestKeyringRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	app := rewards.AppID{1}
	sealed, err := openKeyring(t, path).Seal(app, []byte("secret"))
	check(t, err)
	older, err := os.ReadFile(path)
	check(t, err)
	newer := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))) + "\n"
	check(t, os.WriteFile(path, []byte("# newest first\n\n"+newer+string(older)), 0o600))
	both := openKeyring(t, path)
	e := rewards.WebhookEndpoint{AppID: app, Secret: sealed, OldSecrets: []rewards.OldSecret{
		{Sealed: bytes.Clone(sealed)}, {Sealed: rewards.SealedSecret("of a lost key")},
	}}
	changed, err := both.Reseal(&e)
	if err != nil || !changed {
		t.Fatalf("sealed again: %v, error %v", changed, err)
	}
	if again, err := both.Reseal(&e); err != nil || again {
		t.Errorf("sealed a second time: %v, error %v", again, err)
	}
	check(t, os.WriteFile(path, []byte(newer), 0o600))
	for _, sealed := range []rewards.SealedSecret{e.Secret, e.OldSecrets[0].Sealed} {
		if got, err := openKeyring(t, path).Open(app, sealed); err != nil || string(got) != "secret" {
			t.Errorf("opened by the newer key alone: %q, error %v", got, err)
		}
	}
	if _, err := openKeyring(t, path).Open(app, sealed); err == nil {
		t.Error("it opens without its key")
	}
	for _, content := range []string{"", "# no key\n", "short\n", newer + "x"} {
		check(t, os.WriteFile(path, []byte(content), 0o600))
		if _, err := webhook.OpenKeyring(path, "", rand.Reader); err == nil || strings.Contains(err.Error(), "kkk") {
			t.Errorf("%q: error %v", content, err)
		}
	}
}
