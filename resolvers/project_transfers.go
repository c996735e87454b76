package resolvers

import (
	"context"
	"maps"
	"slices"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
)

// ProjectImport returns the resolvers of ProjectImport.
func (r *Resolver) ProjectImport() graph.ProjectImportResolver { return projectImports{r} }

// ProjectExport returns the resolvers of ProjectExport.
func (r *Resolver) ProjectExport() graph.ProjectExportResolver { return projectExports{r} }

type projectImports struct{ *Resolver }

func (projectImports) Project(ctx context.Context, i *project.Import) (*project.Project, error) {
	return projectOf(ctx, i.TransferID.Project)
}

func (projectImports) Message(_ context.Context, i *project.Import) (*string, error) {
	return orNull(i.Message), nil
}

func (projectImports) CreatedBy(ctx context.Context, i *project.Import) (*user.User, error) {
	return person(ctx, i.CreatedBy)
}

type projectExports struct{ *Resolver }

func (projectExports) Project(ctx context.Context, e *project.Export) (*project.Project, error) {
	return projectOf(ctx, e.TransferID.Project)
}

func (projectExports) Status(_ context.Context, e *project.Export) (*project.Status, error) {
	if e.Status == "" {
		return nil, nil
	}
	return &e.Status, nil
}

func (projectExports) Message(_ context.Context, e *project.Export) (*string, error) {
	return orNull(e.Message), nil
}

func (projectExports) CreatedBy(ctx context.Context, e *project.Export) (*user.User, error) {
	return person(ctx, e.CreatedBy)
}

func (projectExports) Bytes(_ context.Context, e *project.Export) (*int64, error) {
	if e.State != project.Done {
		return nil, nil
	}
	return &e.Bytes, nil
}

func (r projectExports) URL(ctx context.Context, e *project.Export) (*string, error) {
	if e.State != project.Done { // there is no file that would need a name
		return nil, nil
	}
	p, err := projectOf(ctx, e.TransferID.Project)
	if p == nil {
		return nil, err
	}
	url, _, err := r.Projects.DownloadLink(ctx, r.Files, *e, p.Name)
	return orNull(url), err
}

// uploadOf returns how to upload the file of an import, nil when it awaits none.
func (r *Resolver) uploadOf(ctx context.Context, i project.Import) (*model.Upload, error) {
	link, ok, err := r.Projects.UploadLink(ctx, r.Files, i)
	if !ok {
		return nil, err
	}
	upload := &model.Upload{Method: "PUT", URL: link.URL, ExpiresAt: link.ExpiresAt}
	for _, name := range slices.Sorted(maps.Keys(link.Headers)) {
		upload.Headers = append(upload.Headers, model.UploadHeader{Name: name, Value: link.Headers[name]})
	}
	return upload, nil
}
