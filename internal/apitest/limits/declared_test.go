package limits

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/socket"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/limit"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
)

// declared are the limits of all rooms, in the order of docs/limits.md.
func declared(t *testing.T) []limit.Room {
	t.Helper()
	set, err := config.Limits()
	require.NoError(t, err)
	return []limit.Room{
		{Name: "internal/config", Limits: set}, {Name: "internal/httpapi", Limits: httpapi.Limits()}, {Name: "internal/httpapi/request", Limits: request.Limits()}, {Name: "internal/httpapi/admission", Limits: admission.Limits()}, {Name: "internal/httpapi/execution", Limits: execution.Limits()}, {Name: "internal/httpapi/connection", Limits: connection.Limits()}, {Name: "internal/httpapi/socket", Limits: socket.Limits()}, {Name: "internal/httpapi/present", Limits: present.Limits()}, {Name: "internal/httpapi/document", Limits: document.Limits()}, {Name: "internal/edge", Limits: edge.Limits()},
		{Name: "internal/auth", Limits: auth.Limits()}, {Name: "internal/gid", Limits: gid.Limits()}, {Name: "internal/page", Limits: page.Limits()},
		{Name: "internal/idempotency", Limits: idempotency.Limits()}, {Name: "internal/user", Limits: user.Limits()},
		{Name: "internal/note", Limits: note.Limits()}, {Name: "internal/follow", Limits: follow.Limits()}, {Name: "internal/tag", Limits: tag.Limits()}, {Name: "internal/entity", Limits: entity.Limits()},
		{Name: "internal/project", Limits: project.Limits()}, {Name: "internal/labelling", Limits: labelling.Limits()},
		{Name: "internal/score", Limits: score.Limits()}, {Name: "internal/filetag", Limits: filetag.Limits()}, {Name: "internal/archive", Limits: archive.Limits()}, {Name: "dynamo", Limits: dynamo.Limits()},
	}
}

var updateLimits = flag.Bool("update-limits", false, "write the table of limits in docs/limits.md anew")

func TestDocsHaveTheTableOfLimits(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- limits: `go test ./internal/apitest/limits -run TableOfLimits -update-limits` makes this table -->\n", "<!-- /limits -->"
	text, err := os.ReadFile("docs/limits.md")
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "docs/limits.md has no line %s", begin)
	table, after, found := strings.Cut(rest, end)
	require.True(t, found, "docs/limits.md has no line %s", end)
	want := limit.Table(declared(t)...)
	if *updateLimits {
		require.NoError(t, os.WriteFile("docs/limits.md", []byte(before+begin+want+end+after), 0o600))
		return
	}
	assert.Equal(t, want, table, "run: go test ./internal/apitest/limits -run TableOfLimits -update-limits")
}

// Each limit is told once, with a code that the contract has, or with what happens instead.
func TestLimitsHaveCodesOfTheContract(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("schema.graphqls")
	require.NoError(t, err)
	codes := map[string]bool{"ProjectGap": true, "NoteGap": true} // which are no problems, but what subscriptions go on with
	_, rest, _ := strings.Cut(string(schema), "\nenum ErrorCode {")
	enum, _, _ := strings.Cut(rest, "\n}")
	for _, m := range regexp.MustCompile(`(?m)^  ([A-Z_]+)$`).FindAllStringSubmatch(enum, -1) {
		codes[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^type (\w+) implements Problem`).FindAllStringSubmatch(string(schema), -1) {
		codes[m[1]] = true
	}
	variables := map[string]bool{"": true}
	for _, v := range config.Variables() {
		variables[v.Name] = true
	}
	seen := map[string]bool{}
	for _, room := range declared(t) {
		assert.NotEmpty(t, room.Limits, room.Name)
		for _, l := range room.Limits {
			name := room.Name + ": " + l.What + ", " + l.Of
			assert.False(t, seen[name], "%s: twice", name)
			seen[name] = true
			assert.True(t, l.Code == "" && l.Then != "" || codes[l.Code], "%s: what is told beyond?", name)
			assert.True(t, variables[l.Set], "%s: no setting %s", name, l.Set)
			assert.NotEmpty(t, l.Most, name)
		}
	}
}

// noLimits are constants that are called like limits, but bound nothing that a caller could have or ask for, or follow from a limit.
var noLimits = map[string]string{
	"dynamo.MaxBatchGet": "how DynamoDB is asked", "dynamo.maxSerializable": "how DynamoDB is asked", "internal/app.mostLeftovers": "of what a command prints", "dynamo.MostMisfits": "of what a command prints", "dynamo.MaxBatchWrite": "how DynamoDB is asked", "dynamo.maxPK": "ids are shorter, or there is no such thing",
	"dynamo.MaxSK": "ids are shorter, or there is no such thing", "dynamo/notes.maxCleanups": "a step of a job", "dynamo.mostFurther": "how a list is read on",
	"dynamo/projects.MaxTransaction": "how an import is cut", "dynamo.maxPrepared": "how a change is cut", "dynamo/labelling.maxEffort": "how much is read at a time",
	"dynamo.maxDigits": "as internal/entity has it", "dynamo.maxExponent": "as internal/entity has it", "dynamo.maxDepth": "one more than internal/entity has",
	"internal/lean.maxShared": "what is beyond is written for each", "internal/lean.maxForms": "what is beyond is written for each", "dynamo.maxNesting": "of answers of DynamoDB", "dynamo.mostText": "how much is used again", "dynamo.mostNodes": "how much is used again",
	"dynamo/filetags.maxSearchRounds":            "how a page is filled",
	"internal/project.maxFoundName":              "follows from the length of names, but for a few scripts",
	"internal/score.maxFoundTitle":               "follows from the length of titles, but for a few scripts",
	"resolvers.maxTypes":                         "there are no more types of events",
	"resolvers.maxNodes":                         "as internal/page has it",
	"internal/auth.maxAge":                       "how long keys of the issuer are used",
	"internal/auth.maxAnswer":                    "of the issuer",
	"internal/auth.maxRedeeming":                 "what is beyond waits",
	"internal/httpapi.maxTokenRequest":           "what our pages send to sign in is smaller",
	"internal/follow.maxCursor":                  "follows from the owners",
	"internal/follow.maxWaiting":                 "what is beyond is told by the outbox",
	"internal/filetag.MaxShards":                 "of a setting, which says so",
	"internal/filetag.maxUses":                   "how a score is searched that shows an item",
	"internal/filetag.maxUsesOfStranger":         "how a score is searched that shows an item",
	"internal/labelling.MostEfforts":             "how a removal is cut",
	"internal/labelling.mostPages":               "how a queue is filled",
	"internal/score.maxContent":                  "follows from annotations and description",
	"internal/score.maxRendered":                 "of a thumbnail that we made",
	"internal/project.maxFileNameBytes":          "how an export is called",
	"internal/httpapi/document.maxPage":          "as internal/page has it",
	"internal/httpapi/document.maxCached":        "a cache",
	"internal/httpapi/document.MaxCachedDocSize": "a cache",
	"internal/httpapi/socket.maxQueued":          "a queue of a socket, behind which others wait",
	"internal/httpapi/socket.maxQueuedBytes":     "a queue of a socket, behind which others wait",
	"internal/lean.MaxAnswer":                    "in the table by internal/httpapi/execution",
	"internal/jobs.mostLooked":                   "how tasks are looked for; nobody meets it",
	"internal/app.maxListened":                   "connections to Redis, which whoever listens shares",
}

// A constant that is called like a limit is one that a room declares, or the list above says why it is none.
func TestConstantsOfLimitsAreDeclared(t *testing.T) {
	t.Parallel()
	likeLimit := regexp.MustCompile(`^(Max|max|Most|most)[A-Z]|^Max$`)
	found, rooms := map[string]bool{}, map[string]bool{}
	for _, room := range declared(t) {
		rooms[room.Name] = true
	}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bench", "embedded", "node_modules", "console", "e2e", "examples", "bin", "data", "graph", "demo", "faultinject", "apitest", "storetest", "generate", "awsclient", "keys"}, d.Name())) {
				return filepath.SkipDir // engines beside the server, tools, and clients of other services
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						if likeLimit.MatchString(name.Name) {
							found[room+"."+name.Name] = true
						}
					}
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(found), 100)
	used := usedInLimits(t, slices.Collect(maps.Keys(rooms)))
	for name := range found {
		assert.True(t, used[name] != (noLimits[name] != ""), "%s has to be in Limits of its room, or else in noLimits with a reason", name)
	}
	for name := range noLimits {
		assert.True(t, found[name], "there is no constant %s any more", name)
	}
}

// usedInLimits returns the constants of rooms from which their functions Limits take numbers.
func usedInLimits(t *testing.T, rooms []string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, room := range rooms {
		files, err := filepath.Glob(room + "/limits*.go")
		require.NoError(t, err)
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "Limits" {
					ast.Inspect(f.Body, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							used[room+"."+id.Name] = true
						}
						return true
					})
				}
			}
		}
	}
	return used
}
