package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Variable describes one setting for people.
type Variable struct {
	Name        string
	Default     string // "" when there is none
	Description string
}

// Variables lists the settings in the order of [Config], for the table of docs/configuration.md and for --help.
func Variables() []Variable {
	var all []Variable
	for field := range reflect.TypeFor[Config]().Fields() {
		all = append(all, Variable{
			Name:        field.Tag.Get("env"),
			Default:     field.Tag.Get("envDefault"),
			Description: field.Tag.Get("desc"),
		})
	}
	return all
}

// Markdown returns the table of all variables as docs/configuration.md shows it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Meaning |\n|---|---|---|\n")
	for _, v := range Variables() {
		standard := ""
		if v.Default != "" {
			standard = "`" + v.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, standard, strings.ReplaceAll(v.Description, "|", `\|`))
	}
	return b.String()
}
