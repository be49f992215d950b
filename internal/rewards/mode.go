package rewards

import "strings"

// Mode is whether real dollars are at stake. API keys and the broker's account each have a
// mode.
type Mode string

// The modes.
const (
	ModeUnknown Mode = ""     // ModeUnknown means that the broker's account is not known yet.
	ModeTest    Mode = "test" // ModeTest is a paper account, or a key with TestKeyPrefix.
	ModeLive    Mode = "live" // ModeLive is any other account, or a key with LiveKeyPrefix.
)

// EmbeddedBroker is the kind of broker whose accounts are always paper accounts.
const EmbeddedBroker = "paper"

// paperAccountPrefix starts the number of every paper account, at Alpaca and at the embedded
// paper brokerage.
const paperAccountPrefix = "PA"

// ModeOfAccount returns the mode of an account from the kind of broker and the account's
// number. Without a number it is unknown, except at the embedded broker.
func ModeOfAccount(kind, number string) Mode {
	switch {
	case kind == EmbeddedBroker || strings.HasPrefix(number, paperAccountPrefix):
		return ModeTest
	case number == "":
		return ModeUnknown
	default:
		return ModeLive
	}
}

// ModeOfKey returns the mode of a key or of its hint; ModeUnknown without a known prefix.
func ModeOfKey(key string) Mode {
	switch {
	case strings.HasPrefix(key, TestKeyPrefix):
		return ModeTest
	case strings.HasPrefix(key, LiveKeyPrefix):
		return ModeLive
	default:
		return ModeUnknown
	}
}

// KeyPrefix returns the prefix of new keys of the mode.
func (m Mode) KeyPrefix() string {
	if m == ModeLive {
		return LiveKeyPrefix
	}
	return TestKeyPrefix
}

// Accepts reports whether a key may be used with an account of mode m. A test key must never
// spend real dollars. A live key may spend paper money, because keys that are older than
// modes must keep working.
func (m Mode) Accepts(key Mode) bool { return m != ModeLive || key != ModeTest }
