package webhook

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
)

// Keyring seals the secrets of endpoints by AES-256-GCM. It seals with its newest key and opens with
// each. It is safe for concurrent use.
type Keyring struct {
	keys []sealingKey // newest first
}

type sealingKey struct {
	id     [keyIDBytes]byte // the start of its SHA-256
	cipher cipher.AEAD
}

var _ rewards.Sealer = (*Keyring)(nil)

// A sealed secret is a version, the key's id, a nonce and the encrypted secret. The app's id is
// authenticated with it.
const (
	sealedVersion = 1
	keyBytes      = 32
	keyIDBytes    = 4
	sealedPrefix  = 1 + keyIDBytes
)

// OpenKeyring reads the keys in a file: one in each line, 32 bytes in base64, newest first. Lines that
// start with # are comments. A missing file is made with a new key, for its owner only: see dbfile.Give, which gets the
// SQLite database, or "". It fails when everyone may write the file: who can write it could have secrets sealed with a
// key of theirs.
func OpenKeyring(path, database string, random io.Reader) (*Keyring, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := writeKey(path, database, random); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("cannot make the key file of webhooks: %w", err)
		}
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the key file of webhooks: %w", dbfile.Denied(path, err, ""))
	}
	k := &Keyring{}
	for number, lines := 1, bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("cannot read the key file of webhooks: line %d of %s must be %d bytes in base64",
				number, path, keyBytes)
		}
		if err := k.add(key); err != nil {
			return nil, err
		}
	}
	if len(k.keys) == 0 {
		return nil, fmt.Errorf("cannot read the key file of webhooks: %s has no key", path)
	}
	if err := dbfile.Protect(path); err != nil {
		return nil, err
	}
	return k, nil
}

// writeKey writes a file with a new key. Of several processes one succeeds; no reader sees a part of
// the file.
func writeKey(path, database string, random io.Reader) error {
	var key [keyBytes]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".webhook-key-*") // its mode is 0600
	if err != nil {
		return err
	}
	dbfile.Give(file, database)
	defer os.Remove(file.Name()) //nolint:errcheck // it is useless, unless it has got its name
	_, err = file.WriteString("# Seals the secrets of webhooks. Newest key first; see docs/webhooks.md.\n" +
		base64.StdEncoding.EncodeToString(key[:]) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return dbfile.Publish(file.Name(), path)
}

func (k *Keyring) add(key []byte) error {
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(key)
	k.keys = append(k.keys, sealingKey{id: [keyIDBytes]byte(sum[:]), cipher: aead})
	return nil
}

// Seal implements rewards.Sealer.
func (k *Keyring) Seal(app rewards.AppID, secret []byte) (rewards.SealedSecret, error) {
	newest := k.keys[0]
	sealed := append([]byte{sealedVersion}, newest.id[:]...)
	return newest.cipher.Seal(sealed, nil, secret, app[:]), nil //nolint:gosec // the cipher makes the nonce
}

var errSealed = errors.New("cannot open the secret of a webhook endpoint: no key in the key file of webhooks fits")

// Open implements rewards.Sealer.
func (k *Keyring) Open(app rewards.AppID, sealed rewards.SealedSecret) ([]byte, error) {
	if len(sealed) < sealedPrefix || sealed[0] != sealedVersion {
		return nil, errSealed
	}
	for _, key := range k.keys {
		if !bytes.Equal(key.id[:], sealed[1:sealedPrefix]) {
			continue
		}
		secret, err := key.cipher.Open(nil, nil, sealed[sealedPrefix:], app[:])
		if err == nil {
			return secret, nil
		}
	}
	return nil, errSealed
}

// Reseal seals an endpoint's secrets with the newest key, and reports whether another key sealed one. An old secret
// that no key opens stays as it is: it signs nothing.
func (k *Keyring) Reseal(e *rewards.WebhookEndpoint) (changed bool, err error) {
	if changed, err = k.reseal(e.AppID, &e.Secret); err != nil {
		return false, err
	}
	for i := range e.OldSecrets {
		again, err := k.reseal(e.AppID, &e.OldSecrets[i].Sealed)
		changed = changed || err == nil && again
	}
	return changed, nil
}

func (k *Keyring) reseal(app rewards.AppID, sealed *rewards.SealedSecret) (changed bool, err error) {
	if bytes.HasPrefix((*sealed)[1:], k.keys[0].id[:]) {
		return false, nil
	}
	secret, err := k.Open(app, *sealed)
	if err != nil {
		return false, err
	}
	*sealed, err = k.Seal(app, secret)
	return err == nil, err
}
