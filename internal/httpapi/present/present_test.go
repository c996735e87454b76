package present

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/telemetry"
)

// atField returns the context in which gqlgen resolves a field User.notes(due, first), its arguments read or not.
func atField(ctx context.Context, args map[string]any) context.Context {
	return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "User", Args: args, Field: graphql.CollectedField{Field: &ast.Field{
		Name: "notes", Alias: "mine", Position: &ast.Position{Line: 3, Column: 7},
		Definition: &ast.FieldDefinition{Name: "notes", Arguments: ast.ArgumentDefinitionList{{Name: "due"}, {Name: "first"}}},
	}}})
}

func path(parts ...any) ast.Path {
	var p ast.Path
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			p = append(p, ast.PathName(part))
		case int:
			p = append(p, ast.PathIndex(part))
		}
	}
	return p
}

func TestPresent(t *testing.T) {
	background := telemetry.WithRequestID(context.Background(), "r-1")
	reading, resolving := atField(background, nil), atField(background, map[string]any{})
	secret := errors.New("secret: table notes, key NOTE#1")
	mine := path("mine")

	for _, test := range []struct {
		reason  string
		ctx     context.Context
		err     error
		code    model.ErrorCode
		message string
		field   string
		path    ast.Path
	}{
		{reason: "a rule of the domain names its field", ctx: resolving, err: fault.Invalidf("input.title", "a title may not be empty"),
			code: "INVALID_INPUT", message: "a title may not be empty", field: "input.title", path: mine},
		{reason: "a fault is found under what rooms wrapped around it", ctx: resolving, err: fmt.Errorf("get note: %w", fault.New(fault.NotFound, "there is no such note")),
			code: "NOT_FOUND", message: "there is no such note", path: mine},
		{reason: "the cause of a fault is for the log", ctx: resolving, err: fault.Wrap(fault.Unavailable, secret, "the notes could not be read"),
			code: "UNAVAILABLE", message: "the notes could not be read", path: mine},
		{reason: "a store that was too slow is Unavailable, in the words of the store", ctx: resolving, err: fault.Wrap(fault.Unavailable, context.DeadlineExceeded, "the notes could not be read"),
			code: "UNAVAILABLE", message: "the notes could not be read", path: mine},
		{reason: "forbidden", ctx: resolving, err: fault.New(fault.Forbidden, "only the owner may"), code: "FORBIDDEN", message: "only the owner may", path: mine},
		{reason: "unauthenticated", ctx: resolving, err: fault.New(fault.Unauthenticated, "sign up first"), code: "UNAUTHENTICATED", message: "sign up first", path: mine},
		{reason: "a conflict is not repeated blindly", ctx: resolving, err: fault.New(fault.Conflict, "somebody was faster"), code: "CONFLICT", message: "somebody was faster", path: mine},
		{reason: "a quota does not grow by asking again", ctx: resolving, err: fault.New(fault.Exhausted, "500 tags"), code: "EXHAUSTED", message: "500 tags", path: mine},
		{reason: "what a newer server wrote is refused until somebody acts", ctx: resolving, err: fault.Wrap(fault.Outdated, secret, "upgrade this server"),
			code: "SERVER_OUTDATED", message: "upgrade this server", path: mine},
		{reason: "an internal fault keeps its sentence, too: nobody wrote it for clients", ctx: resolving, err: fault.Wrap(fault.Internal, secret, "decode note"),
			code: "INTERNAL", message: Internal, path: mine},
		{reason: "what nobody classified is a mistake of ours", ctx: resolving, err: secret, code: "INTERNAL", message: Internal, path: mine},
		{reason: "the deadline of the operation is not a mistake", ctx: resolving, err: fmt.Errorf("query: %w", context.DeadlineExceeded),
			code: "UNAVAILABLE", message: Late, path: mine},
		{reason: "one element of a list keeps its place", ctx: resolving, err: gqlerror.WrapPath(path("mine", 2), fault.New(fault.Unavailable, "not read")),
			code: "UNAVAILABLE", message: "not read", path: path("mine", 2)},
		{reason: "a scalar refused an argument: the path is the field's, the rest names the argument", ctx: reading,
			err:  gqlerror.WrapPath(path("mine", "due", "after"), errors.New(`"soon" is not an RFC 3339 date`)),
			code: "GRAPHQL_VALIDATION_FAILED", message: `due.after: "soon" is not an RFC 3339 date`, field: "due.after", path: mine},
		{reason: "a scalar refused an argument with a fault, which is as good as the domain's", ctx: reading,
			err:  gqlerror.WrapPath(path("mine", "due", 3), fault.New(fault.Invalid, "this is not an id")),
			code: "INVALID_INPUT", message: "this is not an id", field: "due.3", path: mine},
		{reason: "once the arguments are read, a path below the field is one of the answer", ctx: resolving, err: gqlerror.WrapPath(path("mine", "first"), secret),
			code: "INTERNAL", message: Internal, path: path("mine", "first")},
		{reason: "the parser may say what is wrong", ctx: background, err: withCode("GRAPHQL_PARSE_FAILED", gqlerror.ErrorPosf(&ast.Position{Src: &ast.Source{}, Line: 1, Column: 2}, "Expected Name, found }")),
			code: "GRAPHQL_PARSE_FAILED", message: "Expected Name, found }"},
		{reason: "suggestions stay: the schema is public", ctx: background, err: withCode("GRAPHQL_VALIDATION_FAILED", gqlerror.Errorf(`Cannot query field "nam". Did you mean "name"?`)),
			code: "GRAPHQL_VALIDATION_FAILED", message: `Cannot query field "nam". Did you mean "name"?`},
		{reason: "a variable is not part of the answer's path", ctx: background, err: withCode("GRAPHQL_VALIDATION_FAILED", gqlerror.ErrorPathf(path("variable", "input", "tags", 0), "cannot be null")),
			code: "GRAPHQL_VALIDATION_FAILED", message: "variable $input.tags.0: cannot be null", field: "input.tags.0"},
		{reason: "a refusal of ours", ctx: background, err: refusal.Of(model.ErrorCodeBadRequest, "the body is not JSON"), code: "BAD_REQUEST", message: "the body is not JSON"},
		{reason: "a code that the contract does not know is none", ctx: background, err: withCode("SECRET_CODE", gqlerror.Errorf("secret")), code: "INTERNAL", message: Internal},
		{reason: "quoted text is bounded, and cut between characters", ctx: background, err: refusal.Of(model.ErrorCodeBadRequest, "%s", "a"+strings.Repeat("é", 300)),
			code: "BAD_REQUEST", message: "a" + strings.Repeat("é", 249) + "…"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			shown := Error(test.ctx, test.err)
			extensions := map[string]any{"code": string(test.code), "retryable": test.code == "UNAVAILABLE"}
			if test.field != "" {
				extensions["field"] = test.field
			}
			if test.code == "INTERNAL" {
				extensions["requestId"] = "r-1"
			}
			assert.Equal(t, test.message, shown.Message)
			assert.Equal(t, extensions, shown.Extensions)
			assert.Equal(t, test.path, shown.Path)
			require.ErrorIs(t, shown, bare(test.err), "the log needs the whole error")
		})
	}
}

func TestEveryKindHasACode(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Outdated; kind++ {
		assert.True(t, codes[kind].IsValid(), kind.String())
	}
}

func withCode(code string, err *gqlerror.Error) error {
	err.Extensions = map[string]any{"code": code}
	return err
}
