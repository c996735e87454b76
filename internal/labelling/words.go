package labelling

import (
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/tag"
)

// Fold returns the form by which keywords are found from their beginnings, whatever their case and width.
func Fold(keyword string) string { return tag.Fold(keyword) }

// MaxCommentRunes bounds the comment of a review.
const MaxCommentRunes = 2_000

func parseComment(field, text string) (string, error) {
	text, err := project.ParseText(field, "a comment", text)
	if err == nil && utf8.RuneCountInString(text) > MaxCommentRunes {
		return "", fault.Invalidf(field, "a comment has at most %d characters", MaxCommentRunes)
	}
	return text, err
}
