package dynamo

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Projection makes reads return some attributes only. It saves bytes on the wire and their decoding, not read units. The
// zero projection returns everything.
type Projection struct {
	Expression *string
	Names      map[string]string // attribute names, since some are reserved words
}

// Projections are the projections of reads, by the full name of the table or index. What has none returns everything.
type Projections map[string]Projection

// ProjectionOf makes reads return these attributes only, and the format of the row.
func ProjectionOf(attributes ...string) Projection {
	if !slices.Contains(attributes, FormatAttribute) {
		attributes = append(attributes[:len(attributes):len(attributes)], FormatAttribute)
	}
	return projectionOf(attributes...)
}

func projectionOf(attributes ...string) Projection {
	p := Projection{Names: make(map[string]string, len(attributes))}
	aliases := make([]string, len(attributes))
	for i, attribute := range attributes {
		aliases[i] = "#" + strconv.Itoa(i)
		p.Names[aliases[i]] = attribute
	}
	p.Expression = aws.String(strings.Join(aliases, ", "))
	return p
}

// Only returns the projection with nothing but some elements of a map, instead of all of it. The map is one of its attributes.
func (p Projection) Only(attribute string, elements ...string) Projection {
	within := Projection{Names: maps.Clone(p.Names)}
	paths := strings.Split(*p.Expression, ", ")
	for i, alias := range paths {
		if p.Names[alias] != attribute {
			continue
		}
		some := make([]string, len(elements))
		for n, element := range elements {
			name := alias + "_" + strconv.Itoa(n)
			within.Names[name] = element
			some[n] = alias + "." + name
		}
		paths[i] = strings.Join(some, ", ")
	}
	within.Expression = aws.String(strings.Join(paths, ", "))
	return within
}

// Projecting returns the DB for reads of many rows that return only what p says; nil for everything.
func (db *DB) Projecting(p Projections) *DB {
	light := *db
	light.project = p
	return &light
}
