package dynamo

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
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

func importRow(i project.Import) attrs {
	row := nonEmpty(map[string]string{
		"format": string(i.Format), "state": string(i.State), "created_by": string(i.CreatedBy), "message": i.Message,
		"source": string(i.Source), "score": i.Score,
	})
	if len(i.Items) > 0 {
		items := make([]string, len(i.Items))
		for n, id := range i.Items {
			items[n] = originalKey(id)
		}
		row["originals"] = texts(items)
	}
	updated := i.CreatedAt
	if !i.EndedAt.IsZero() {
		row["ended_at"], updated = str(keys.Instant(i.EndedAt)), i.EndedAt
	}
	for name, n := range map[string]int64{
		"bytes": i.Bytes, "read": i.Read, "lines": int64(i.Lines), "listed": int64(i.Listed), "imported": int64(i.Imported),
		"duplicates": int64(i.Duplicates), "mistakes": int64(i.Mistakes),
	} {
		row[name] = number(n)
	}
	faults := make([]types.AttributeValue, len(i.Faults))
	for n, f := range i.Faults {
		faults[n] = &types.AttributeValueMemberM{Value: attrs{"line": number(int64(f.Line)), "message": str(f.Message)}}
	}
	row["faults"] = &types.AttributeValueMemberL{Value: faults}
	id := importID(i.TransferID)
	return entityRow(entityKey(id), header{ID: id, Version: i.Version, Created: i.CreatedAt, Updated: updated}, row)
}

func decodeImport(item []byte, i *project.Import) error {
	var h header
	i.Source = project.FromFile // of an import from before there were others
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "format":
			err = readText(v, &i.Format)
		case "source":
			err = readText(v, &i.Source)
		case "score":
			i.Score, err = v.str()
		case "originals":
			i.Items, err = readOriginals(v)
		case "listed":
			i.Listed, err = v.int()
		case "state":
			err = readText(v, &i.State)
		case "created_by":
			err = readText(v, &i.CreatedBy)
		case "message":
			i.Message, err = v.str()
		case "ended_at":
			i.EndedAt, err = v.instant()
		case "bytes":
			err = readLong(v, &i.Bytes)
		case "read":
			err = readLong(v, &i.Read)
		case "lines":
			i.Lines, err = v.int()
		case "imported":
			i.Imported, err = v.int()
		case "duplicates":
			i.Duplicates, err = v.int()
		case "mistakes":
			i.Mistakes, err = v.int()
		case "faults":
			i.Faults, err = readFaults(v)
		default:
			err = h.read(name, v)
		}
		return err
	})
	i.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	i.Version, i.CreatedAt = h.Version, h.Created
	return err
}

func exportRow(e project.Export) attrs {
	row := nonEmpty(map[string]string{
		"format": string(e.Format), "status": string(e.Status), "state": string(e.State), "created_by": string(e.CreatedBy), "message": e.Message,
	})
	updated := e.CreatedAt
	if !e.EndedAt.IsZero() {
		row["ended_at"], updated = str(keys.Instant(e.EndedAt)), e.EndedAt
	}
	row["items"], row["bytes"] = number(int64(e.Items)), number(e.Bytes)
	id := exportID(e.TransferID)
	return entityRow(entityKey(id), header{ID: id, Version: e.Version, Created: e.CreatedAt, Updated: updated}, row)
}

func decodeExport(item []byte, e *project.Export) error {
	var h header
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "format":
			err = readText(v, &e.Format)
		case "status":
			err = readText(v, &e.Status)
		case "state":
			err = readText(v, &e.State)
		case "created_by":
			err = readText(v, &e.CreatedBy)
		case "message":
			e.Message, err = v.str()
		case "ended_at":
			e.EndedAt, err = v.instant()
		case "items":
			e.Items, err = v.int()
		case "bytes":
			err = readLong(v, &e.Bytes)
		default:
			err = h.read(name, v)
		}
		return err
	})
	e.TransferID = project.TransferID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}
	e.Version, e.CreatedAt = h.Version, h.Created
	return err
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
