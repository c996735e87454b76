// Package floor answers the three questions of the benchmark with as little work as we know how: calls over net/http that
// are signed, answers that are decoded in one pass, and texts that are copied as they were spelled into one buffer.
//
// It makes the same calls of DynamoDB as Taggie and the hand-written handler, and checks the same token. It knows the rows
// and questions by heart, and nothing that a server needs besides: no retries, no pages, no permissions. Nobody should
// write a server like that; it shows what is left to gain. Start reading at [Serve].
package floor

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/auth"
)

// server answers the questions.
type server struct {
	store    *store
	verifier *auth.Verifier
	subjects sync.Map // issuer and subject to user id, which never changes
	pages    Pages
}

// Pages says how many notes the questions ask for.
type Pages struct{ Own, Shared int }

// Serve answers until ctx ends. Its settings come in the variables that Taggie has for them.
func Serve(ctx context.Context, pages Pages) error {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("TAGGIE_JWT_KEY"), "HS256:"))
	if err != nil {
		return err
	}
	verifier, err := auth.NewStatic(auth.Static{Keys: []auth.StaticKey{{Algorithm: "HS256", Key: secret}}}, time.Now)
	if err != nil {
		return err
	}
	store, err := newStore(os.Getenv)
	if err != nil {
		return err
	}
	s := &server{store: store, verifier: verifier, pages: pages}

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /notes", s.signedIn(s.notes))
	mux.Handle("GET /notes/detailed", s.signedIn(s.notesDetailed))
	mux.Handle("GET /shared", s.signedIn(s.shared))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})

	listener, err := net.Listen("tcp", os.Getenv("TAGGIE_ADDR"))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// signedIn checks the token and has answer append to the buffer of the response.
func (s *server) signedIn(answer func(ctx context.Context, out []byte, userID string) ([]byte, error)) http.Handler {
	var buffers sync.Pool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := s.userID(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		buffer, _ := buffers.Get().(*[]byte)
		if buffer == nil {
			buffer = new([]byte)
		}
		defer buffers.Put(buffer)
		out, err := answer(r.Context(), append((*buffer)[:0], `{"viewer":{`...), id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out = append(out, "}}"...)
		*buffer = out
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		_, _ = w.Write(out)
	})
}

func (s *server) userID(r *http.Request) (string, error) {
	identity, err := s.verifier.Authenticate(r.Context(), r.Header["Authorization"])
	if err != nil {
		return "", err
	}
	if identity.Subject == "" {
		return "", errors.New("send a token")
	}
	who := [2]string{identity.Issuer, identity.Subject}
	if known, ok := s.subjects.Load(who); ok {
		id, _ := known.(string) // nothing else is stored
		return id, nil
	}
	found, err := s.store.batch(r.Context(), []rowKey{{keys.SubjectPK(who[0], who[1]), keys.SubjectSK}}, Whole)
	if err != nil || len(found) != 1 {
		return "", errors.Join(errors.New("sign up first"), err)
	}
	id, err := found[0].user.value()
	if err != nil {
		return "", err
	}
	s.subjects.Store(who, id)
	return id, nil
}
