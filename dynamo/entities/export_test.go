package entities

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// What only the tests use.
const (
	ReindexAhead  = reindexAhead
	ReindexStep   = reindexStep
	SettledWithin = settledWithin
)

type (
	Deletion        = deletion
	EntityRecord    = entityRecord
	EntryRecord     = entryRecord
	RelationsChange = relationsChange
	RelationsEdit   = relationsEdit
)

var (
	Adding            = adding
	Bounds            = bounds
	CountEntities     = countEntities
	CountMembers      = countMembers
	CountRelations    = countRelations
	CurrentEntity     = currentEntity
	DecodeEntity      = decodeEntity
	DecodeEntry       = decodeEntry
	DecodeScope       = decodeScope
	DecodeScopeMember = decodeScopeMember
	HeadKey           = headKey
	Replacing         = replacing
	RowOfEntity       = rowOfEntity
	ScopeKey          = scopeKey
	ScopeMemberRow    = scopeMemberRow
	ScopeRow          = scopeRow
	SubjectCheck      = subjectCheck
	WithoutOwn        = withoutOwn
)

func (db Store) ChangeRelations(ctx context.Context, subject entity.ID, edits map[string]RelationsEdit, with []dynamo.Action, once idempotency.Key) (map[string]relationsChanged, error) {
	return db.changeRelations(ctx, subject, edits, with, once)
}

func (db Store) PredicateState(ctx context.Context, subject entity.ID, predicate string, whole bool) (*predicateState, error) {
	return db.predicateState(ctx, subject, predicate, whole)
}
