package rewards

import (
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint identifies what was asked for, so that a second request with the
// same key can be told to be the same or another. Its first byte is the version
// of the computation.
type Fingerprint [1 + sha256.Size]byte

// The versions of a fingerprint. The first one is of rewards that were recorded by
// older programs; the second one covers the app and the idempotency key too, so that
// the audit notices when one of them was changed.
const (
	fingerprintOfRequest = 1
	fingerprintWithKey   = 2
)

// NewFingerprint computes the fingerprint of a request. The canonical metadata is
// the same for all spellings of the same content and "" for none and for {}.
func NewFingerprint(r NewReward, canonicalMetadata string) Fingerprint {
	b := make([]byte, 0, 128+len(r.IdempotencyKey)+len(r.Symbol)+len(r.Source)+len(canonicalMetadata))
	b = append(b, r.AppID[:]...)
	b = appendText(b, r.IdempotencyKey)
	return fingerprint(fingerprintWithKey, appendRequest(b, r, canonicalMetadata))
}

// FingerprintV1 is the fingerprint of the first version. Processes of older programs
// compare it while a fleet is upgraded.
func (r NewReward) FingerprintV1() Fingerprint {
	return fingerprint(fingerprintOfRequest, appendRequest(nil, r, r.Canonical))
}

// Asks tells whether the request asks for what was recorded with a fingerprint of any
// version.
func (r NewReward) Matches(recorded Fingerprint) bool {
	if recorded[0] == fingerprintOfRequest {
		return recorded == r.FingerprintV1()
	}
	return recorded == r.Fingerprint
}

func appendRequest(b []byte, r NewReward, canonicalMetadata string) []byte {
	b = append(b, r.UserID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Amount))
	for _, text := range []string{r.Symbol, r.Source, canonicalMetadata} {
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

// UserSeal proves that what identifies a user is what was recorded: a version, and the
// first bytes of a hash over the ids, the email and the external id.
type UserSeal [1 + userSealBytes]byte

const (
	userSealVersion = 1
	userSealBytes   = 16
)

// Seal computes the user's seal.
func (u User) Seal() UserSeal {
	b := make([]byte, 0, 64+len(u.Email)+len(u.ExternalID))
	b = append(append(b, u.AppID[:]...), u.ID[:]...)
	sum := sha256.Sum256(appendText(appendText(b, u.Email), u.ExternalID))
	seal := UserSeal{userSealVersion}
	copy(seal[1:], sum[:userSealBytes])
	return seal
}
