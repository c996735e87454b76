package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written returns what the version of gqlgen in go.mod writes for our schema. Nothing is written into the tree: the models are there, and
// the executor and the plans go elsewhere.
func written(t *testing.T) (text string, f facts, p *plans) {
	t.Helper()
	t.Chdir("../..")
	cfg, err := config.LoadConfigFromDefaultLocations()
	require.NoError(t, err)
	cfg.Exec.Filename = filepath.Join(t.TempDir(), "graph", "exec.go")
	cfg.Model = config.PackageConfig{}
	cfg.SkipValidation, cfg.SkipModTidy = true, true // elsewhere, it belongs to no module
	p = &plans{}
	require.NoError(t, api.Generate(cfg, api.AddPlugin(p)))
	code, err := os.ReadFile(cfg.Exec.Filename)
	require.NoError(t, err)
	f, err = factsOf(cfg.Schema)
	require.NoError(t, err)
	planned, err := os.ReadFile(filepath.Join(filepath.Dir(cfg.Exec.Filename), "plans.go"))
	require.NoError(t, err)
	current, err := os.ReadFile("graph/plans.go")
	require.NoError(t, err)
	assert.True(t, string(planned) == string(current), "graph/plans.go is not current: run go generate")
	return string(code), f, p
}

const (
	listOfNotes    = "marshalNNote2ᚕgithubᚗcomᚋtaggieᚋtaggieᚋinternalᚋnoteᚐNoteᚄ"
	listOfEntities = "marshalNEntity2ᚕgithubᚗcomᚋtaggieᚋtaggieᚋinternalᚋentityᚐEntityᚄ"
)

// aboutNotes takes most functions and types out of the executor, and of its schema: those that are left have each pattern, of what stands for
// each object, list or scalar two, so that one can fit and another one not.
func aboutNotes(text string, ready []string) (string, []string, *plans) {
	kept := regexp.MustCompile(`^type executionContext|^func \([^)]*\) (Exec|_Note|_User|(fieldContext)?_Note_(title|content)|` + listOfNotes + `|` + listOfEntities + `)\(`)
	text = regexp.MustCompile(`(?ms)^(func|type) .*?^}\n`).ReplaceAllStringFunc(text, func(part string) string {
		if kept.MatchString(part) {
			return part
		}
		return ""
	})
	ready = slices.DeleteFunc(slices.Clone(ready), func(field string) bool { return !strings.HasPrefix(field, "Note.") })
	return text, ready, &plans{objects: map[string]bool{"Note": true, "User": true}, lists: map[string]string{listOfNotes: "Note", listOfEntities: "Entity"}}
}

func TestEachRewritingFitsWhatGqlgenWrites(t *testing.T) {
	text, f, p := written(t)
	ready := f.ready
	code, err := rewrite(text, ready, p)
	require.NoError(t, err)
	current, err := os.ReadFile("graph/exec.go")
	require.NoError(t, err)
	schema := regexp.MustCompile(`Name: "[^"]*schema\.graphqls"`) // from where the executor is
	assert.True(t, schema.ReplaceAllString(string(code), "") == schema.ReplaceAllString(string(current), ""), "graph/exec.go is not current: run go generate")

	told, err := f.code()
	require.NoError(t, err)
	facts, err := os.ReadFile("graph/facts.go")
	require.NoError(t, err)
	assert.Equal(t, string(told), string(facts), "graph/facts.go is not current: run go generate")

	t.Run("or fails with its name", func(t *testing.T) {
		text, ready, p := aboutNotes(text, ready)
		_, err := rewrite(text, ready, p)
		require.NoError(t, err)
		for name, change := range map[string][2]string{
			"objects (deferredFieldSet := ":       {deferredSet, "deferredFieldSet := graphql.NewFieldSet(fields[:0])"},
			"objects (deferLabelToView := ":       {deferredViews, "deferLabelToView := map[string]*graphql.FieldSetView{}"},
			"objects (ec.ProcessDeferredGroup":    {"\treturn out\n}", "\tvar all graphql.Marshaler = out\n\treturn all\n}"},
			"objects (deferredFieldSet.AddField(": {deferredField, "deferredFieldSet.Add(field)"},
			"objects (out.Values[i] = ":           {deferredValue + "\n\t\t\t\tcontinue", "out.Values[i] = graphql.RequiredNull\n\t\t\t\tcontinue"},
			"objects (out.Concurrently(":          {delayed, "out.Run(i, func(ctx context.Context) graphql.Marshaler { return innerFunc(ctx, out) })"},
			"planned objects":                     {") _Note(ctx context.Context, sel ast.SelectionSet, obj", ") _Note(ctx context.Context, sel ast.SelectionSet, deep bool, obj"},
			"planned lists":                       {listOfNotes + "(ctx context.Context, sel ast.SelectionSet, v", "marshalNotes(ctx context.Context, sel ast.SelectionSet, v"},
			"the state of plans":                  {"type executionContext struct", "type execution struct"},
			"scalars (_Note_title)":               {"_Note_title(ctx context.Context, field graphql.CollectedField, obj *note.Note) (ret graphql.Marshaler) {\n", "_Note_title(ctx context.Context, field graphql.CollectedField, obj *note.Note) (ret graphql.Marshaler) {\n\tec.Count()\n"},
			"slices":                              {"graphql.MarshalSliceConcurrently(ctx, len(v), 0, false, ", "graphql.MarshalSliceConcurrently(ctx, len(v), 1, false, "},
			"deferred results":                    {"result := <-ec.DeferredResults", "result, _ := <-ec.DeferredResults"},
			"messages of subscriptions":           {"Data: buf.Bytes(),\n\t\t\t}\n\t\t}\n\n\tdefault:", "Data: slices.Clone(buf.Bytes()),\n\t\t\t}\n\t\t}\n\n\tdefault:"},
			"the schema":                          {"gqlparser.MustLoadSchema(sources...)", "gqlparser.MustLoadSchema(sources[0])"},
			"imports":                             {"\t\"github.com/99designs/gqlgen/graphql\"\n", "\tgraphql \"github.com/99designs/gqlgen/v2/graphql\"\n"},
		} {
			changed := strings.Replace(text, change[0], change[1], 1)
			require.NotEqual(t, text, changed, "%s: nothing to change", name)
			_, err = rewrite(changed, ready, p)
			assert.ErrorContains(t, err, "the rewriting of "+name)
		}
		_, err = rewrite(text, append(slices.Clone(ready), "Note.nothing"), p)
		assert.ErrorContains(t, err, "ready fields (Note.nothing)")
		_, err = rewrite(text, ready[1:], p)
		assert.NoError(t, err, "one more that waits")
	})
}
