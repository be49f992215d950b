package rewards

import (
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
	"time"
)

// Key is a stored API key: its hash and metadata. The key itself is shown once, when it is
// made.
type Key struct {
	ID        KeyID
	AppID     AppID
	Hash      KeyHash
	Label     string
	Hint      string    // the prefix and the last characters, to recognize the key
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// CreatedAt returns when the key was created.
func (k Key) CreatedAt() time.Time { return k.ID.Time() }

// ValidAt reports whether the key is not revoked, and not expired at the time now. A revoked key is never valid: the
// clock of the machine that revoked it may be ahead.
func (k Key) ValidAt(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Mode returns the key's mode, from its hint; ModeUnknown for a key without a hint.
func (k Key) Mode() Mode { return ModeOfKey(k.Hint) }

// KeyHash is the SHA-256 of a whole key. A key has 256 random bits, so it needs no slow
// password hash.
type KeyHash [sha256.Size]byte

// HashKey returns the hash of a key as presented.
func HashKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// Equal compares two hashes in constant time.
func (h KeyHash) Equal(other KeyHash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// An API key is a prefix, a secret of 43 characters and a checksum of 6 characters. The form
// is fixed, so that scanners for leaked secrets find it: sr_(test|live)_[0-9A-Za-z]{49}.
const (
	TestKeyPrefix = "sr_test_" // TestKeyPrefix starts a key for a paper account.
	LiveKeyPrefix = "sr_live_" // LiveKeyPrefix starts a key for any other account.

	secretBytes    = 32
	secretChars    = 43 // 62^43 > 2^256
	checksumChars  = 6  // 62^6 > 2^32
	keyHintChars   = 4
	base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewKeySecret returns a new API key with the prefix. It fails only if random fails.
func NewKeySecret(prefix string, random io.Reader) (string, error) {
	var secret [secretBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", err
	}
	body := prefix + base62(new(big.Int).SetBytes(secret[:]), secretChars)
	return body + keyChecksum(body), nil
}

// KeyHint returns the part of a key that lists show.
func KeyHint(prefix, key string) string {
	return prefix + "…" + key[len(key)-keyHintChars:]
}

// WellFormedKey reports whether the string has a key's form and checksum, so that most
// invalid keys are refused without a query.
func WellFormedKey(key string) bool {
	if !strings.HasPrefix(key, TestKeyPrefix) && !strings.HasPrefix(key, LiveKeyPrefix) {
		return false
	}
	if len(key) != len(TestKeyPrefix)+secretChars+checksumChars {
		return false
	}
	body := key[:len(key)-checksumChars]
	return subtle.ConstantTimeCompare([]byte(keyChecksum(body)), []byte(key[len(body):])) == 1
}

func keyChecksum(body string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), checksumChars)
}

func base62(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(int64(len(base62Alphabet))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62Alphabet[digit.Int64()]
	}
	return string(out)
}
