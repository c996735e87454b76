package fleets

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/taggie/taggie/internal/apitest"
)

// boardDocuments returns what the board asks, by the name of the operation: each with the fragments that it uses.
func boardDocuments(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("console/src/board/operations.graphql")
	require.NoError(t, err)
	all, err := parser.ParseQuery(&ast.Source{Input: string(text)})
	require.NoError(t, err)
	documents := map[string]string{}
	for _, operation := range all.Operations {
		one := &ast.QueryDocument{Operations: ast.OperationList{operation}}
		used(all.Fragments, operation.SelectionSet, one)
		var out strings.Builder
		formatter.NewFormatter(&out).FormatQueryDocument(one)
		documents[operation.Name] = out.String()
	}
	return documents
}

// used adds the fragments that a selection uses to a document, each once.
func used(all ast.FragmentDefinitionList, selection ast.SelectionSet, document *ast.QueryDocument) {
	for _, s := range selection {
		switch s := s.(type) {
		case *ast.Field:
			used(all, s.SelectionSet, document)
		case *ast.InlineFragment:
			used(all, s.SelectionSet, document)
		case *ast.FragmentSpread:
			if document.Fragments.ForName(s.Name) == nil {
				fragment := all.ForName(s.Name)
				document.Fragments = append(document.Fragments, fragment)
				used(all, fragment.SelectionSet, document)
			}
		}
	}
}

// follows has a user listen to a project as the board does. It returns when the snapshot is there, with what ends it.
func (w *capacityWorld) follows(s *server, user *apitest.Client, project string) (end func(), err error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ws, response, err := websocket.Dial(ctx, strings.Replace(s.at(), "http", "ws", 1)+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	ws.SetReadLimit(16 << 20)
	over := make(chan struct{})
	end = func() { cancel(); _ = ws.CloseNow(); <-over }
	began := make(chan struct{})
	go func() {
		defer close(over)
		err = w.hearsOf(ctx, ws, apitest.Vars{"query": w.board["Events"], "variables": apitest.Vars{"project": project}}, user.Token, func() { close(began) })
	}()
	select {
	case <-began:
		return end, nil
	case <-over:
		end()
		return nil, fmt.Errorf("follow a project: %w", err)
	}
}

// hearsOf signs in on a socket, subscribes, and tells of the snapshot, and counts the events, until the socket ends.
func (w *capacityWorld) hearsOf(ctx context.Context, ws *websocket.Conn, payload apitest.Vars, token string, snapshot func()) error {
	if err := wsjson.Write(ctx, ws, apitest.Vars{"type": "connection_init", "payload": apitest.Vars{"Authorization": "Bearer " + token}}); err != nil {
		return err
	}
	for {
		_, message, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		switch text := string(message); {
		case strings.Contains(text, `"connection_ack"`):
			err = wsjson.Write(ctx, ws, apitest.Vars{"type": "subscribe", "id": "1", "payload": payload})
		case strings.Contains(text, `"type":"ping"`):
			err = wsjson.Write(ctx, ws, apitest.Vars{"type": "pong"})
		case strings.Contains(text, `"ProjectEvent"`):
			w.told.Add(1)
		case strings.Contains(text, `"ProjectSnapshot"`):
			snapshot()
		default:
			return fmt.Errorf("unexpected message %.300s", text)
		}
		if err != nil {
			return err
		}
	}
}
