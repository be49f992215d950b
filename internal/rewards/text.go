package rewards

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes a string safe to print to a terminal. It escapes control characters,
// direction marks and invalid UTF-8 as Go does: `\x1b`, `\u202e`.
func Printable(text string) string {
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

// badByte reports whether a string begins with a byte that is not UTF-8.
func badByte(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	return size == 1
}

// Excerpt returns the first maxBytes bytes of a string, cut before a character that does not
// fit, with a space for each character that cannot be printed.
func Excerpt(text string, maxBytes int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	cut := min(len(text), maxBytes)
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
