// Package present turns errors into those that clients see.
//
// It knows which kind of fault has which `extensions.code`, and where gqlgen says that an error belongs. It must not know HTTP or transports.
// Start reading at [Error], through which every error of an answer goes.
package present

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/telemetry"
)

const (
	// Internal is all that clients are told of an error of ours.
	Internal = "the server made a mistake"
	// Late is what they are told when the time was up.
	Late = "not answered in time"
	// Revoked is why a token is refused that was valid once.
	Revoked = "the token was revoked"
	// MaxMessage bounds messages. Those of the parser and validator quote the client's own text, which may be as long as the request.
	MaxMessage = 500
)

// codes says what a kind of fault is called in the contract.
var codes = map[fault.Kind]model.ErrorCode{
	fault.Internal:        model.ErrorCodeInternal,
	fault.Invalid:         model.ErrorCodeInvalidInput,
	fault.NotFound:        model.ErrorCodeNotFound,
	fault.Forbidden:       model.ErrorCodeForbidden,
	fault.Unauthenticated: model.ErrorCodeUnauthenticated,
	fault.Conflict:        model.ErrorCodeConflict,
	fault.Unavailable:     model.ErrorCodeUnavailable,
	fault.Exhausted:       model.ErrorCodeExhausted,
	fault.Outdated:        model.ErrorCodeServerOutdated,
}

// Error turns any error into the one that the client sees. What is for logs only stays in its Err, which is never
// written; nothing else may put an error into an answer.
func Error(ctx context.Context, err error) *gqlerror.Error {
	shown := &gqlerror.Error{Err: &Cause{Err: bare(err), At: Coordinate(ctx)}}
	given, _ := errors.AsType[*gqlerror.Error](err)
	if given != nil {
		shown.Path, shown.Locations = given.Path, given.Locations
	} else {
		shown.Path = graphql.GetPath(ctx)
	}
	argument := splitArgument(ctx, shown)

	code, field := model.ErrorCodeInternal, argument
	known, isFault := errors.AsType[*fault.Error](err)
	switch {
	case isFault && known.Kind != fault.Internal:
		code, shown.Message = codes[known.Kind], known.Message
		if known.Field != "" {
			field = known.Field
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code, shown.Message = model.ErrorCodeUnavailable, Late
	case isFault:
		shown.Message = Internal
	case given != nil && refusal.CodeOf(given) != "":
		code, shown.Message = refusal.CodeOf(given), given.Message
		if f, ok := splitVariable(shown); ok {
			field, shown.Message = f, "variable $"+f+": "+given.Message
		}
	case given != nil && argument != "":
		// A scalar refused a value; that it could not be read says no more than what the client sent.
		code, shown.Message = model.ErrorCodeGraphqlValidationFailed, argument+": "+given.Message
	default:
		shown.Message = Internal
	}
	shown.Message = bound(shown.Message)
	shown.Extensions = map[string]any{"code": string(code), "retryable": code == model.ErrorCodeUnavailable}
	if isFault && known.RetryAfter > 0 {
		shown.Extensions["retryable"], shown.Extensions["retryAfter"] = true, Seconds(known.RetryAfter)
	}
	if code == model.ErrorCodeUserDeleted && given != nil {
		shown.Extensions["undoUntil"] = given.Extensions["undoUntil"]
	}
	if field != "" {
		shown.Extensions["field"] = bound(field)
	}
	if id := telemetry.RequestID(ctx); id != "" && code == model.ErrorCodeInternal {
		shown.Extensions["requestId"] = id
	}
	return shown
}

// Seconds are whole ones, as in the header Retry-After, and no less than a duration.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Cause is what the log tells of an error.
type Cause struct {
	Err error
	At  string // the field, in the schema's words: "User.notes"
}

func (c *Cause) Error() string { return c.Err.Error() }

func (c *Cause) Unwrap() error { return c.Err }

// bare takes off what gqlgen wrapped around an error: the path, which is made of the client's aliases.
func bare(err error) error {
	for {
		wrapped, ok := errors.AsType[*gqlerror.Error](err)
		if !ok || wrapped.Err == nil {
			return err
		}
		err = wrapped.Err
	}
}

// Coordinate names the field that is being resolved, in the schema's words.
func Coordinate(ctx context.Context) string {
	if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Field.Field != nil {
		return fc.Object + "." + fc.Field.Name
	}
	return ""
}

// splitArgument recognises the error of an argument that could not be read, to whose path gqlgen appends the path within
// the arguments. It shortens the path to that of the field and returns the rest: "input.deadline".
func splitArgument(ctx context.Context, err *gqlerror.Error) string {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || fc.Args != nil || fc.Field.Field == nil || fc.Field.Definition == nil {
		return ""
	}
	field := fc.Path()
	if len(err.Path) <= len(field) || !slices.Equal(err.Path[:len(field)], field) {
		return ""
	}
	rest := err.Path[len(field):]
	name, ok := rest[0].(ast.PathName)
	if !ok || fc.Field.Definition.Arguments.ForName(string(name)) == nil {
		return ""
	}
	err.Path = field
	if at := fc.Field.Position; at != nil && err.Locations == nil {
		err.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	return dotted(rest)
}

// splitVariable recognises the error of a variable, whose path is none of the answer, and returns the variable's: "input.title".
func splitVariable(err *gqlerror.Error) (string, bool) {
	if len(err.Path) < 2 || err.Path[0] != ast.PathName("variable") {
		return "", false
	}
	rest := err.Path[1:]
	err.Path = nil
	return dotted(rest), true
}

func dotted(path ast.Path) string {
	parts := make([]string, len(path))
	for i, part := range path {
		switch part := part.(type) {
		case ast.PathName:
			parts[i] = string(part)
		case ast.PathIndex:
			parts[i] = strconv.Itoa(int(part))
		}
	}
	return strings.Join(parts, ".")
}

func bound(message string) string {
	if len(message) > MaxMessage {
		message = message[:MaxMessage] + "…"
	}
	// Cutting may have split a character, and what is quoted may never have been one.
	if !utf8.ValidString(message) {
		message = strings.ToValidUTF8(message, "")
	}
	return message
}
