package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Problem is one setting that cannot be used as it is.
type Problem struct {
	Variable string // the name in the environment
	Expected string // what it should be; never the value, which may be a secret
}

// Error lists every problem of an environment.
type Error struct{ Problems []Problem }

// Error returns one line for each problem, beginning with the variable's name.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Variable + ": " + p.Expected
	}
	return strings.Join(lines, "\n")
}

// Check is for a setting that another room understands: what it returns is what should be there instead.
type Check struct {
	Variable string // the name in the environment
	Do       func(Config) error
}

// Load reads the settings of a server from environ, which has the form of os.Environ.
// If anything is wrong, with the checks too, the error is an [*Error] that lists all of it.
func Load(environ []string, checks ...Check) (Config, error) { return load(environ, true, checks...) }

// LoadStores is Load for the commands that only reach the stores (tables apply and check): what concerns
// nobody but a server, such as who vouches for identities, may be missing.
func LoadStores(environ []string) (Config, error) { return load(environ, false) }

func load(environ []string, serving bool, checks ...Check) (Config, error) {
	values := env.ToMap(environ)
	for name, value := range values {
		if value == "" {
			delete(values, name)
		}
	}
	c := &checker{values: values, bad: map[string]bool{}}
	config, err := env.ParseAsWithOptions[Config](env.Options{Environment: values})
	c.unreadable(err)
	c.forms(config)
	if serving {
		c.identity(config)
	}
	c.stores(config, serving)
	for _, check := range checks {
		if err := check.Do(config); err != nil {
			c.add(check.Variable, "%v", err)
		}
	}
	c.unknown()
	if len(c.problems) == 0 {
		return config, nil
	}
	order := map[string]int{}
	for i, v := range Variables() {
		order[v.Name] = i + 1
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		i, j := order[a.Variable], order[b.Variable]
		switch {
		case i != 0 && j != 0:
			return i - j
		case i != j: // unknown variables go last
			return j - i
		}
		return strings.Compare(a.Variable, b.Variable)
	})
	return Config{}, &Error{Problems: c.problems}
}

// expectation is the error of this package's own parsers; its text never holds the value.
type expectation string

func (e expectation) Error() string { return string(e) }

// unreadable reports the values that could not be turned into their types.
func (c *checker) unreadable(err error) {
	if err == nil {
		return
	}
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		all.Errors = []error{err}
	}
	for _, e := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](e)
		if !ok { // a tag of Config is wrong, which no environment can cause
			c.add("TAGGIE", "%v", e)
			continue
		}
		field, _ := reflect.TypeFor[Config]().FieldByName(parse.Name)
		expected := field.Tag.Get("expect")
		if own, ok := errors.AsType[expectation](parse.Err); ok {
			expected = string(own)
		}
		c.add(field.Tag.Get("env"), "%s", expected)
	}
}
