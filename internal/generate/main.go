// Command generate writes graph/: it runs gqlgen, takes out of the executor what our lists pay for without needing it, and writes down
// what the directives of the schema say of its fields.
//
// It knows the form of what gqlgen writes. A rewriting that does not find all of what it expects fails with its name, so that a new
// version of gqlgen is noticed. It must not know the domain. Start reading at [factsOf], then [rewrite].
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	cfg, err := config.LoadConfigFromDefaultLocations()
	if err == nil {
		err = write(cfg)
	}
	if err != nil {
		log.Fatal("generate: ", err)
	}
}

// write has gqlgen write the executor, rewrites it in place, and writes the facts of the schema beside it.
func write(cfg *config.Config) error {
	p := &plans{}
	if err := api.Generate(cfg, api.AddPlugin(p)); err != nil {
		return err
	}
	f, err := factsOf(cfg.Schema)
	if err != nil {
		return err
	}
	path := cfg.Exec.Filename
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	code, err := rewrite(string(text), f.ready, p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, code, 0o644); err != nil {
		return err
	}
	code, err = f.code()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(path), "facts.go"), code, 0o644)
}
