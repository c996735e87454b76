package dynamo

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/project"
)

const (
	importType = "Import"
	exportType = "Export"
)

func importID(id project.TransferID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: importType, ID: id.ID}
}

func exportID(id project.TransferID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: exportType, ID: id.ID}
}

// importRows are the attributes that imports have of their own.
var importRows = layoutOf(
	optional(ofText("format", func(i *project.Import) *project.Format { return &i.Format })),
	optional(ofText("source", func(i *project.Import) *project.Source { return &i.Source })),
	optional(ofText("score", func(i *project.Import) *string { return &i.Score })),
	rowAttribute[project.Import]{
		name: "originals",
		write: func(i *project.Import) types.AttributeValue {
			if len(i.Items) == 0 {
				return nil
			}
			items := make([]string, len(i.Items))
			for n, id := range i.Items {
				items[n] = originalKey(id)
			}
			return texts(items)
		},
		read: func(i *project.Import, v value) (err error) { i.Items, err = readOriginals(v); return err },
	},
	ofWhole("listed", func(i *project.Import) *int { return &i.Listed }),
	optional(ofText("state", func(i *project.Import) *project.TransferState { return &i.State })),
	optional(ofText("created_by", func(i *project.Import) *project.UserID { return &i.CreatedBy })),
	optional(ofText("message", func(i *project.Import) *string { return &i.Message })),
	optional(ofInstant("ended_at", func(i *project.Import) *time.Time { return &i.EndedAt })),
	ofWhole("bytes", func(i *project.Import) *int64 { return &i.Bytes }),
	ofWhole("read", func(i *project.Import) *int64 { return &i.Read }),
	ofWhole("lines", func(i *project.Import) *int { return &i.Lines }),
	ofWhole("imported", func(i *project.Import) *int { return &i.Imported }),
	ofWhole("duplicates", func(i *project.Import) *int { return &i.Duplicates }),
	ofWhole("mistakes", func(i *project.Import) *int { return &i.Mistakes }),
	rowAttribute[project.Import]{
		name:  "faults",
		write: func(i *project.Import) types.AttributeValue { return faultList(i.Faults) },
		read:  func(i *project.Import, v value) (err error) { i.Faults, err = readFaults(v); return err },
	},
)

func importRow(i project.Import) attrs {
	id := importID(i.TransferID)
	return entityRow(entityKey(id), header{ID: id, Version: i.Version, Created: i.CreatedAt, Updated: cmp.Or(i.EndedAt, i.CreatedAt)}, importRows.row(&i))
}

func decodeImport(item []byte, i *project.Import) error {
	i.Source = project.FromFile // of an import from before there were others
	h, err := decodeOwn(importRows, item, i)
	i.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	i.Version, i.CreatedAt = h.Version, h.Created
	return err
}

// exportRows are the attributes that exports have of their own.
var exportRows = layoutOf(
	optional(ofText("format", func(e *project.Export) *project.Format { return &e.Format })),
	optional(ofText("status", func(e *project.Export) *project.Status { return &e.Status })),
	optional(ofText("state", func(e *project.Export) *project.TransferState { return &e.State })),
	optional(ofText("created_by", func(e *project.Export) *project.UserID { return &e.CreatedBy })),
	optional(ofText("message", func(e *project.Export) *string { return &e.Message })),
	optional(ofInstant("ended_at", func(e *project.Export) *time.Time { return &e.EndedAt })),
	ofWhole("items", func(e *project.Export) *int { return &e.Items }),
	ofWhole("bytes", func(e *project.Export) *int64 { return &e.Bytes }),
)

func exportRow(e project.Export) attrs {
	id := exportID(e.TransferID)
	return entityRow(entityKey(id), header{ID: id, Version: e.Version, Created: e.CreatedAt, Updated: cmp.Or(e.EndedAt, e.CreatedAt)}, exportRows.row(&e))
}

func decodeExport(item []byte, e *project.Export) error {
	h, err := decodeOwn(exportRows, item, e)
	e.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	e.Version, e.CreatedAt = h.Version, h.Created
	return err
}

func faultList(all []project.LineFault) types.AttributeValue {
	faults := make([]types.AttributeValue, len(all))
	for n, f := range all {
		faults[n] = &types.AttributeValueMemberM{Value: attrs{"line": number(int64(f.Line)), "message": str(f.Message)}}
	}
	return &types.AttributeValueMemberL{Value: faults}
}

// readFaults reads the mistakes of an import.
func readFaults(v value) ([]project.LineFault, error) {
	of, err := v.any()
	if err != nil {
		return nil, err
	}
	list, _ := of.([]any) // we wrote it
	var faults []project.LineFault
	for _, element := range list {
		f, _ := element.(map[string]any)
		line, _ := f["line"].(json.Number)
		n, err := line.Int64()
		if err != nil {
			return nil, err
		}
		faults = append(faults, project.LineFault{Line: int(n), Message: asText(f["message"])})
	}
	return faults, nil
}

func readLong(v value, into *int64) error {
	n, err := v.int()
	*into = int64(n)
	return err
}
