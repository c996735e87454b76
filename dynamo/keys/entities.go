package keys

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// join escapes the parts of a compound key and puts colons between them.
func join(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escape(part)
	}
	return strings.Join(escaped, ":")
}

// Split returns the parts of a compound key, unescaped.
func Split(key string) []string {
	parts := strings.Split(key, ":")
	for i, part := range parts {
		parts[i] = unescape(part)
	}
	return parts
}

// Shards is how many partitions of an index the many entities, or index entries, of one project are spread over: an import
// writes thousands a second, and a partition takes 1,000.
const Shards = 16

// Shard returns the shard of an entity: 0 to 15.
func Shard(id string) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id)) // never fails
	return int(hash.Sum32() % Shards)
}

// sharded spells a name of which there is one per shard. No type, predicate or index has a "~" in its name.
func sharded(name string, shard int) string { return fmt.Sprintf("%s~%02d", name, shard) }

// ScopeTypeKey is SCOPE:TYPE: sort key of an entity and partition key of entities_by_type.
func ScopeTypeKey(scope, typ string) string { return join(scope, typ) }

// ShardedScopeTypeKey is SCOPE:TYPE~<shard>, for types of which one scope has very many.
func ShardedScopeTypeKey(scope, typ string, shard int) string {
	return join(scope, sharded(typ, shard))
}

// SubjectKey is SCOPE:TYPE:ID: partition key of relationships and index entries of an entity, and _object_key of
// relationships to it.
func SubjectKey(scope, typ, id string) string { return join(scope, typ, id) }

// IndexWidth is how many digits an index has in a predicate key, so that indexes sort as numbers: every integer that a JSON
// number keeps.
const IndexWidth = 16

// PredicateKey is PREDICATE:INDEX:TYPE:ID: sort key of a relationship.
func PredicateKey(predicate string, index int64, objectType, objectID string) string {
	return fmt.Sprintf("%s:%0*d:%s", escape(predicate), IndexWidth, index, join(objectType, objectID))
}

// PredicateHeadKey is PREDICATE:!, which sorts before all relationships under the predicate.
func PredicateHeadKey(predicate string) string { return escape(predicate) + ":!" }

// PredicateTailKey is PREDICATE:~, which sorts behind all relationships under the predicate.
func PredicateTailKey(predicate string) string { return escape(predicate) + ":~" }

// IsPredicateEnd reports whether a sort key is one of [PredicateHeadKey] or [PredicateTailKey].
func IsPredicateEnd(key string) bool {
	_, end, _ := strings.Cut(key, ":")
	return end == "!" || end == "~"
}

// IndexName is INDEX_NAME~<shard>, for indexes of which one scope has very many entries.
func IndexName(name string, shard int) string { return sharded(name, shard) }

// UniqueKey is INDEX_NAME:INDEX_KEY: sort key of an index entry. The key comes last and is not escaped, so that it sorts as it
// is in index_lookup.
func UniqueKey(name, key string) string { return escape(name) + ":" + key }

// ScopeIndexName is SCOPE:INDEX_NAME: partition key of index_lookup.
func ScopeIndexName(scope, name string) string { return join(scope, name) }

// StatusIndex is the index of the items of a project by status.
const StatusIndex = "status"

// StatusKey is <status>:<shard>:<seq>: index key of an item of a project.
func StatusKey(status string, shard int, seq string) string {
	return fmt.Sprintf("%s:%02d:%s", escape(status), shard, seq)
}

// StatusRange returns the index keys between which all items of a status lie in a shard.
func StatusRange(status string, shard int) (low, high string) {
	prefix := fmt.Sprintf("%s:%02d:", escape(status), shard)
	return prefix, prefix + "\U0010FFFF"
}

// ReviewIndex is the index of the efforts of a project that await a review.
const ReviewIndex = "review"

// ReviewShards is how many partitions these are spread over. A finish writes one row of them, so that four take 4,000 finishes a second.
const ReviewShards = 4

// ReviewShard is the shard of an effort.
func ReviewShard(effort string) int { return Shard(effort) % ReviewShards }

// ReviewKey is <shard>:<category>:<finished, in milliseconds>: index key of an effort that awaits a review.
func ReviewKey(shard int, category string, finished time.Time) string {
	return fmt.Sprintf("%02d:%s:%0*d", shard, escape(category), IndexWidth, finished.UnixMilli())
}

// ReviewRange returns the index keys between which all efforts of a category lie in a shard that await a review; of all categories for "".
func ReviewRange(shard int, category string) (low, high string) {
	prefix := fmt.Sprintf("%02d:", shard)
	if category != "" {
		prefix += escape(category) + ":"
	}
	return prefix, prefix + "\U0010FFFF"
}

// taskShards is how many partitions the tasks of all servers are spread over.
const taskShards = 4

// TaskSubjectKey is taggie:Tasks:<shard>: where a task waits.
func TaskSubjectKey(id string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id)) // never fails
	return taskSubjectKey(hash.Sum32() % taskShards)
}

// TaskSubjectKeys returns all partitions of tasks.
func TaskSubjectKeys() []string {
	all := make([]string, taskShards)
	for shard := range all {
		all[shard] = taskSubjectKey(uint32(shard))
	}
	return all
}

func taskSubjectKey(shard uint32) string { return join("taggie", "Tasks", fmt.Sprintf("%02d", shard)) }

// TaskKey is task:<due, in milliseconds>:<kind>:<id>: tasks sort by when they are due.
func TaskKey(due time.Time, kind, id string) string {
	return PredicateKey("task", due.UnixMilli(), kind, id)
}

// TaskRange returns the sort keys between which all tasks lie that are due at or before an instant.
func TaskRange(now time.Time) (low, high string) {
	return "task:", fmt.Sprintf("task:%0*d;", IndexWidth, now.UnixMilli())
}
