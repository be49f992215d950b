package rewards

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is a text as a terminal can show it: what it would obey instead (control
// characters, marks that turn the direction of writing) is written as Go writes it,
// `\x1b` or `\u202e`. All else is as it is.
func Printable(text string) string {
	clean := true
	for i, r := range text {
		if !unicode.IsGraphic(r) || r == utf8.RuneError && badByte(text[i:]) {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && badByte(text[i:]):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
		}
	}
	return b.String()
}

// badByte tells whether a text begins with a byte that isn't UTF-8.
func badByte(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	return size == 1
}
