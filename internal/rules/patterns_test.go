package rules

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/access-patterns.md anew")

const (
	patternsFile   = "docs/access-patterns.md"
	patternsMarker = "<!-- Below this line the text is made from the comments of dynamo/ by `go test ./internal/rules -run AccessPatterns -update` -->\n"
)

// storeMethod is an exported method of a store below dynamo/ with the access pattern that its comment tells.
type storeMethod struct {
	name    string // "notes.ListNotes"
	says    string
	pattern []string // "Index: … Key: … Cost: …"
}

// noPattern names what touches no row of the domain: what makes tables, what stores are made with, and light views of them.
var noPattern = []string{
	"DB.Tables", "DB.TableNames", "DB.ApplyTables", "DB.CheckTables", "DB.Ready", "DB.OnTask", "DB.BatchGet", "DB.BatchPut", "DB.BatchDelete", "DB.CountRows", "DB.Each", "DB.Get", "DB.IndexName", "DB.Projecting",
	"DB.Query", "DB.Release", "DB.ScanAll", "DB.ScanPage", "DB.Spend", "DB.Table", "DB.Transact", "notes.Store", "notes.WithoutContent", "entities.WithoutAttributes",
	"projects.UntilSettled", "projects.WithoutMetadata", "scores.WithoutPages",
}

// stores are the types that keep things.
var stores = []string{"DB", "Tasks", "Store", "Items"}

func storeMethods(t *testing.T) []storeMethod {
	t.Helper()
	files, err := filepath.Glob("dynamo/*.go")
	require.NoError(t, err)
	below, err := filepath.Glob("dynamo/*/*.go")
	require.NoError(t, err)
	var methods []storeMethod
	for _, file := range append(files, below...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			of, ok := receiver.(*ast.Ident)
			if !ok || !slices.Contains(stores, of.Name) {
				continue
			}
			name := strings.ReplaceAll(parsed.Name.Name+"."+of.Name+"."+f.Name.Name, ".Store.", ".")
			methods = append(methods, describe(strings.TrimPrefix(name, "dynamo."), f.Doc.Text()))
		}
	}
	slices.SortFunc(methods, func(a, b storeMethod) int { return strings.Compare(a.name, b.name) })
	return methods
}

var sentences = regexp.MustCompile(`(Index|Key|Cost): `)

func describe(name, doc string) storeMethod {
	m := storeMethod{name: name}
	text, patterns := doc, ""
	if i := strings.Index(doc, "Index: "); i >= 0 {
		text, patterns = doc[:i], doc[i:]
	}
	m.says = strings.Join(strings.Fields(text), " ")
	patterns = strings.Join(strings.Fields(patterns), " ")
	for _, at := range sentences.FindAllStringIndex(patterns, -1) {
		end := len(patterns)
		if next := sentences.FindStringIndex(patterns[at[1]:]); next != nil {
			end = at[1] + next[0]
		}
		m.pattern = append(m.pattern, strings.TrimSpace(patterns[at[0]:end]))
	}
	return m
}

func TestEveryStoreMethodTellsItsAccessPattern(t *testing.T) {
	for _, m := range storeMethods(t) {
		if slices.Contains(noPattern, m.name) {
			continue
		}
		said := strings.Join(m.pattern, " ")
		for _, part := range []string{"Index: ", "Key: ", "Cost: "} {
			assert.Contains(t, said, part, "%s does not tell its access pattern", m.name)
		}
	}
}

func TestAccessPatternsAreDocumented(t *testing.T) {
	have, err := os.ReadFile(patternsFile)
	require.NoError(t, err)
	byHand, _, found := strings.Cut(string(have), patternsMarker)
	require.True(t, found, "%s has lost its marker", patternsFile)

	var made strings.Builder
	methods := storeMethods(t)
	for _, m := range methods {
		if slices.Contains(noPattern, m.name) {
			continue
		}
		fmt.Fprintf(&made, "\n### %s\n\n%s\n\n", m.name, m.says)
		for _, p := range m.pattern {
			fmt.Fprintf(&made, "- %s\n", p)
		}
	}
	want := byHand + patternsMarker + made.String()
	if *update {
		require.NoError(t, os.WriteFile(patternsFile, []byte(want), 0o644)) //nolint:gosec // a document
		have = []byte(want)
	}
	assert.Equal(t, want, string(have), "run: go test ./internal/rules -run AccessPatterns -update")

	known := map[string]bool{}
	for _, m := range methods {
		known[m.name] = true
	}
	for _, name := range regexp.MustCompile("`((?:notes|users|entities|projects|labelling|scores|filetags|DB|Tasks)\\.[A-Z][.\\w]*)`").FindAllStringSubmatch(byHand, -1) {
		assert.True(t, known[name[1]], "%s names %s, which does not exist", patternsFile, name[1])
	}
}
