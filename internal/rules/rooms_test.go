package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/taggie/taggie"

// rooms says what each room may import of the others. Data flows one way: app → httpapi → resolvers → loaders and
// domain services → interfaces ← dynamo, blob, edge. An edge that is not here fails the test; adding one is a decision.
var rooms = map[string][]string{
	"":             {"internal/cli"},
	"internal/cli": {"dynamo", "dynamo/entities", "dynamo/filetags", "dynamo/labelling", "dynamo/projects", "dynamo/scores", "dynamo/users", "internal/app", "internal/config", "internal/demo", "internal/embedded/backup", "internal/fault", "internal/filetag", "internal/gid", "internal/labelling", "internal/project", "internal/queue", "internal/score", "internal/user"},
	"internal/app": {"*"}, // it wires all rooms

	"console":   {},
	"graph":     {"graph/model", "internal/archive", "internal/domain", "internal/entity", "internal/event", "internal/filetag", "internal/follow", "internal/gid", "internal/labelling", "internal/lean", "internal/note", "internal/page", "internal/project", "internal/scalar", "internal/score", "internal/tag", "internal/user", "internal/viewer"},
	"loaders":   {"internal/archive", "internal/entity", "internal/fault", "internal/filetag", "internal/labelling", "internal/note", "internal/page", "internal/project", "internal/score", "internal/tag", "internal/user"},
	"resolvers": {"graph", "graph/model", "internal/archive", "internal/entity", "internal/event", "internal/fault", "internal/filetag", "internal/follow", "internal/gid", "internal/labelling", "internal/note", "internal/page", "internal/project", "internal/scalar", "internal/score", "internal/tag", "internal/task", "internal/user", "internal/viewer", "loaders"},

	"graph/model": {"internal/archive", "internal/entity", "internal/event", "internal/filetag", "internal/follow", "internal/gid", "internal/labelling", "internal/note", "internal/page", "internal/project", "internal/score", "internal/tag", "internal/user"},

	"dynamo":            {"dynamo/keys", "internal/fault", "internal/idempotency", "internal/limit", "internal/memory", "internal/page", "internal/retry", "internal/task"},
	"dynamo/keys":       {},
	"dynamo/users":      {"dynamo", "dynamo/keys", "internal/domain", "internal/fault", "internal/idempotency", "internal/page", "internal/task", "internal/user"},
	"dynamo/notes":      {"dynamo", "dynamo/keys", "dynamo/outbox", "dynamo/users", "internal/event", "internal/fault", "internal/idempotency", "internal/note", "internal/page", "internal/tag", "internal/user"},
	"dynamo/entities":   {"dynamo", "dynamo/keys", "dynamo/users", "internal/domain", "internal/entity", "internal/fault", "internal/idempotency", "internal/page", "internal/retry", "internal/task"},
	"dynamo/outbox":     {"dynamo", "dynamo/keys", "internal/event", "internal/viewer"},
	"dynamo/uses":       {"dynamo", "dynamo/keys", "internal/idempotency", "internal/project", "internal/score"},
	"dynamo/projects":   {"dynamo", "dynamo/entities", "dynamo/keys", "dynamo/users", "dynamo/uses", "internal/entity", "internal/fault", "internal/idempotency", "internal/page", "internal/project", "internal/score", "internal/task", "internal/user"},
	"dynamo/labelling":  {"dynamo", "dynamo/entities", "dynamo/keys", "dynamo/projects", "internal/entity", "internal/fault", "internal/idempotency", "internal/labelling", "internal/project", "internal/user"},
	"dynamo/scores":     {"dynamo", "dynamo/entities", "dynamo/keys", "dynamo/outbox", "dynamo/projects", "dynamo/uses", "internal/event", "internal/fault", "internal/idempotency", "internal/page", "internal/project", "internal/retry", "internal/score", "internal/task"},
	"dynamo/filetags":   {"dynamo", "dynamo/entities", "dynamo/keys", "dynamo/projects", "dynamo/scores", "dynamo/uses", "internal/filetag", "internal/idempotency", "internal/page", "internal/project", "internal/retry", "internal/score", "internal/tag", "internal/task"},
	"dynamo/archives":   {"dynamo", "dynamo/keys", "dynamo/users", "internal/archive", "internal/fault", "internal/idempotency", "internal/page", "internal/task"},
	"dynamo/dynamotest": {"*"},

	// The domain. Notes carry tags and projects names that are compared like tags, so both know what a word is; otherwise
	// domains share ids only.
	"internal/archive":          {"internal/domain", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/task", "internal/viewer"},
	"internal/archive/contents": {"internal/archive", "internal/entity", "internal/fault", "internal/filetag", "internal/gid", "internal/note", "internal/page", "internal/project", "internal/score", "internal/tag", "internal/user"},       // what is a user's, of all domains
	"internal/filetag":          {"internal/domain", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/project", "internal/retry", "internal/score", "internal/tag", "internal/task", "internal/viewer"}, // tags are on the items of scores, and found in projects
	"internal/follow":           {"internal/domain", "internal/event", "internal/fault", "internal/limit", "internal/note", "internal/score"},                                                                                                 // what happens to notes and scores, told
	"internal/entity":           {"internal/domain", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/retry", "internal/task", "internal/viewer"},
	"internal/labelling":        {"internal/domain", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/project", "internal/retry", "internal/tag", "internal/task", "internal/user", "internal/viewer"}, // what happens to the items of projects, told with who did it, and the task that removes them
	"internal/note":             {"internal/domain", "internal/event", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/retry", "internal/tag", "internal/viewer"},
	"internal/project":          {"internal/casefold", "internal/domain", "internal/fault", "internal/idempotency", "internal/jsontext", "internal/limit", "internal/page", "internal/retry", "internal/tag", "internal/task", "internal/viewer"},
	"internal/score":            {"internal/casefold", "internal/domain", "internal/event", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/project", "internal/retry", "internal/task", "internal/viewer"}, // into projects items are imported
	"internal/tag":              {"internal/casefold", "internal/fault", "internal/limit", "internal/viewer"},
	"internal/task":             {},
	"internal/user":             {"internal/casefold", "internal/domain", "internal/fault", "internal/idempotency", "internal/limit", "internal/page", "internal/retry", "internal/task", "internal/viewer"},
	"internal/domain":           {"internal/fault", "internal/idempotency", "internal/retry", "internal/viewer"}, // what these share
	"internal/idempotency":      {"internal/fault", "internal/limit"},

	// Shared words.
	"internal/clock":     {},
	"internal/event":     {"internal/viewer"},
	"internal/fault":     {},
	"internal/gid":       {"internal/fault", "internal/limit"},
	"internal/jsontext":  {},
	"internal/lean":      {"internal/memory"},
	"internal/casefold":  {},
	"internal/limit":     {},
	"internal/memory":    {},
	"internal/page":      {"internal/fault", "internal/limit"},
	"internal/retry":     {"internal/fault"},
	"internal/scalar":    {},
	"internal/viewer":    {"internal/casefold"},
	"internal/config":    {"internal/limit"},
	"internal/telemetry": {},

	"internal/auth":        {"internal/fault", "internal/jsontext", "internal/limit", "internal/viewer"},
	"internal/awsclient":   {},
	"internal/blob":        {"internal/fault", "internal/score"}, // whose files it keeps
	"internal/edge":        {"internal/limit", "internal/telemetry"},
	"internal/jobs":        {"internal/task"},
	"internal/redisclient": {},
	"internal/queue":       {"internal/event", "internal/fault", "internal/follow", "internal/labelling", "internal/note", "internal/project", "internal/telemetry"},
	"internal/httpapi":     {"graph/model", "internal/fault", "internal/httpapi/admission", "internal/httpapi/caller", "internal/httpapi/connection", "internal/httpapi/document", "internal/httpapi/eventstream", "internal/httpapi/execution", "internal/httpapi/present", "internal/httpapi/refusal", "internal/httpapi/request", "internal/httpapi/response", "internal/httpapi/signin", "internal/httpapi/socket", "internal/limit", "internal/telemetry", "internal/viewer", "loaders", "resolvers"},

	"internal/httpapi/admission":   {"internal/fault", "internal/httpapi/caller", "internal/httpapi/document", "internal/httpapi/present", "internal/httpapi/request", "internal/limit", "internal/memory", "internal/viewer"},
	"internal/httpapi/caller":      {"internal/viewer"},
	"internal/httpapi/connection":  {"internal/fault", "internal/httpapi/present", "internal/limit", "internal/viewer"},
	"internal/httpapi/document":    {"graph", "graph/model", "internal/fault", "internal/httpapi/refusal", "internal/jsontext", "internal/limit", "internal/viewer"},
	"internal/httpapi/eventstream": {"internal/httpapi/connection", "internal/httpapi/response", "internal/viewer"},
	"internal/httpapi/execution":   {"graph", "graph/model", "internal/fault", "internal/httpapi/admission", "internal/httpapi/caller", "internal/httpapi/document", "internal/httpapi/present", "internal/httpapi/refusal", "internal/httpapi/request", "internal/httpapi/response", "internal/httpapi/signin", "internal/lean", "internal/limit", "internal/telemetry", "internal/viewer", "loaders", "resolvers"},
	"internal/httpapi/present":     {"graph/model", "internal/fault", "internal/httpapi/refusal", "internal/limit", "internal/telemetry"},
	"internal/httpapi/refusal":     {"graph/model"},
	"internal/httpapi/request":     {"graph/model", "internal/fault", "internal/httpapi/document", "internal/httpapi/refusal", "internal/jsontext", "internal/limit"},
	"internal/httpapi/response":    {"internal/httpapi/refusal"},
	"internal/httpapi/signin":      {"internal/fault", "internal/httpapi/present", "internal/telemetry", "internal/viewer"},
	"internal/httpapi/socket":      {"graph/model", "internal/fault", "internal/httpapi/admission", "internal/httpapi/connection", "internal/httpapi/execution", "internal/httpapi/present", "internal/httpapi/refusal", "internal/httpapi/request", "internal/httpapi/response", "internal/httpapi/signin", "internal/jsontext", "internal/limit", "internal/telemetry", "internal/viewer"},

	"internal/embedded":              {"internal/embedded/child"},
	"internal/embedded/backup":       {"internal/embedded", "internal/embedded/child"},
	"internal/embedded/child":        {},
	"internal/embedded/embeddedtest": {"internal/awsclient", "internal/embedded", "internal/embedded/child"},

	// Tests of the whole server, by subject, and rules about this tree.
	"internal/apitest":               {"*"},
	"internal/apitest/checks":        {"*"},
	"internal/apitest/entities":      {"*"},
	"internal/apitest/fleets":        {"*"},
	"internal/apitest/limits":        {"*"},
	"internal/apitest/archives":      {"*"},
	"internal/apitest/notes":         {"*"},
	"internal/apitest/permissions":   {"*"},
	"internal/apitest/processes":     {"*"},
	"internal/apitest/projects":      {"*"},
	"internal/apitest/queues":        {"*"},
	"internal/apitest/requests":      {"*"},
	"internal/apitest/scores":        {"*"},
	"internal/apitest/subscriptions": {"*"},
	"internal/apitest/users":         {"*"},
	"internal/rules":                 {},

	// Tools of builds, tests and demonstrations.
	"internal/campaign":    {},
	"internal/capacity":    {},
	"internal/generate":    {},
	"bench":                {"*"},
	"bench/floor":          {"*"},
	"internal/demo":        {},
	"internal/faultinject": {},
	"internal/storetest":   {"*"},

	"internal/storetest/archivetest":   {"*"},
	"internal/storetest/entitytest":    {"*"},
	"internal/storetest/filetagtest":   {"*"},
	"internal/storetest/labellingtest": {"*"},
	"internal/storetest/notetest":      {"*"},
	"internal/storetest/projecttest":   {"*"},
	"internal/storetest/scoretest":     {"*"},
	"internal/storetest/usertest":      {"*"},
}

// strangers are libraries that only the named rooms may import: what they are the adapters of.
var strangers = map[string][]string{
	"github.com/aws/":            {"internal/app", "dynamo", "dynamo/archives", "dynamo/users", "dynamo/notes", "dynamo/entities", "dynamo/projects", "dynamo/labelling", "dynamo/scores", "dynamo/filetags", "dynamo/uses", "internal/awsclient", "internal/blob", "internal/embedded/embeddedtest", "internal/faultinject", "internal/storetest", "internal/telemetry", "bench"},
	"github.com/redis/go-redis":  {"internal/app", "internal/cli", "internal/edge", "internal/embedded/embeddedtest", "internal/queue", "internal/redisclient", "internal/telemetry"},
	"github.com/99designs":       {"graph", "graph/model", "resolvers", "internal/generate", "internal/httpapi", "internal/httpapi/admission", "internal/httpapi/document", "internal/httpapi/eventstream", "internal/httpapi/execution", "internal/httpapi/present", "internal/httpapi/request", "internal/httpapi/response", "internal/httpapi/socket", "internal/lean", "internal/scalar"},
	"github.com/vektah":          {"graph", "internal/generate", "internal/httpapi", "internal/httpapi/admission", "internal/httpapi/document", "internal/httpapi/execution", "internal/httpapi/present", "internal/httpapi/refusal", "internal/httpapi/request", "internal/httpapi/socket", "internal/lean", "resolvers"},
	"github.com/vikstrous":       {"loaders"},
	"github.com/golang-jwt":      {"internal/auth", "internal/config"},
	"github.com/prometheus":      {"internal/telemetry"},
	"go.opentelemetry.io":        {"internal/telemetry"},
	"github.com/alecthomas/kong": {"internal/cli"},
	"github.com/gabriel-vasile":  {"internal/score"},
	"github.com/ncruces":         {"internal/embedded/backup"},
	"golang.org/x/image":         {"internal/score", "internal/demo"},
	"net/http":                   {"internal/app", "console", "dynamo", "internal/auth", "internal/awsclient", "internal/capacity", "internal/clock", "internal/demo", "internal/embedded", "internal/embedded/embeddedtest", "internal/faultinject", "internal/httpapi", "internal/httpapi/caller", "internal/httpapi/eventstream", "internal/httpapi/request", "internal/httpapi/socket", "internal/telemetry", "bench"},
}

type listed struct {
	ImportPath string
	Doc        string
	Name       string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Name,Imports", "./...").Output()
	require.NoError(t, err)
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func room(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		name := room(p.ImportPath)
		may, known := rooms[name]
		if !assert.True(t, known, "room %q is not in the table", name) {
			continue
		}
		for _, path := range p.Imports {
			if !strings.HasPrefix(path, module) {
				continue
			}
			assert.True(t, slices.Contains(may, "*") || slices.Contains(may, room(path)), "%s may not import %s", name, room(path))
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(rooms[room(p.ImportPath)], "*") && room(p.ImportPath) != "internal/app" {
			continue // benchmarks and conformance suites compare engines and libraries
		}
		for _, path := range p.Imports {
			for library, may := range strangers {
				if path == library || strings.HasPrefix(path, strings.TrimSuffix(library, "/")+"/") {
					assert.Contains(t, may, room(p.ImportPath), "%s may not import %s", room(p.ImportPath), path)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItKnows(t *testing.T) {
	for _, p := range packages(t) {
		name := room(p.ImportPath)
		if name == "graph" {
			continue // written by gqlgen
		}
		assert.NotEmpty(t, p.Doc, "package %q has no comment", name)
	}
}

func TestTheRootOnlyStartsTheServer(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	assert.Equal(t, []string{"server.go", "tools.go"}, files)
}
