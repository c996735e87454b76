package document

import (
	"errors"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/refusal"
)

// unparsed says better than the parser why a document cannot be parsed: that it has too many tokens, or at which character, when that is none of
// ASCII and the parser would quote one byte of it. It returns nil for any other error.
func unparsed(text string, err error) *gqlerror.Error {
	given, ok := errors.AsType[*gqlerror.Error](err)
	if !ok || len(given.Locations) != 1 {
		return nil
	}
	if strings.HasPrefix(given.Message, "exceeded token limit") {
		refused := refusal.Of(model.ErrorCodeGraphqlParseFailed, "the document exceeds the token limit of %d: ask for less in one request", MaxTokens)
		refused.Locations = given.Locations
		return refused
	}
	at := given.Locations[0]
	line := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for range at.Line - 1 {
		_, line, _ = strings.Cut(line, "\n")
	}
	column := 0
	for _, character := range line {
		if column++; column < at.Column {
			continue
		}
		if character < 0x80 {
			return nil
		}
		refused := refusal.Of(model.ErrorCodeGraphqlParseFailed,
			"the character %q (%U) in line %d, column %d: names in GraphQL have the letters A to Z and a to z, digits and _ only; other characters stand in strings and comments",
			character, character, at.Line, at.Column)
		refused.Locations = given.Locations
		return refused
	}
	return nil
}
