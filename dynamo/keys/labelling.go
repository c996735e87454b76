package keys

import (
	"fmt"
	"time"
)

// The rows below belong to no project's scope, and are spread over partitions as the items of a project are.

// outboxSubject and projectsSubject are the types under which they are kept.
const (
	outboxSubject   = "Outbox"
	projectsSubject = "Projects"
)

// OutboxSubjectKey is taggie:Outbox:<shard>: where the transitions of an item wait.
func OutboxSubjectKey(item string) string { return ownSubjectKey(outboxSubject, Shard(item)) }

// OutboxSubjectKeys returns all partitions of the outbox.
func OutboxSubjectKeys() []string { return ownSubjectKeys(outboxSubject) }

// OutboxKey is outbox:<at, in milliseconds>:Transition:<id>: transitions sort by when they happened.
func OutboxKey(at time.Time, id string) string {
	return PredicateKey("outbox", at.UnixMilli(), "Transition", id)
}

// OutboxRange returns the sort keys between which all transitions lie that happened before an instant.
func OutboxRange(before time.Time) (low, high string) {
	return "outbox:", fmt.Sprintf("outbox:%0*d", IndexWidth, before.UnixMilli())
}

// ProjectsSubject returns type and id of the subject whose relationships are the projects of a shard:
// taggie:Projects:<shard>.
func ProjectsSubject(project string) (typ, id string) {
	return projectsSubject, shardID(Shard(project))
}

// ProjectsSubjectKeys returns all partitions of the list of projects.
func ProjectsSubjectKeys() []string { return ownSubjectKeys(projectsSubject) }

func ownSubjectKey(typ string, shard int) string { return join("taggie", typ, shardID(shard)) }

func ownSubjectKeys(typ string) []string {
	all := make([]string, Shards)
	for shard := range all {
		all[shard] = ownSubjectKey(typ, shard)
	}
	return all
}

func shardID(shard int) string { return fmt.Sprintf("%02d", shard) }

// MarkSubjectKey is taggie:QueueMark:<project>: where the mark of a project is kept, in a partition of its own.
func MarkSubjectKey(project string) string { return join("taggie", "QueueMark", project) }

// MarkKey is the sort key of a mark.
const MarkKey = "mark:"
