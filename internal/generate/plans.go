package main

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/vektah/gqlparser/v2/ast"
)

// plans is the part of gqlgen that writes graph/plans.go: for each object type a function that appends the fields of a plan, and for each
// list of objects one that appends its elements.
type plans struct {
	objects map[string]bool   // that have a function
	lists   map[string]string // the types of elements, by the names of the functions that marshal lists of them
	out     strings.Builder
}

// Name is what gqlgen calls this part.
func (*plans) Name() string { return "plans" }

// GenerateCode writes the file.
func (p *plans) GenerateCode(data *codegen.Data) error {
	return templates.Render(templates.Options{
		PackageName: data.Config.Exec.Package,
		Filename:    filepath.Join(data.Config.Exec.Dir(), "plans.go"),
		Template: `{{ reserveImport "context" }}{{ reserveImport "strconv" }}{{ reserveImport "github.com/99designs/gqlgen/graphql" }}` +
			`{{ reserveImport "github.com/taggie/taggie/internal/lean" }}{{ plans . }}`,
		Funcs:    map[string]any{"plans": p.code},
		Data:     data,
		Packages: data.Config.Packages,
		// So that linters leave it alone, as they do the executor.
		GeneratedHeader: true,
	})
}

func (p *plans) line(format string, args ...any) { _, _ = fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *plans) code(data *codegen.Data) string {
	p.objects, p.lists = map[string]bool{}, map[string]string{}
	var objects []*codegen.Object
	for _, o := range data.Objects {
		if !o.Root && !strings.HasPrefix(o.Name, "__") {
			p.objects[o.Name] = true
			objects = append(objects, o)
		}
	}
	p.line("// planned are the fields that plans write.\nvar planned = map[string]lean.Type{")
	for _, o := range objects {
		p.line("%q: {Implements: %sImplementors, Fields: map[string]lean.TypeField{", o.Name, templates.LcFirst(o.Name))
		for i, f := range o.Fields {
			if !p.plain(f) {
				continue
			}
			of := ""
			if p.objects[f.TypeReference.Definition.Name] {
				of = f.TypeReference.Definition.Name
			}
			shared := ""
			if f.FieldDefinition.Directives.ForName("shared") != nil {
				shared = ", Shared: true"
			}
			p.line("%q: {At: %d, Of: %q, Resolved: %t%s},", f.Name, i+1, of, f.IsResolver, shared)
		}
		p.line("}},")
	}
	p.line("}\n")
	for _, o := range objects {
		p.object(o)
	}
	for _, name := range slices.Sorted(maps.Keys(data.Interfaces)) {
		if strings.HasPrefix(name, "__") {
			continue
		}
		p.abstract(data.Interfaces[name])
	}
	for _, name := range slices.Sorted(maps.Keys(data.ReferencedTypes)) {
		ref := data.ReferencedTypes[name]
		if elem := ref.Definition.Name; ref.IsSlice() && p.objects[elem] && !ref.Elem().IsSlice() {
			p.lists[ref.MarshalFunc()] = elem
			p.line("func (ec *executionContext) append%s(w *lean.Writer, p *lean.Plan, v %s) bool {", ref.UniquenessKey(), goType(ref.GO))
			p.value(ref, "v", "p")
			p.line("return true\n}\n")
		}
	}
	return p.out.String()
}

// plain reports whether a field never waits, so that plans can write it.
func (p *plans) plain(f *codegen.Field) bool {
	isReady := f.FieldDefinition.Directives.ForName("ready") != nil
	switch {
	case f.HasDirectives(), f.IsMap(), f.IsBatch(), f.Stream, f.HasHaser, f.VOkFunc:
		return false
	case f.IsResolver, f.IsMethod() && f.MethodHasContext:
		return isReady
	}
	return len(f.Args) == 0
}

// large reports whether a value may be as large as many others together. Objects ask for their room themselves.
func large(f *codegen.Field) bool {
	of := f.FieldDefinition.Directives
	return f.TypeReference.Definition.IsLeafType() && (of.ForName("large") != nil || of.ForName("atMost") != nil)
}

func (p *plans) object(o *codegen.Object) {
	p.line("func (ec *executionContext) append%s(w *lean.Writer, p *lean.Plan, obj %s) bool {", o.Name, goType(o.Reference()))
	p.line("for i := range p.Fields {\nf := &p.Fields[i]\nw.B = append(w.B, f.Key...)\nswitch f.At {")
	p.line("case 0:\nw.B = append(w.B, `%q`...)", o.Name)
	for i, f := range o.Fields {
		if !p.plain(f) {
			continue
		}
		p.line("case %d: // %s", i+1, f.Name)
		switch {
		case f.IsResolver, f.IsMethod() && f.MethodHasContext:
			fc := "_"
			if len(f.Args) > 0 {
				fc = "fc"
			}
			call := f.GoReceiverName + "." + f.GoFieldName + "(" + f.CallArgs() + ")"
			if f.IsResolver {
				call = "ec.Resolvers." + f.ShortInvocation()
			}
			p.line("ctx, %s := w.Call(f, ec.%s)\nif ctx == nil {\nreturn false\n}", fc, f.FieldContextFunc())
			p.line("v, err := %s\nif err != nil {\nreturn false\n}", call)
			p.value(f.TypeReference, "v", "f.Below")
		case f.IsMethod():
			if f.NoErr {
				p.line("v := %s.%s()", f.GoReceiverName, f.GoFieldName)
			} else {
				p.line("v, err := %s.%s()\nif err != nil {\nreturn false\n}", f.GoReceiverName, f.GoFieldName)
			}
			p.value(f.TypeReference, "v", "f.Below")
		default:
			p.value(f.TypeReference, f.GoReceiverName+"."+f.GoFieldName, "f.Below")
		}
		if large(f) {
			p.line("if !w.Fits() {\nreturn false\n}")
		}
	}
	p.line("default:\nreturn false\n}\n}\nreturn w.Close(p)\n}\n")
}

// abstract writes the function of an interface or a union. Types that the schema does not have in it are gqlgen's to tell.
func (p *plans) abstract(i *codegen.Interface) {
	p.line("func (ec *executionContext) append%s(w *lean.Writer, f *lean.Planned, v %s) bool {\nswitch obj := v.(type) {", i.Name, goType(i.Type))
	for _, of := range i.Implementors {
		p.line("case %s:", goType(of.Type))
		pointer := "obj"
		if of.TakeRef {
			pointer = "&obj"
		} else {
			p.line("if obj == nil {\nreturn false\n}")
		}
		p.line("if p := w.Plan(%q, f); p != nil {\nreturn ec.append%s(w, p, %s)\n}", of.Name, of.Name, pointer)
	}
	p.line("}\nreturn false\n}\n")
}

// value writes what appends an expression of a type. Whatever may not be, gqlgen tells.
func (p *plans) value(ref *config.TypeReference, expr, below string) {
	orNull := func() string {
		if ref.GQL.NonNull {
			return "return false"
		}
		return "w.Null()"
	}
	name := ref.Definition.Name
	switch {
	case ref.IsSlice():
		if !ref.GQL.NonNull {
			p.line("if %s == nil {\nw.Null()\n} else {", expr)
		}
		p.line("w.B = append(w.B, '[')\nfor i := range %s {\nif !w.Next(i) {\nreturn false\n}", expr)
		p.value(ref.Elem(), expr+"[i]", below)
		p.line("}\nw.B = append(w.B, ']')")
		if !ref.GQL.NonNull {
			p.line("}")
		}
	case ref.Definition.IsAbstractType():
		p.line("if %s == nil {\n%s\n} else if !ec.append%s(w, f, %s) {\nreturn false\n}", expr, orNull(), name, expr)
	case p.objects[name]:
		if !ref.IsPtr() {
			p.line("if !ec.append%s(w, %s, &%s) {\nreturn false\n}", name, below, expr)
			return
		}
		p.line("if %s == nil {\n%s\n} else if !ec.append%s(w, %s, %s) {\nreturn false\n}", expr, orNull(), name, below, expr)
	default:
		p.leaf(ref, expr, orNull())
	}
}

// leaf appends a scalar or a value of an enum: by the function Append of the same package and name as Marshal, or the method AppendGQL
// of its type; in gqlgen's way where there is none.
func (p *plans) leaf(ref *config.TypeReference, expr, orNull string) {
	to, pointer, whole := ref.GO, false, expr
	if ptr, is := to.(*types.Pointer); is && !ref.IsTargetNilable() {
		to, pointer = ptr.Elem(), true
		expr = "*" + expr
	}
	code := ""
	switch {
	case ref.HasEnumValues(), ref.IsContext:
	case ref.IsMarshaler:
		if is, _, _ := types.LookupFieldOrMethod(to, true, nil, "AppendGQL"); is != nil {
			code = fmt.Sprintf("w.B = (%s).AppendGQL(w.B)", expr)
		} else if basic, is := to.Underlying().(*types.Basic); is && basic.Kind() == types.String && ref.Definition.Kind == ast.Enum {
			code = fmt.Sprintf("w.B = strconv.AppendQuote(w.B, string(%s))", expr)
		}
	case ref.Marshaler != nil:
		if ref.CastType != nil {
			expr = fmt.Sprintf("%s(%s)", goType(ref.CastType), expr)
		}
		code = appending(ref.Marshaler, expr)
		if isTime(to) && code != "" {
			code = fmt.Sprintf("if (%s).IsZero() {\n%s\n} else {\n%s\n}", expr, orNull, code)
		}
	}
	switch {
	case code == "":
		p.line("if !w.Value(ec.%s(w.Context(), nil, %s), %t) {\nreturn false\n}", ref.MarshalFunc(), whole, !ref.GQL.NonNull)
	case pointer:
		p.line("if %s == nil {\n%s\n} else {\n%s\n}", whole, orNull, code)
	default:
		p.line("%s", code)
	}
}

// appending returns the statement that appends what a function marshals, "" when it is not known.
func appending(marshal *types.Func, expr string) string {
	name := "Append" + strings.TrimPrefix(marshal.Name(), "Marshal")
	switch marshal.FullName() {
	case "github.com/99designs/gqlgen/graphql.MarshalBoolean":
		return fmt.Sprintf("w.B = strconv.AppendBool(w.B, %s)", expr)
	case "github.com/99designs/gqlgen/graphql.MarshalString":
		return fmt.Sprintf("w.B = %s.AppendString(w.B, %s)", templates.CurrentImports.Lookup("github.com/taggie/taggie/internal/scalar"), expr)
	}
	if marshal.Pkg().Scope().Lookup(name) == nil || !token.IsExported(name) {
		return ""
	}
	return fmt.Sprintf("w.B = %s.%s(w.B, %s)", templates.CurrentImports.Lookup(marshal.Pkg().Path()), name, expr)
}

func isTime(t types.Type) bool { return t.String() == "time.Time" }

func goType(t types.Type) string { return templates.CurrentImports.LookupType(t) }
