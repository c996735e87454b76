// Package tag says what a tag is: a word of a user.
//
// It knows how a word is compared, shown and bounded. It must not know where
// words are kept nor what carries them. Start reading at [Parse].
package tag

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/taggie/taggie/internal/casefold"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

// MaxBytes bounds the folded form of a tag after its separators are escaped. The sort key of a tag row also holds the
// id of a note, and DynamoDB allows 1,024 bytes for a sort key.
const MaxBytes = 200

// Word is a tag as it was typed together with what it is compared by.
type Word struct {
	Value string // as typed, without surrounding white space
	Key   string // after NFKC normalisation and case folding: equal keys are equal tags
}

// ID identifies a tag: the word of one author.
type ID struct {
	Author viewer.UserID
	Key    string
}

// Tag is a user's word as the graph shows it.
type Tag struct {
	Author viewer.UserID
	Word
}

// ID returns what identifies the tag.
func (t Tag) ID() ID { return ID{Author: t.Author, Key: t.Key} }

// Fold returns the form by which tags are compared: NFKC, case folded, NFKC again, since folding can denormalise, and
// trimmed last, since normalising can make spaces.
func Fold(value string) string {
	if folded(value) {
		return strings.TrimSpace(value)
	}
	return strings.TrimSpace(norm.NFKC.String(casefold.String(norm.NFKC.String(value))))
}

// Parse checks a tag as typed. It returns an Invalid fault that names field when the value is empty, not UTF-8, holds
// control characters, or is longer than [MaxBytes] when escaped.
func Parse(field, value string) (Word, error) {
	switch {
	case !utf8.ValidString(value):
		return Word{}, fault.Invalidf(field, "a tag must be valid UTF-8")
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Noncharacter_Code_Point) }):
		return Word{}, fault.Invalidf(field, "a tag may not contain control characters or code points that are no characters")
	}
	word := Word{Value: strings.TrimSpace(value), Key: Fold(value)}
	if word.Key == "" {
		return Word{}, fault.Invalidf(field, "a tag may not be empty")
	}
	// NFKC can expand a character up to eighteenfold, so the shown and the compared form are bounded both.
	if escapedLen(word.Key) > MaxBytes || len(word.Value) > MaxBytes {
		return Word{}, fault.Invalidf(field, "a tag may have at most %d bytes; #, : and %% count three each", MaxBytes)
	}
	return word, nil
}

// escapedLen counts the bytes of s when each separator of a key becomes three (see dynamo/keys).
func escapedLen(s string) int {
	return len(s) + 2*(strings.Count(s, "#")+strings.Count(s, ":")+strings.Count(s, "%"))
}

// folded reports whether s is ASCII without capitals, which folding leaves as it is.
func folded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
