package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or ends.
// Cost: 1 TransactWriteItems of 1 row, 1 more when it is new, 1 more when it begins or ends, and the tasks.
func (db Projects) PutImport(ctx context.Context, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	row, id := importRow(after), importID(after.TransferID)
	if before == nil {
		actions := append(started(row, id, header{ID: id, Created: after.CreatedAt}, follow), underWay(after.Project, "imports", true, after.State)...)
		return db.transact(ctx, actions, once)
	}
	return db.transact(ctx, append(replaced(row, before.Version, follow), underWay(after.Project, "imports", before.State.Ended(), after.State)...), once)
}

// PutExport puts an export and the tasks that follow from it.
//
// Index: primary. Key: <export>/<project>:Export on condition of its version; <project>:Project:<project>/export:<created>:…
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or ends.
// Cost: 1 TransactWriteItems of 1 row, 1 more when it is new, 1 more when it begins or ends, and the tasks.
func (db Projects) PutExport(ctx context.Context, before *project.Export, after project.Export, follow []task.Task, once idempotency.Key) error {
	row, id := exportRow(after), exportID(after.TransferID)
	if before == nil {
		actions := append(started(row, id, header{ID: id, Created: after.CreatedAt}, follow), underWay(after.Project, "exports", true, after.State)...)
		return db.transact(ctx, actions, once)
	}
	return db.transact(ctx, append(replaced(row, before.Version, follow), underWay(after.Project, "exports", before.State.Ended(), after.State)...), once)
}

// underWay counts an import or export that begins, or ends: at most so many of a project are under way.
func underWay(of project.ID, what string, idle bool, after project.TransferState) []action {
	if idle == after.Ended() {
		return nil
	}
	a := action{
		table: entitiesMaster, key: entityKey(projectID(of)),
		update: "SET #meta.#what = if_not_exists(#meta.#what, :none) + :by", condition: "attribute_exists(#meta)",
		names: map[string]string{"#meta": "_meta", "#what": what}, values: attrs{":none": number(0), ":by": number(-1)},
		failed: func(row attrs) error {
			if row["_meta"] == nil {
				return fault.New(fault.NotFound, noSuchProject)
			}
			if meta, ok := row["_meta"].(*types.AttributeValueMemberM); ok && count(meta.Value[what+"_ever"]) >= project.MaxTransfersEver {
				return fault.New(fault.Exhausted, "a project has at most %d %s: use another project", project.MaxTransfersEver, what)
			}
			return fault.New(fault.Exhausted, "at most %d %s of a project are under way at a time; wait for one to end", project.MaxTransfers, what)
		},
	}
	if idle {
		a.update += ", #meta.#ever = if_not_exists(#meta.#ever, :none) + :by"
		a.condition = "attribute_exists(#meta) AND (attribute_not_exists(#meta.#what) OR #meta.#what < :most)" +
			" AND (attribute_not_exists(#meta.#ever) OR #meta.#ever < :most_ever)"
		a.names["#ever"] = what + "_ever"
		a.values[":by"], a.values[":most"], a.values[":most_ever"] = number(1), number(project.MaxTransfers), number(project.MaxTransfersEver)
	}
	return []action{a}
}

func transferConflict(attrs) error { return &project.TransferConflict{} }

// started puts a new import or export, and that its project has it.
func started(row attrs, id entity.ID, h header, follow []task.Task) []action {
	return append([]action{
		{table: entitiesMaster, item: row, condition: "attribute_not_exists(#id)", names: map[string]string{"#id": "_id"}, failed: transferConflict},
		{table: relationshipEntries, item: relationRow(transferOf(id, h.Created.UnixMilli()), h.Created, nil)},
	}, tasks(follow)...)
}

// replaced replaces an import or export that is at a version.
func replaced(row attrs, before int, follow []task.Task) []action {
	return append([]action{{
		table: entitiesMaster, item: row, condition: "#meta.#version = :before", names: map[string]string{"#meta": "_meta", "#version": "version"},
		values: attrs{":before": number(int64(before))}, failed: transferConflict,
	}}, tasks(follow)...)
}

func tasks(of []task.Task) []action {
	actions := make([]action, len(of))
	for i, t := range of {
		actions[i] = taskAction(t)
	}
	return actions
}

// The predicates under which a project has imports and exports, by type of the entity.
var transferPredicates = map[string]string{importType: "import", exportType: "export"}

// transferOf is that a project has an import or export; they are in the order in which they were created.
func transferOf(id entity.ID, created int64) entity.Relation {
	return entity.Relation{Subject: projectID(project.ID(id.Scope)), Predicate: transferPredicates[id.Type], Index: created, Object: id}
}

// ImportsByID reads imports.
//
// Index: primary. Key: _id = <import> AND _scope_type_key = <project>:Import. Cost: ⌈n/100⌉ BatchGetItem.
func (db Projects) ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error) {
	imports := make([]project.Import, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{entitiesMaster, entityKey(importID(id)), func(item []byte) error { return decodeImport(item, &imports[i]) }}
	}
	return imports, missing(db.batchGet(ctx, wants), "there is no such import")
}

// ExportsByID reads exports.
//
// Index: primary. Key: _id = <export> AND _scope_type_key = <project>:Export. Cost: ⌈n/100⌉ BatchGetItem.
func (db Projects) ExportsByID(ctx context.Context, ids []project.TransferID) ([]project.Export, []error) {
	exports := make([]project.Export, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{entitiesMaster, entityKey(exportID(id)), func(item []byte) error { return decodeExport(item, &exports[i]) }}
	}
	return exports, missing(db.batchGet(ctx, wants), "there is no such export")
}

// ListImports lists the imports of a project, the newest first.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, import:), descending; then
// the imports as in ImportsByID. Cost: 1 Query and ⌈n/100⌉ BatchGetItem.
func (db Projects) ListImports(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Import], error) {
	return listTransfers(ctx, db, id, importType, w, func(id project.TransferID, into *project.Import) want {
		return want{entitiesMaster, entityKey(importID(id)), func(item []byte) error { return decodeImport(item, into) }}
	}, func(i project.Import) string { return timed(i.CreatedAt.UnixMilli(), i.ID) })
}

// ListExports lists the exports of a project, the newest first.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, export:), descending; then
// the exports as in ExportsByID. Cost: 1 Query and ⌈n/100⌉ BatchGetItem.
func (db Projects) ListExports(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Export], error) {
	return listTransfers(ctx, db, id, exportType, w, func(id project.TransferID, into *project.Export) want {
		return want{entitiesMaster, entityKey(exportID(id)), func(item []byte) error { return decodeExport(item, into) }}
	}, func(e project.Export) string { return timed(e.CreatedAt.UnixMilli(), e.ID) })
}

func listTransfers[T any](ctx context.Context, db Projects, id project.ID, typ string, w page.Window, wanted func(project.TransferID, *T) want, position func(T) string) (page.Slice[T], error) {
	lists := manyLists[relationRecord, T]{
		db: db.DB,
		want: func(_ int, row relationRecord, into *T) want {
			return wanted(project.TransferID{Project: id, ID: row.Object.ID}, into)
		},
		position: position,
	}
	slices, errs := lists.read(ctx, []page.Window{w}, func(int) listing[relationRecord] {
		return listing[relationRecord]{
			span: linksOf(projectID(id), transferPredicates[typ]), descending: true,
			decode: func(item []byte, r *relationRecord) error { return decodeRelation(item, r, nil) },
			sortKey: func(p string) string {
				at, id := parseTimed(p)
				return keys.PredicateKey(transferPredicates[typ], at, typ, id)
			},
		}
	})
	return slices[0], errs[0]
}
