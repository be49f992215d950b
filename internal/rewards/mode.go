package rewards

import "strings"

// Mode says whose money is at stake: that of a paper account or real dollars. Keys
// and the brokerage's account both have one.
type Mode string

// The modes.
const (
	ModeUnknown Mode = ""     // ModeUnknown: the books have not met their brokerage's account.
	ModeTest    Mode = "test" // ModeTest: a paper account, or a key that starts with TestKeyPrefix.
	ModeLive    Mode = "live" // ModeLive: any other account, or a key that starts with LiveKeyPrefix.
)

// EmbeddedBroker is the kind of broker whose accounts are always paper accounts.
const EmbeddedBroker = "paper"

// paperAccountPrefix starts the number of every paper account, at Alpaca and at our
// paper brokerage.
const paperAccountPrefix = "PA"

// ModeOfAccount is the mode of a brokerage's account, from the kind of broker and the
// account's number. Without a number it is unknown, except over the embedded broker.
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

// ModeOfKey is the mode of a key, from the key itself or its hint; unknown when it
// starts with neither prefix.
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

// KeyPrefix is how new keys of the mode start.
func (m Mode) KeyPrefix() string {
	if m == ModeLive {
		return LiveKeyPrefix
	}
	return TestKeyPrefix
}

// Accepts tells whether an account of this mode takes orders for a key of the other. A
// test key must never spend real dollars. A live key spends paper money: keys made
// before accounts had modes go on working.
func (m Mode) Accepts(key Mode) bool { return m != ModeLive || key != ModeTest }
