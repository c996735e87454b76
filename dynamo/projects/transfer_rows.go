package projects

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/project"
)

const (
	importType = "Import"
	exportType = "Export"

	removalType = "Removal"
)

func importID(id project.TransferID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: importType, ID: id.ID}
}

func exportID(id project.TransferID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: exportType, ID: id.ID}
}

// faultRows are the attributes of a mistake in a line of an import.
var faultRows = dynamo.LayoutOf(
	dynamo.OfWhole("line", func(f *project.LineFault) *int { return &f.Line }),
	dynamo.OfText("message", func(f *project.LineFault) *string { return &f.Message }),
)

// importRows are the attributes that imports have of their own.
var importRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("format", func(i *project.Import) *project.Format { return &i.Format })),
	dynamo.Optional(dynamo.OfText("source", func(i *project.Import) *project.Source { return &i.Source })),
	dynamo.Optional(dynamo.OfText("score", func(i *project.Import) *string { return &i.Score })),
	dynamo.RowAttribute[project.Import]{
		Name: "originals",
		Write: func(i *project.Import) types.AttributeValue {
			if len(i.Items) == 0 {
				return nil
			}
			items := make([]string, len(i.Items))
			for n, id := range i.Items {
				items[n] = originalKey(id)
			}
			return dynamo.Texts(items)
		},
		Read: func(i *project.Import, v dynamo.Value) (err error) { i.Items, err = readOriginals(v); return err },
	},
	dynamo.OfWhole("listed", func(i *project.Import) *int { return &i.Listed }),
	dynamo.Optional(dynamo.OfText("state", func(i *project.Import) *project.TransferState { return &i.State })),
	dynamo.Optional(dynamo.OfText("created_by", func(i *project.Import) *project.UserID { return &i.CreatedBy })),
	dynamo.Optional(dynamo.OfText("message", func(i *project.Import) *string { return &i.Message })),
	dynamo.Optional(dynamo.OfInstant("ended_at", func(i *project.Import) *time.Time { return &i.EndedAt })),
	dynamo.OfWhole("bytes", func(i *project.Import) *int64 { return &i.Bytes }),
	dynamo.OfWhole("read", func(i *project.Import) *int64 { return &i.Read }),
	dynamo.OfWhole("lines", func(i *project.Import) *int { return &i.Lines }),
	dynamo.OfWhole("imported", func(i *project.Import) *int { return &i.Imported }),
	dynamo.OfWhole("duplicates", func(i *project.Import) *int { return &i.Duplicates }),
	dynamo.OfWhole("mistakes", func(i *project.Import) *int { return &i.Mistakes }),
	dynamo.OfMaps("faults", func(i *project.Import) *[]project.LineFault { return &i.Faults }, faultRows),
)

func importRow(i project.Import) dynamo.Attrs {
	id := importID(i.TransferID)
	return entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: i.Version, Created: i.CreatedAt, Updated: cmp.Or(i.EndedAt, i.CreatedAt)}, importRows.Row(&i))
}

func decodeImport(item dynamo.Item, i *project.Import) error {
	i.Source = project.FromFile // of an import from before there were others
	h, err := entities.DecodeOwn(importRows, item, i)
	i.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	i.Version, i.CreatedAt = h.Version, h.Created
	return err
}

// exportRows are the attributes that exports have of their own.
var exportRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("format", func(e *project.Export) *project.Format { return &e.Format })),
	dynamo.Optional(dynamo.OfText("status", func(e *project.Export) *project.Status { return &e.Status })),
	dynamo.Optional(dynamo.OfText("state", func(e *project.Export) *project.TransferState { return &e.State })),
	dynamo.Optional(dynamo.OfText("created_by", func(e *project.Export) *project.UserID { return &e.CreatedBy })),
	dynamo.Optional(dynamo.OfText("message", func(e *project.Export) *string { return &e.Message })),
	dynamo.Optional(dynamo.OfInstant("ended_at", func(e *project.Export) *time.Time { return &e.EndedAt })),
	dynamo.OfWhole("items", func(e *project.Export) *int { return &e.Items }),
	dynamo.OfWhole("bytes", func(e *project.Export) *int64 { return &e.Bytes }),
)

func exportRow(e project.Export) dynamo.Attrs {
	id := exportID(e.TransferID)
	return entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: e.Version, Created: e.CreatedAt, Updated: cmp.Or(e.EndedAt, e.CreatedAt)}, exportRows.Row(&e))
}

func decodeExport(item dynamo.Item, e *project.Export) error {
	h, err := entities.DecodeOwn(exportRows, item, e)
	e.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	e.Version, e.CreatedAt = h.Version, h.Created
	return err
}

func removalID(id project.TransferID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: removalType, ID: id.ID}
}

// removalRows are the attributes that removals have of their own.
var removalRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfTexts("items", func(r *project.Removal) *[]string { return &r.Items })),
	dynamo.Optional(dynamo.OfText("import", func(r *project.Removal) *string { return &r.Import })),
	dynamo.Optional(dynamo.OfText("status", func(r *project.Removal) *project.Status { return &r.Status })),
	dynamo.Optional(dynamo.OfFlag("purge", func(r *project.Removal) *bool { return &r.Purge })),
	dynamo.OfText("state", func(r *project.Removal) *project.RemovalState { return &r.State }),
	dynamo.Optional(dynamo.OfText("created_by", func(r *project.Removal) *project.UserID { return &r.CreatedBy })),
	dynamo.Optional(dynamo.OfText("team", func(r *project.Removal) *string { return &r.Team })),
	dynamo.Optional(dynamo.OfInstant("ended_at", func(r *project.Removal) *time.Time { return &r.EndedAt })),
	dynamo.Optional(dynamo.OfInstant("undo_until", func(r *project.Removal) *time.Time { return &r.UndoUntil })),
	dynamo.OfWhole("removed", func(r *project.Removal) *int { return &r.Removed }),
	dynamo.OfWhole("left", func(r *project.Removal) *int { return &r.Left }),
)

func removalRow(r project.Removal) dynamo.Attrs {
	id := removalID(r.TransferID)
	return entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: r.Version, Created: r.CreatedAt, Updated: cmp.Or(r.EndedAt, r.CreatedAt)}, removalRows.Row(&r))
}

func decodeRemoval(item dynamo.Item, r *project.Removal) error {
	h, err := entities.DecodeOwn(removalRows, item, r)
	r.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	r.Version, r.CreatedAt = h.Version, h.Created
	return err
}

// RemovedBy is that a removal removed an item.
func RemovedBy(id project.TransferID, item project.ItemID) entity.Relation {
	return entity.Relation{Subject: removalID(id), Predicate: "item", Object: ItemID(item)}
}
