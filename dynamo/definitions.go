package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Definition is a table as [DB.ApplyTables] makes it, for other tools that make tables. All have on-demand billing and point-in-time recovery.
type Definition struct {
	PartitionKey  string                     `json:"partition_key"`
	SortKey       string                     `json:"sort_key"`
	Attributes    map[string]string          `json:"attributes"` // of all keys; S or N
	GlobalIndexes map[string]IndexDefinition `json:"global_indexes"`
	LocalIndexes  map[string]IndexDefinition `json:"local_indexes"`
	TimeToLive    string                     `json:"time_to_live"` // the attribute; "" for none
}

// IndexDefinition is an index of a table.
type IndexDefinition struct {
	PartitionKey string   `json:"partition_key"`
	SortKey      string   `json:"sort_key"`
	Projection   string   `json:"projection"` // ALL, KEYS_ONLY or INCLUDE
	Included     []string `json:"included"`   // attributes, for INCLUDE
}

// Definitions returns all tables whose names have the prefix, by their full names.
func Definitions(prefix string) map[string]Definition {
	db := &DB{prefix: prefix}
	all := map[string]Definition{}
	for _, in := range db.Tables() {
		d := Definition{Attributes: map[string]string{}, GlobalIndexes: map[string]IndexDefinition{}, LocalIndexes: map[string]IndexDefinition{}}
		d.PartitionKey, d.SortKey = keysOf(in.KeySchema)
		for _, a := range in.AttributeDefinitions {
			d.Attributes[*a.AttributeName] = string(a.AttributeType)
		}
		for _, i := range in.GlobalSecondaryIndexes {
			d.GlobalIndexes[*i.IndexName] = indexOf(i.KeySchema, i.Projection)
		}
		for _, i := range in.LocalSecondaryIndexes {
			d.LocalIndexes[*i.IndexName] = indexOf(i.KeySchema, i.Projection)
		}
		if db.expires(in.TableName) {
			d.TimeToLive = ttlAttribute
		}
		all[*in.TableName] = d
	}
	return all
}

func indexOf(schema []types.KeySchemaElement, p *types.Projection) IndexDefinition {
	i := IndexDefinition{Projection: string(p.ProjectionType), Included: append([]string{}, p.NonKeyAttributes...)}
	i.PartitionKey, i.SortKey = keysOf(schema)
	return i
}

func keysOf(schema []types.KeySchemaElement) (partition, sort string) {
	for _, e := range schema {
		if e.KeyType == types.KeyTypeHash {
			partition = *e.AttributeName
		} else {
			sort = *e.AttributeName
		}
	}
	return partition, sort
}
