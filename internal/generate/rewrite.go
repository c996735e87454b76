package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// source is a file that gqlgen wrote, with what is to be changed in it.
type source struct {
	text  string
	file  *token.File
	tree  *ast.File
	plans *plans
	edits []edit
}

// edit puts text in the place of the bytes between two offsets.
type edit struct {
	from, to int
	text     string
}

// rewrite returns the executor without what our lists pay for in vain. The ready fields, as Type.field, run where they stand.
func rewrite(text string, ready []string, p *plans) ([]byte, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &source{text: text, file: files.File(tree.Pos()), tree: tree, plans: p}
	waits, err := s.objects(ready)
	for _, step := range []func() error{s.planned, s.scalars, s.slices, s.deferredResults, s.messages, s.answers, s.schema, s.imports} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return nil, err
	}
	return format.Source([]byte(s.edited() + waits))
}

// expect fails when a rewriting has not found what it has to find.
func expect(rewriting string, found, want int) error {
	if found != want {
		return fmt.Errorf("the rewriting of %s fits %d of %d places: gqlgen writes something new", rewriting, found, want)
	}
	return nil
}

// of returns the text of a node, or of what stands from one to another.
func (s *source) of(from, to ast.Node) string { return s.text[s.at(from.Pos()):s.at(to.End())] }

func (s *source) at(p token.Pos) int { return s.file.Offset(p) }

func (s *source) replace(from, to token.Pos, text string) {
	s.edits = append(s.edits, edit{s.at(from), s.at(to), text})
}

// edited returns the text with all changes. One within another is lost with it.
func (s *source) edited() string {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out strings.Builder
	end := 0
	for _, e := range s.edits {
		if e.from < end {
			continue
		}
		out.WriteString(s.text[end:e.from])
		out.WriteString(e.text)
		end = e.to
	}
	out.WriteString(s.text[end:])
	return out.String()
}

// functions returns the functions with a body, in their order.
func (s *source) functions() (all []*ast.FuncDecl) {
	for _, d := range s.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			all = append(all, f)
		}
	}
	return all
}

// What functions of objects have: one of each of the first three, and one of each of the others for a field that a resolver finds.
const (
	deferredSet   = "deferredFieldSet := graphql.NewFieldSet(nil)"
	deferredViews = "deferLabelToView := make(map[string]*graphql.FieldSetView)"
	deferredGroup = "ec.ProcessDeferredGroup("
	deferredField = "deferredFieldSet.AddField(field)"
	deferredValue = "out.Values[i] = graphql.Null"
	delayed       = "out.Concurrently(i, func(ctx context.Context) graphql.Marshaler { return innerFunc(ctx, out) })"
)

// objects are written without a map of their names, and without what only @defer needs unless something is deferred. Ready fields run where
// they stand. Those that wait are listed for [lean.Slice]; the list is returned, to be put at the end.
func (s *source) objects(ready []string) (string, error) {
	var waits strings.Builder
	isReady := map[string]int{}
	for _, name := range ready {
		isReady[name] = 0
	}
	objects := 0
	for _, f := range s.functions() {
		found := s.object(f, func(typ, field string) bool {
			if _, ok := isReady[typ+"."+field]; ok {
				isReady[typ+"."+field]++
				return true
			}
			_, _ = fmt.Fprintf(&waits, "\t{Type: %q, Name: %q}: true,\n", typ, field)
			return false
		})
		whole := max(found[deferredSet], found[deferredViews], found[deferredGroup])
		fields := max(found[deferredField], found[deferredValue], found[delayed])
		objects += whole
		for what, want := range map[string]int{
			deferredSet: whole, deferredViews: whole, deferredGroup: whole, deferredField: fields, deferredValue: fields, delayed: fields,
		} {
			if err := expect(fmt.Sprintf("objects (%s in %s)", what, f.Name.Name), found[what], want); err != nil {
				return "", err
			}
		}
	}
	if err := expect("objects", objects, strings.Count(s.text, "graphql.DeferredGroup{")); err != nil || objects == 0 {
		return "", cmp.Or(err, expect("objects", 0, 1))
	}
	for name, n := range isReady {
		if err := expect("ready fields ("+name+")", n, 1); err != nil {
			return "", err
		}
	}
	return "\n// waits are the fields that may wait for something.\nvar waits = map[lean.Field]bool{\n" + waits.String() + "}\n", nil
}

// object rewrites the function of an object, and returns how many there were of what.
func (s *source) object(f *ast.FuncDecl, ready func(typ, field string) bool) map[string]int {
	found := map[string]int{}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		}
		for i, stmt := range list {
			text := s.of(stmt, stmt)
			if strings.HasPrefix(text, deferredGroup) {
				text = deferredGroup
			}
			switch text {
			case deferredSet:
				s.replace(stmt.Pos(), stmt.End(), "var deferredFieldSet *graphql.FieldSet")
			case deferredViews:
				s.replace(stmt.Pos(), stmt.End(), "var deferLabelToView map[string]*graphql.FieldSetView")
			case deferredGroup:
				if i+2 != len(list) || s.of(list[i+1], list[i+1]) != "return out" {
					continue
				}
				s.replace(stmt.Pos(), list[i+1].End(), "if len(deferLabelToView) > 0 {\n"+
					"lean.Defer(ctx, &ec.PendingDeferred, ec.DeferredResults, deferredFieldSet, deferLabelToView)\n}\n\n"+
					"return lean.Object{Fields: fields, Values: out.Values}")
			case deferredField:
				s.replace(stmt.Pos(), stmt.End(), "if deferredFieldSet == nil {\n"+
					"deferredFieldSet, deferLabelToView = graphql.NewFieldSet(nil), make(map[string]*graphql.FieldSetView)\n}\n"+deferredField)
			case deferredValue:
				s.replace(list[i-1].End(), stmt.End(), "\nout.Values[i] = lean.Deferred") // with the comment before it
			case delayed:
				if typ, field := resolvedIn(list[:i]); ready(typ, field) {
					s.replace(stmt.Pos(), stmt.End(), "out.Values[i] = innerFunc(ctx, out)")
				}
			default:
				continue
			}
			found[text]++
		}
		return true
	})
	return found
}

// resolvedIn returns the type and the field that statements resolve, as by ec._Note_owner(ctx, field, obj).
func resolvedIn(list []ast.Stmt) (typ, field string) {
	for _, stmt := range list {
		ast.Inspect(stmt, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 3 {
				if by, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(by.Sel.Name, "_") {
					typ, field, _ = strings.Cut(by.Sel.Name[1:], "_")
				}
			}
			return true
		})
	}
	return typ, field
}

// planned asks for a plan before an object or a list of objects is resolved.
func (s *source) planned() error {
	objects, lists, state := 0, 0, 0
	for _, f := range s.functions() {
		object, isObject := strings.CutPrefix(f.Name.Name, "_")
		elem, isList := s.plans.lists[f.Name.Name]
		call := "if m := lean.Write(ctx, &ec.plans, planned, %q, sel, %s, func(w *lean.Writer, p *lean.Plan) bool { return ec.append%s(w, p, %s) }, func(ctx context.Context) graphql.Marshaler { return ec.%s(ctx, sel, %s) }); m != nil {\nreturn m\n}\n"
		switch {
		case isObject && s.plans.objects[object] && len(f.Type.Params.List) == 3:
			objects++
			s.insert(f.Body.Lbrace+1, "\n"+fmt.Sprintf(call, object, "obj", object, "obj", f.Name.Name, "obj"))
		case isList:
			lists++
			s.insert(f.Body.Lbrace+1, "\nif len(v) > 1 {\n"+fmt.Sprintf(call, elem, "nil", strings.TrimPrefix(f.Name.Name, "marshal"), "v", f.Name.Name, "v")+"}\n")
		}
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "executionContext" {
			return true
		}
		if of, ok := spec.Type.(*ast.StructType); ok {
			state++
			s.insert(of.Fields.Closing, "\nplans lean.Plans\n")
		}
		return false
	})
	return cmp.Or(expect("planned objects", objects, len(s.plans.objects)), expect("planned lists", lists, len(s.plans.lists)), expect("the state of plans", state, 1))
}

func (s *source) insert(at token.Pos, text string) { s.replace(at, at, text) }

// scalars writes fields that are plain values of their object without a context, a resolver and three closures for each:
// there is nothing in them that could fail, wait, or be observed.
func (s *source) scalars() error {
	scalar := map[string]bool{}
	for _, f := range s.functions() {
		name, is := strings.CutPrefix(f.Name.Name, "fieldContext_")
		call := returned(f.Body)
		if is && call != nil && len(call.Args) == 5 && s.of(call.Fun, call.Fun) == "graphql.NewScalarFieldContext" {
			scalar["_"+name] = s.of(call.Args[3], call.Args[3]) == "false" // no resolver
		}
	}
	found, want := 0, 0
	for _, f := range s.functions() {
		if !scalar[f.Name.Name] {
			continue
		}
		call := returned(f.Body)
		if call == nil || len(call.Args) != 9 || s.of(call.Fun, call.Fun) != "graphql.ResolveField" {
			return expect("scalars ("+f.Name.Name+")", 0, 1)
		}
		value, isPlain := s.plainValue(call.Args[4])
		if !isPlain {
			continue // a method that takes a context, or may fail
		}
		want++
		marshal, ok := call.Args[6].(*ast.FuncLit)
		if !ok || s.of(call.Args[5], call.Args[5]) != "nil" {
			continue
		}
		if by := returned(marshal.Body); by != nil && s.of(by.Args[0], by.Args[len(by.Args)-1]) == "ctx, selections, v" {
			s.replace(f.Body.Pos(), f.Body.End(), fmt.Sprintf("{\n\treturn %s(ctx, field.Selections, %s)\n}", s.of(by.Fun, by.Fun), value))
			found++
		}
	}
	if found == 0 {
		want++
	}
	return expect("scalars", found, want)
}

// plainValue returns what a function returns when that is a field of the object, or a method of it without arguments that cannot fail.
func (s *source) plainValue(n ast.Expr) (string, bool) {
	f, ok := n.(*ast.FuncLit)
	if !ok || len(f.Body.List) != 1 {
		return "", false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 2 || s.of(r.Results[1], r.Results[1]) != "nil" {
		return "", false
	}
	value := r.Results[0]
	if call, isCall := value.(*ast.CallExpr); isCall {
		if len(call.Args) > 0 {
			return "", false
		}
		value = call.Fun
	}
	_, ok = value.(*ast.SelectorExpr)
	return s.of(r.Results[0], r.Results[0]), ok
}

// returned is the call that a function consists of, nil when it is more than that.
func returned(body *ast.BlockStmt) *ast.CallExpr {
	if len(body.List) != 1 {
		return nil
	}
	r, ok := body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return nil
	}
	call, _ := r.Results[0].(*ast.CallExpr)
	return call
}

// slices of objects are resolved in place when nothing in them waits.
func (s *source) slices() error {
	const name = "graphql.MarshalSliceConcurrently"
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && s.of(call.Fun, call.Fun) == name && len(call.Args) == 5 && s.of(call.Args[0], call.Args[3]) == "ctx, len(v), 0, false" {
			s.replace(call.Fun.Pos(), call.Args[3].End(), "lean.Slice(ctx, len(v), sel, waits")
			found++
		}
		return true
	})
	return expect("slices", found, max(strings.Count(s.text, name), 1))
}

// deferredResults ends a query that was given up while something was deferred.
func (s *source) deferredResults() error {
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if stmt, ok := n.(*ast.AssignStmt); ok && s.of(stmt, stmt) == "result := <-ec.DeferredResults" {
			s.replace(stmt.Pos(), stmt.End(), "result, ok := lean.Next(ctx, ec.DeferredResults)\nif !ok {\nreturn nil\n}")
			found++
		}
		return true
	})
	return expect("deferred results", found, max(strings.Count(s.text, "<-ec.DeferredResults"), 1))
}

// messages of subscriptions get a buffer of their own size, and leave the one that they were written into.
func (s *source) messages() error {
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok || len(clause.List) != 1 || s.of(clause.List[0], clause.List[0]) != "ast.Subscription" {
			return true
		}
		ast.Inspect(clause, func(n ast.Node) bool {
			if data, ok := n.(*ast.KeyValueExpr); ok && s.of(data, data) == "Data: buf.Bytes()" {
				s.replace(data.Value.Pos(), data.Value.End(), "lean.Message(&buf)")
				found++
			}
			return true
		})
		return false
	})
	return expect("messages of subscriptions", found, 1)
}

// answers of queries and mutations take room as they grow.
func (s *source) answers() error {
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok || len(clause.List) != 1 || s.of(clause.List[0], clause.List[0]) != "ast.Query" && s.of(clause.List[0], clause.List[0]) != "ast.Mutation" {
			return true
		}
		ast.Inspect(clause, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.DeclStmt); ok && s.of(stmt, stmt) == "var buf bytes.Buffer" {
				s.replace(stmt.Pos(), stmt.End(), "buf := lean.AnswerOf(ctx)")
				found++
			}
			return true
		})
		return false
	})
	return expect("answers", found, 2)
}

// schema is served without the directives that only the server needs.
func (s *source) schema() error {
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && s.of(call, call) == "gqlparser.MustLoadSchema(sources...)" {
			s.replace(call.Pos(), call.End(), "lean.Public("+s.of(call, call)+")")
			found++
		}
		return true
	})
	return expect("the schema", found, 1)
}

// imports what the rewritten code calls.
func (s *source) imports() error {
	found := 0
	for _, spec := range s.tree.Imports {
		if spec.Path.Value == `"github.com/99designs/gqlgen/graphql"` {
			s.replace(spec.End(), spec.End(), "\n\"github.com/taggie/taggie/internal/lean\"")
			found++
		}
	}
	return expect("imports", found, 1)
}
