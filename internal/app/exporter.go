package app

import (
	"context"
	"time"

	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
)

// Exporter returns what writes the results of projects, with users called by the ids that the API has for them, and by their names.
func Exporter(store project.ExportStore, files project.Files, users users.Store) project.Exporter {
	return project.Exporter{
		Store: store, Files: files, Now: time.Now,
		User: func(id project.UserID) string { return gid.Of("User", string(id)).String() },
		Names: func(ctx context.Context, ids []project.UserID) ([]string, error) {
			found, errs := users.UsersByID(ctx, ids)
			for _, err := range errs {
				if err != nil && !fault.Is(err, fault.NotFound) {
					return nil, err
				}
			}
			names := make([]string, len(ids))
			for i, u := range found {
				names[i] = u.Name
			}
			return names, nil
		},
	}
}
