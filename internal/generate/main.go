// Command generate writes graph/: it runs gqlgen, and then takes out of the executor what our lists pay for without
// needing it.
//
// It knows the form of what gqlgen writes; each rewriting fails when it finds nothing to rewrite, so that a new version of
// gqlgen is noticed. It must not know the domain, except which fields never wait. Start reading at [ready].
package main

import (
	"fmt"
	"go/format"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

// ready lists the resolvers that find their value without waiting, because a list above them has looked ahead
// (resolvers/*ahead*.go) or because they only decide. They run in place; all others run beside one another.
var ready = []string{
	"User.email",
	"Note.owner", "Note.accessList", "Note.latestVersion",
	"NoteAccessEdge.node", "NoteAccessConnection.nodes",
	"SharedNoteConnection.nodes", "TaggedNoteConnection.nodes",
	"Tag.author",
	"Entity.scope", "Entity.relations", "Entity.reverseRelations",
	"EntityRelationEdge.node", "EntityRelationConnection.nodes",
	"ScopeMemberEdge.node", "ScopeMemberConnection.nodes",
	"Category.project", "Category.items", "Subcategory.project", "Subcategory.items",
	"Team.project", "Team.members", "Team.statistics", "UserStatistics.user", "OnlineMember.user",
	"ProjectMember.user", "ProjectMember.team", "ProjectMember.efforts",
	"ProjectItem.project", "ProjectItem.url", "ProjectItem.item", "ProjectItem.category", "ProjectItem.subcategory", "ProjectItem.efforts",
	"ProjectItemEffort.project", "ProjectItemEffort.item", "ProjectItemEffort.user", "ProjectItemEffort.team",
	"ProjectItemEffort.category", "ProjectItemEffort.subcategory",
	"ProjectItem.claim", "ProjectItemClaim.user", "ProjectItemClaim.token", "ProjectItem.returnedTo", "ProjectItemEffort.review", "EffortReview.by",
	"ProjectEvent.item", "ProjectEvent.status", "ProjectEvent.user", "ProjectEvent.author", "ProjectEvent.team",
	"ProjectImport.project", "ProjectImport.message", "ProjectImport.createdBy",
	"ScorePage.item", "Annotation.text", "Item.width", "Item.height", "Item.url", "Item.thumbnailUrl", "Item.thumbnailWidth", "Item.thumbnailHeight",
	"Item.useCount", "Item.set", "ItemTag.author", "TaggedItemConnection.nodes", "TaggedItemEdge.node",
	"ProjectExport.project", "ProjectExport.status", "ProjectExport.message", "ProjectExport.createdBy", "ProjectExport.bytes",
}

const executor = "graph/exec.go"

func main() {
	cfg, err := config.LoadConfigFromDefaultLocations()
	if err == nil {
		err = api.Generate(cfg)
	}
	if err == nil {
		err = rewrite(executor)
	}
	if err != nil {
		log.Fatal("generate: ", err)
	}
}

func rewrite(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	code := string(text)
	for _, step := range []struct {
		what string
		do   func(string) (string, int)
	}{
		{"scalars", scalars}, {"objects", objects}, {"ready fields", readyFields}, {"slices", slicesOf},
		{"deferred fields", replaced("\t\t\t\t// don't run the out.Concurrently() call below\n\t\t\t\tout.Values[i] = graphql.Null\n", "\t\t\t\tout.Values[i] = lean.Deferred\n")},
		{"deferred results", replaced("\t\t\t\t\tresult := <-ec.DeferredResults\n", "\t\t\t\t\tresult, ok := lean.Next(ctx, ec.DeferredResults)\n\t\t\t\t\tif !ok {\n\t\t\t\t\t\treturn nil\n\t\t\t\t\t}\n")},
		{"buffers of subscriptions", replaced("\t\t\tdata.MarshalGQL(&buf)\n\n\t\t\treturn &graphql.Response{\n\t\t\t\tData: buf.Bytes(),\n\t\t\t}\n\t\t}\n\n\tdefault:", "\t\t\tdata.MarshalGQL(&buf)\n\n\t\t\treturn &graphql.Response{\n\t\t\t\tData: lean.Message(&buf),\n\t\t\t}\n\t\t}\n\n\tdefault:")},
		{"imports", replaced("\t\"github.com/99designs/gqlgen/graphql\"\n", "\t\"github.com/99designs/gqlgen/graphql\"\n\t\"github.com/taggie/taggie/internal/lean\"\n")},
	} {
		rewritten, n := step.do(code)
		if n == 0 {
			return fmt.Errorf("%s has no %s to rewrite: gqlgen writes something new", path, step.what)
		}
		code = rewritten
	}
	formatted, err := format.Source([]byte(code))
	if err != nil {
		return err
	}
	return os.WriteFile(path, formatted, 0o644)
}

func replaced(from, to string) func(string) (string, int) {
	return func(code string) (string, int) { return strings.ReplaceAll(code, from, to), strings.Count(code, from) }
}

var (
	scalarField = regexp.MustCompile(`fieldContext_(\w+)\(_ context\.Context, field graphql\.CollectedField\) \(fc \*graphql\.FieldContext, err error\) \{\n\treturn graphql\.NewScalarFieldContext\("\w+", field, (?:true|false), false,`)
	fieldFunc   = regexp.MustCompile(`(?s)func \(ec \*executionContext\) _(\w+)\(ctx context\.Context, field graphql\.CollectedField, obj \S+\) \(ret graphql\.Marshaler\) \{\n\treturn graphql\.ResolveField\(\n.*?\n\}\n`)
	plainValue  = regexp.MustCompile(`func\(ctx context\.Context\) \(any, error\) \{\n\t\t\treturn (obj\.[\w.]+(?:\(\))?), nil\n\t\t\},\n\t\tnil,`)
	marshalCall = regexp.MustCompile(`return (ec\.marshal\S+)\(ctx, selections, v\)`)
)

// scalars writes fields that are plain values of their object without a context, a resolver and three closures for each:
// there is nothing in them that could fail, wait, or be observed.
func scalars(code string) (string, int) {
	scalar := map[string]bool{}
	for _, m := range scalarField.FindAllStringSubmatch(code, -1) {
		scalar[m[1]] = true
	}
	n := 0
	return fieldFunc.ReplaceAllStringFunc(code, func(f string) string {
		name := fieldFunc.FindStringSubmatch(f)[1]
		value, marshal := plainValue.FindStringSubmatch(f), marshalCall.FindStringSubmatch(f)
		if !scalar[name] || value == nil || marshal == nil {
			return f
		}
		n++
		head, _, _ := strings.Cut(f, "\n")
		return fmt.Sprintf("%s\n\treturn %s(ctx, field.Selections, %s)\n}\n", head, marshal[1], value[1])
	}), n
}

// objects are written without a map of their names, and without what only @defer needs unless something is deferred.
func objects(code string) (string, int) {
	const process = "\tec.ProcessDeferredGroup(graphql.DeferredGroup{\n\t\tDefers:   deferLabelToView,\n\t\tPath:     graphql.GetPath(ctx),\n\t\tFieldSet: deferredFieldSet,\n\t\tContext:  ctx,\n\t})\n\n\treturn out\n"
	n := strings.Count(code, process)
	return strings.NewReplacer(
		process, "\tif len(deferLabelToView) > 0 {\n\t\tlean.Defer(ctx, &ec.PendingDeferred, ec.DeferredResults, deferredFieldSet, deferLabelToView)\n\t}\n\n\treturn lean.Object{Fields: fields, Values: out.Values}\n",
		"\tdeferredFieldSet := graphql.NewFieldSet(nil)\n", "\tvar deferredFieldSet *graphql.FieldSet\n",
		"\tdeferLabelToView := make(map[string]*graphql.FieldSetView)\n", "\tvar deferLabelToView map[string]*graphql.FieldSetView\n",
		"\t\t\t\tdeferredFieldSet.AddField(field)\n",
		"\t\t\t\tif deferredFieldSet == nil {\n\t\t\t\t\tdeferredFieldSet, deferLabelToView = graphql.NewFieldSet(nil), make(map[string]*graphql.FieldSetView)\n\t\t\t\t}\n\t\t\t\tdeferredFieldSet.AddField(field)\n",
	).Replace(code), n
}

var (
	called  = regexp.MustCompile(`res = ec\._(\w+)_(\w+)\(ctx, field, obj\)`)
	delayed = "\t\t\tout.Concurrently(i, func(ctx context.Context) graphql.Marshaler { return innerFunc(ctx, out) })\n"
)

// readyFields run where they stand; those that wait are listed for [lean.Slice].
func readyFields(code string) (string, int) {
	parts := strings.SplitAfter(code, delayed)
	var waits []string
	n := 0
	for i, part := range parts[:len(parts)-1] {
		all := called.FindAllStringSubmatch(part, -1)
		last := all[len(all)-1]
		if !slices.Contains(ready, last[1]+"."+last[2]) {
			waits = append(waits, fmt.Sprintf("\t{Type: %q, Name: %q}: true,\n", last[1], last[2]))
			continue
		}
		n++
		parts[i] = strings.TrimSuffix(part, delayed) + "\t\t\tout.Values[i] = innerFunc(ctx, out)\n"
	}
	if n != len(ready) {
		return code, 0
	}
	return strings.Join(parts, "") + "\n// waits are the fields that may wait for something.\nvar waits = map[lean.Field]bool{\n" + strings.Join(waits, "") + "}\n", n
}

// slicesOf objects are resolved in place when nothing in them waits.
func slicesOf(code string) (string, int) {
	const from, to = "graphql.MarshalSliceConcurrently(ctx, len(v), 0, false, ", "lean.Slice(ctx, len(v), sel, waits, "
	return strings.ReplaceAll(code, from, to), strings.Count(code, from)
}
