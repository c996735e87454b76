package projects

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// PutImport puts an import and the tasks that follow from it.
//
// Index: primary. Key: <import>/<project>:Import on condition of its version; <project>:Project:<project>/import:<created>:…
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or ends;
// that of the change, if somebody asked for it. Cost: 1 TransactWriteItems of 1 row, 1 more when it is new, 1 more when it begins or ends, 1 more when
// somebody asked for it, and the tasks.
func (db Store) PutImport(ctx context.Context, by project.UserID, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	row, id := importRow(after), importID(after.TransferID)
	change := notedBy(by, after.ChangeFrom(before, by, db.Now()))
	if before == nil {
		actions := append(started(row, id, entities.Header{ID: id, Created: after.CreatedAt}, follow), underWay(after.Project, "imports", true, after.State)...)
		return db.Transact(ctx, append(actions, change...), once)
	}
	actions := append(replaced(row, before.Version, follow), underWay(after.Project, "imports", before.State.Ended(), after.State)...)
	return db.Transact(ctx, append(actions, change...), once)
}

// PutExport puts an export and the tasks that follow from it.
//
// Index: primary. Key: <export>/<project>:Export on condition of its version; <project>:Project:<project>/export:<created>:…
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or ends;
// that of the change, when it is new. Cost: 1 TransactWriteItems of 1 row, 2 more when it is new, 1 more when it begins or ends, and the tasks.
func (db Store) PutExport(ctx context.Context, before *project.Export, after project.Export, follow []task.Task, once idempotency.Key) error {
	row, id := exportRow(after), exportID(after.TransferID)
	if before == nil {
		actions := append(started(row, id, entities.Header{ID: id, Created: after.CreatedAt}, follow), underWay(after.Project, "exports", true, after.State)...)
		return db.Transact(ctx, append(actions, noted(after.Creation())...), once)
	}
	return db.Transact(ctx, append(replaced(row, before.Version, follow), underWay(after.Project, "exports", before.State.Ended(), after.State)...), once)
}

// underWay counts an import or export that begins, or ends: at most so many of a project are under way.
func underWay(of project.ID, what string, idle bool, after interface{ Ended() bool }) []dynamo.Action {
	return underWayUnless(of, what, idle, after.Ended())
}

// underWayUnless is the same when it is known whether it is over.
func underWayUnless(of project.ID, what string, idle, over bool) []dynamo.Action {
	if idle == over {
		return nil
	}
	a := dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(of)),
		Update: "SET #meta.#what = if_not_exists(#meta.#what, :none) + :by", Condition: "attribute_exists(#meta)",
		Names: map[string]string{"#meta": "_meta", "#what": what}, Values: dynamo.Attrs{":none": dynamo.Number(0), ":by": dynamo.Number(-1)},
		Failed: func(row dynamo.Attrs) error {
			if row["_meta"] == nil {
				return fault.New(fault.NotFound, noSuchProject)
			}
			if meta, ok := row["_meta"].(*types.AttributeValueMemberM); ok && dynamo.Count(meta.Value[what+"_ever"]) >= project.MaxTransfersEver {
				return fault.New(fault.Exhausted, "a project has at most %d %s: use another project", project.MaxTransfersEver, what)
			}
			busy := fault.New(fault.Exhausted, "at most %d %s of a project are under way at a time; wait for one to end", project.MaxTransfers, what)
			busy.RetryAfter = project.TransfersEvery
			return busy
		},
	}
	if idle {
		a.Update += ", #meta.#ever = if_not_exists(#meta.#ever, :none) + :by"
		a.Condition = "attribute_exists(#meta) AND (attribute_not_exists(#meta.#what) OR #meta.#what < :most)" +
			" AND (attribute_not_exists(#meta.#ever) OR #meta.#ever < :most_ever)"
		a.Names["#ever"] = what + "_ever"
		a.Values[":by"], a.Values[":most"], a.Values[":most_ever"] = dynamo.Number(1), dynamo.Number(project.MaxTransfers), dynamo.Number(project.MaxTransfersEver)
	}
	return []dynamo.Action{a}
}

func transferConflict(dynamo.Attrs) error { return &project.TransferConflict{} }

// started puts a new import or export, and that its project has it.
func started(row dynamo.Attrs, id entity.ID, h entities.Header, follow []task.Task) []dynamo.Action {
	return append([]dynamo.Action{
		{Table: dynamo.EntitiesMaster, Item: row, Condition: "attribute_not_exists(#id)", Names: map[string]string{"#id": "_id"}, Failed: transferConflict},
		{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(transferOf(id, h.Created.UnixMilli()), h.Created, nil)},
	}, dynamo.TaskActions(follow)...)
}

// replaced replaces an import or export that is at a version.
func replaced(row dynamo.Attrs, before int, follow []task.Task) []dynamo.Action {
	return append([]dynamo.Action{{
		Table: dynamo.EntitiesMaster, Item: row, Condition: "#meta.#version = :before", Names: map[string]string{"#meta": "_meta", "#version": "version"},
		Values: dynamo.Attrs{":before": dynamo.Number(int64(before))}, Failed: transferConflict,
	}}, dynamo.TaskActions(follow)...)
}

// The predicates under which a project has imports, exports and removals, by type of the entity.
var transferPredicates = map[string]string{importType: "import", exportType: "export", removalType: "removal"}

// transferOf is that a project has an import or export; they are in the order in which they were created.
func transferOf(id entity.ID, created int64) entity.Relation {
	return entity.Relation{Subject: ProjectID(project.ID(id.Scope)), Predicate: transferPredicates[id.Type], Index: created, Object: id}
}

// ImportsByID reads imports.
//
// Index: primary. Key: _id = <import> AND _scope_type_key = <project>:Import. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error) {
	imports := make([]project.Import, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(importID(id)), Decode: func(item dynamo.Item) error { return decodeImport(item, &imports[i]) }}
	}
	return imports, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such import")
}

// ExportsByID reads exports.
//
// Index: primary. Key: _id = <export> AND _scope_type_key = <project>:Export. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ExportsByID(ctx context.Context, ids []project.TransferID) ([]project.Export, []error) {
	exports := make([]project.Export, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(exportID(id)), Decode: func(item dynamo.Item) error { return decodeExport(item, &exports[i]) }}
	}
	return exports, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such export")
}

// ListImports lists the imports of a project, the newest first.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, import:), descending; then
// the imports as in ImportsByID. Cost: 1 Query and ⌈n/100⌉ BatchGetItem.
func (db Store) ListImports(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Import], error) {
	return listTransfers(ctx, db, id, importType, w, func(id project.TransferID, into *project.Import) dynamo.Want {
		return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(importID(id)), Decode: func(item dynamo.Item) error { return decodeImport(item, into) }}
	}, func(i project.Import) string { return timed(i.CreatedAt.UnixMilli(), i.ID) })
}

// ListExports lists the exports of a project, the newest first.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, export:), descending; then
// the exports as in ExportsByID. Cost: 1 Query and ⌈n/100⌉ BatchGetItem.
func (db Store) ListExports(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Export], error) {
	return listTransfers(ctx, db, id, exportType, w, func(id project.TransferID, into *project.Export) dynamo.Want {
		return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(exportID(id)), Decode: func(item dynamo.Item) error { return decodeExport(item, into) }}
	}, func(e project.Export) string { return timed(e.CreatedAt.UnixMilli(), e.ID) })
}

func listTransfers[T any](ctx context.Context, db Store, id project.ID, typ string, w page.Window, wanted func(project.TransferID, *T) dynamo.Want, position func(T) string) (page.Slice[T], error) {
	lists := dynamo.ManyLists[entities.RelationRecord, T]{
		DB: db.DB,
		Want: func(_ int, row entities.RelationRecord, into *T) dynamo.Want {
			return wanted(project.TransferID{Project: id, ID: row.Object.ID}, into)
		},
		Position: position,
	}
	slices, errs := lists.Read(ctx, []page.Window{w}, func(int) dynamo.Listing[entities.RelationRecord] {
		return dynamo.Listing[entities.RelationRecord]{
			Span: LinksOf(ProjectID(id), transferPredicates[typ]), Descending: true,
			Decode: func(item dynamo.Item, r *entities.RelationRecord) error { return entities.DecodeRelation(item, r, nil) },
			SortKey: func(p string) string {
				at, id := parseTimed(p)
				return keys.PredicateKey(transferPredicates[typ], at, typ, id)
			},
		}
	})
	return slices[0], errs[0]
}
