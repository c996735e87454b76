package labelling

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/tag"
)

// MaxCommentRunes bounds the comment of a review.
const MaxCommentRunes = 2_000

// parseKeywords returns the keywords in NFKC, each once whatever its case, as it was typed first.
func parseKeywords(field string, values []string) ([]string, error) {
	var keywords []string
	seen := map[string]bool{}
	for _, value := range values {
		word := strings.TrimSpace(norm.NFKC.String(value))
		switch {
		case word == "":
			return nil, fault.Invalidf(field, "a keyword may not be empty")
		case !utf8.ValidString(word):
			return nil, fault.Invalidf(field, "a keyword must be valid UTF-8")
		case strings.ContainsFunc(word, unicode.IsControl):
			return nil, fault.Invalidf(field, "a keyword may not contain control characters")
		case utf8.RuneCountInString(word) > project.MaxKeywordRunes:
			return nil, fault.Invalidf(field, "a keyword has at most %d characters", project.MaxKeywordRunes)
		}
		key := tag.Fold(word)
		if seen[key] {
			continue
		}
		if len(keywords) == project.MaxKeywords {
			return nil, fault.Invalidf(field, "give at most %d keywords", project.MaxKeywords)
		}
		seen[key] = true
		keywords = append(keywords, word)
	}
	return keywords, nil
}

func parseComment(field, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text):
		return "", fault.Invalidf(field, "a comment must be valid UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }):
		return "", fault.Invalidf(field, "a comment may not contain control characters other than line breaks and tabs")
	case utf8.RuneCountInString(text) > MaxCommentRunes:
		return "", fault.Invalidf(field, "a comment has at most %d characters", MaxCommentRunes)
	}
	return text, nil
}
