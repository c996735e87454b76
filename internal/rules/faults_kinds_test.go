package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hopeful is what a sentence says when the same request may succeed later.
var hopeful = regexp.MustCompile(`\b(again and again|(try|ask|come) again|in a moment|at the moment|cannot be .* now)\b`)

// next is what a sentence about a limit ends with.
var next = regexp.MustCompile(`[:;] [a-z]`)

// TestConflictsAreNotWorthAnotherTry reads all faults of the program: what may succeed when it is asked again is UNAVAILABLE, which clients
// ask again by themselves; what is CONFLICT fails again until the caller has looked at what there is. What is EXHAUSTED says what to do next.
func TestConflictsAreNotWorthAnotherTry(t *testing.T) {
	t.Parallel()
	files, seen := token.NewFileSet(), map[string]int{}
	look := func(path string) {
		parsed, err := parser.ParseFile(files, path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			kind, sentence := faultMade(n)
			if kind != "" {
				seen[kind]++
			}
			switch {
			case kind == "Conflict":
				assert.NotRegexp(t, hopeful, sentence, "%s: the kind is Unavailable, see retry.Busy", files.Position(n.Pos()))
			case kind == "Exhausted" && sentence == "":
			case kind == "Exhausted", limits(n, &sentence):
				assert.Regexp(t, next, sentence, "%s: say what to do next", files.Position(n.Pos()))
				seen["limit"]++
			}
			return true
		})
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "graph" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			look(path)
		}
		return nil
	}))
	assert.Greater(t, seen["Conflict"], 15, "they are found")
	assert.Greater(t, seen["Unavailable"], 30)
	assert.Greater(t, seen["limit"], 25)
}

// limits reports whether a limit is told here by other means than a fault that is made in place, and with which sentence.
func limits(n ast.Node, sentence *string) bool {
	var parts []ast.Expr
	told := false
	switch n := n.(type) {
	case *ast.KeyValueExpr: // what an allowance says
		key, named := n.Key.(*ast.Ident)
		told, parts = named && key.Name == "says", []ast.Expr{n.Value}
	case *ast.CallExpr:
		parts = n.Args
		called, named := n.Fun.(*ast.Ident)
		told = named && called.Name == "overdrawn"
		for _, part := range parts {
			if code, ok := part.(*ast.SelectorExpr); ok && code.Sel.Name == "ErrorCodeExhausted" {
				told = true
			}
		}
	}
	*sentence = ""
	for _, part := range parts {
		if text, ok := part.(*ast.BasicLit); ok && text.Kind == token.STRING {
			*sentence += text.Value
		}
	}
	return told && *sentence != ""
}

// faultMade returns the kind of a fault that is made here, and what it says; "" when none is.
func faultMade(n ast.Node) (kind, sentence string) {
	var parts []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if called, ok := n.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "New" && called.Sel.Name != "Wrap" {
			return "", ""
		}
		parts = n.Args
	case *ast.CompositeLit:
		for _, part := range n.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				parts = append(parts, pair.Value)
			}
		}
	}
	for _, part := range parts {
		switch part := part.(type) {
		case *ast.SelectorExpr:
			if room, ok := part.X.(*ast.Ident); ok && room.Name == "fault" {
				kind = part.Sel.Name
			}
		case *ast.BasicLit:
			sentence += part.Value
		}
	}
	return kind, sentence
}
