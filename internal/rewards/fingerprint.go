package rewards

import (
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint identifies the content of a request, to distinguish a replay from a conflict.
// Its first byte is the version of the computation.
type Fingerprint [1 + sha256.Size]byte

// The versions of a fingerprint. Version 1 comes from older programs. Version 2 also covers
// the app and the idempotency key, so that the audit finds a change of either. Version 3 is the start of
// version 2; the rest is 0 and is not stored.
const (
	fingerprintOfRequest = 1
	fingerprintWithKey   = 2
	fingerprintShort     = 3
	shortBytes           = 16 // of the hash
)

// Stored returns the bytes of the fingerprint that are stored: 17, or 33 of the versions 1 and 2.
func (f *Fingerprint) Stored() []byte {
	if f[0] == fingerprintShort {
		return f[:1+shortBytes]
	}
	return f[:]
}

// NewFingerprint returns the fingerprint of a request. canonicalMetadata is NewReward's
// Canonical.
func NewFingerprint(r NewReward, canonicalMetadata string) Fingerprint {
	b := make([]byte, 0, 128+len(r.IdempotencyKey)+len(r.Symbol)+len(r.Source)+len(canonicalMetadata))
	b = append(b, r.AppID[:]...)
	b = appendText(b, r.IdempotencyKey)
	f := fingerprint(fingerprintShort, appendRequest(b, r, canonicalMetadata))
	clear(f[1+shortBytes:])
	return f
}

// FingerprintV1 returns the fingerprint of version 1, which older processes of a fleet compare
// during an upgrade.
func (r NewReward) FingerprintV1() Fingerprint {
	return fingerprint(fingerprintOfRequest, appendRequest(nil, r, r.Canonical))
}

// Matches reports whether the request has the content of a recorded fingerprint, of any version.
func (r NewReward) Matches(recorded Fingerprint) bool {
	switch recorded[0] {
	case fingerprintOfRequest:
		return recorded == r.FingerprintV1()
	case fingerprintWithKey:
		return [shortBytes]byte(recorded[1:]) == [shortBytes]byte(r.Fingerprint[1:])
	default:
		return recorded == r.Fingerprint
	}
}

func appendRequest(b []byte, r NewReward, canonicalMetadata string) []byte {
	b = append(b, r.UserID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Amount))
	for _, text := range [...]string{r.Symbol, r.Source, canonicalMetadata} {
		b = appendText(b, text)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

func fingerprint(version byte, content []byte) Fingerprint {
	sum := sha256.Sum256(content)
	f := Fingerprint{version}
	copy(f[1:], sum[:])
	return f
}

// UserSeal proves that a user's ids, email and external id did not change since they were
// recorded. It is a version and the first bytes of a hash.
type UserSeal [1 + userSealBytes]byte

const (
	userSealVersion = 1
	userSealBytes   = 16
)

// Seal returns the user's seal.
func (u User) Seal() UserSeal {
	b := make([]byte, 0, 64+len(u.Email)+len(u.ExternalID))
	b = append(append(b, u.AppID[:]...), u.ID[:]...)
	sum := sha256.Sum256(appendText(appendText(b, u.Email), u.ExternalID))
	seal := UserSeal{userSealVersion}
	copy(seal[1:], sum[:userSealBytes])
	return seal
}
