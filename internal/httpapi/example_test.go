package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

// nobody lets everybody in as nobody.
type nobody struct{}

func (nobody) Authenticate(context.Context, []string) (viewer.Identity, error) {
	return viewer.Identity{}, nil
}

func ExampleNew() {
	users, notes := user.NewService(user.Options{}), note.NewService(note.Options{})
	handler, err := httpapi.New(httpapi.Options{
		Schema:  graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{Users: users, Notes: notes}}),
		Loaders: loaders.Sources{Users: users, Notes: notes, Entities: entity.NewService(entity.Options{}), Projects: project.NewService(project.Options{})},
		Auth:    nobody{},
		SignIn: func(_ context.Context, identity viewer.Identity) (viewer.Viewer, error) {
			return viewer.Viewer{Identity: identity}, nil
		},
		Metrics:          telemetry.NewMetrics(),
		Log:              slog.New(slog.DiscardHandler),
		OperationTimeout: 10 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query": "{ viewer { name } }"}`))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	fmt.Println(response.Code, response.Body)
	// Output: 200 {"data":{"viewer":null}}
}
