package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/taggie/taggie/bench/floor"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
)

// handwritten answers the three questions over net/http as one would without GraphQL: one function for each, rows into
// structs with attributevalue, structs out with encoding/json. It makes the same calls of DynamoDB as Taggie, with the
// same client set-up, and checks the same token.
type handwritten struct {
	store
	verifier *auth.Verifier
	subjects sync.Map // subject to user id, which never changes
}

// serveHandwritten runs the handler until ctx ends. Its settings come in the variables that Taggie has for them.
func serveHandwritten(ctx context.Context) error {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("TAGGIE_JWT_KEY"), "HS256:"))
	if err != nil {
		return err
	}
	verifier, err := auth.NewStatic(auth.Static{Keys: []auth.StaticKey{{Algorithm: "HS256", Key: secret}}}, time.Now)
	if err != nil {
		return err
	}
	client, err := awsclient.DynamoDB(ctx, awsclient.Options{Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")})
	if err != nil {
		return err
	}
	h := &handwritten{store: store{client: client, table: os.Getenv("TAGGIE_TABLE_PREFIX") + "notes"}, verifier: verifier}

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /notes", h.signedIn(h.notes))
	mux.Handle("GET /notes/detailed", h.signedIn(h.notesDetailed))
	mux.Handle("GET /shared", h.signedIn(h.shared))
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

// signedIn checks the token and hands the user's id to answer, whose result it writes.
func (h *handwritten) signedIn(answer func(ctx context.Context, userID string) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := h.userID(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		out, err := answer(r.Context(), id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(map[string]any{"viewer": out})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

func (h *handwritten) userID(r *http.Request) (string, error) {
	identity, err := h.verifier.Authenticate(r.Context(), r.Header["Authorization"])
	if err != nil {
		return "", err
	}
	if identity.Subject == "" {
		return "", errors.New("send a token")
	}
	who := [2]string{identity.Issuer, identity.Subject}
	if known, ok := h.subjects.Load(who); ok {
		id, _ := known.(string) // nothing else is stored
		return id, nil
	}
	found, err := batch[person](r.Context(), h.store, []rowKey{{keys.SubjectPK(who[0], who[1]), keys.SubjectSK}}, floor.Whole)
	if err != nil || len(found) != 1 {
		return "", errors.Join(errors.New("sign up first"), err)
	}
	h.subjects.Store(who, found[0].ID)
	return found[0].ID, nil
}

type list[T any] struct {
	Nodes    []T      `json:"nodes"`
	PageInfo pageInfo `json:"pageInfo"`
}

type pageInfo struct {
	HasNextPage bool `json:"hasNextPage"`
}

func (h *handwritten) profile(ctx context.Context, id string) (profile, error) {
	found, err := batch[profile](ctx, h.store, []rowKey{{keys.UserPK(id), keys.ProfileSK}}, floor.Profiles)
	if err != nil {
		return profile{}, err
	}
	if len(found) != 1 {
		return profile{}, errors.New("no such user")
	}
	return found[0], nil
}

func ownNotesOf[T any](ctx context.Context, s store, id string) ([]T, error) {
	low, high := keys.NoteRange(time.Time{}, time.Time{})
	return queryRows[T](ctx, s, span{pk: keys.UserPK(id), low: low, high: high}, floor.Whole, ownNotes+1)
}

// notes is question 1: the user and 100 notes.
func (h *handwritten) notes(ctx context.Context, id string) (any, error) {
	self, err := h.profile(ctx, id)
	if err != nil {
		return nil, err
	}
	notes, err := ownNotesOf[flatNote](ctx, h.store, id)
	if err != nil {
		return nil, err
	}
	return struct {
		profile
		Notes list[flatNote] `json:"notes"`
	}{self, cut(notes, ownNotes)}, nil
}

func cut[T any](rows []T, n int) list[T] {
	return list[T]{Nodes: rows[:min(n, len(rows))], PageInfo: pageInfo{HasNextPage: len(rows) > n}}
}

type tagged struct {
	Value string `json:"value"`
}

type access struct {
	Permission string `json:"permission"`
	Node       person `json:"node"`
}

type detailedNote struct {
	flatNote
	Tags       []tagged `json:"tags"`
	Owner      person   `json:"owner"`
	AccessList struct {
		Edges []access `json:"edges"`
	} `json:"accessList"`
}

// notesDetailed is question 2: the same with tags, owner, and the users with access.
func (h *handwritten) notesDetailed(ctx context.Context, id string) (any, error) {
	self, err := h.profile(ctx, id)
	if err != nil {
		return nil, err
	}
	notes, err := ownNotesOf[taggedNote](ctx, h.store, id)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(notes))
	for i, n := range notes {
		ids[i] = n.ID
	}
	low, high := keys.OwnerShareRange(slices.Min(ids), slices.Max(ids))
	shares, err := queryRows[share](ctx, h.store, span{index: "GSI1", pk: keys.OwnerPK(id), low: low, high: high}, floor.Shares, 2000)
	if err != nil {
		return nil, err
	}
	byNote := make(map[string][]share, len(notes))
	wanted := map[string]bool{}
	var profiles []rowKey
	for _, s := range shares {
		byNote[s.Note] = append(byNote[s.Note], s)
		if !wanted[s.User] {
			wanted[s.User] = true
			profiles = append(profiles, rowKey{keys.UserPK(s.User), keys.ProfileSK})
		}
	}
	people, err := h.people(ctx, profiles)
	if err != nil {
		return nil, err
	}
	detailed := make([]detailedNote, len(notes))
	for i, n := range notes {
		d := &detailed[i]
		d.flatNote, d.Owner = n.flatNote, self.person
		slices.Sort(n.Tags)
		d.Tags = make([]tagged, len(n.Tags))
		for j, value := range n.Tags {
			d.Tags[j].Value = value
		}
		d.AccessList.Edges = make([]access, 0, len(byNote[n.ID]))
		for _, s := range byNote[n.ID] {
			d.AccessList.Edges = append(d.AccessList.Edges, access{Permission: s.Permission, Node: people[s.User]})
		}
	}
	return struct {
		profile
		Notes list[detailedNote] `json:"notes"`
	}{self, cut(detailed, ownNotes)}, nil
}

func (h *handwritten) people(ctx context.Context, profiles []rowKey) (map[string]person, error) {
	read, err := batch[person](ctx, h.store, profiles, floor.Profiles)
	if err != nil {
		return nil, err
	}
	people := make(map[string]person, len(read))
	for _, p := range read {
		people[p.ID] = p
	}
	return people, nil
}

type sharedNote struct {
	flatNote
	Owner person `json:"owner"`
}

// shared is question 3: 300 notes that others shared with the user, with their owners.
func (h *handwritten) shared(ctx context.Context, id string) (any, error) {
	self, err := h.profile(ctx, id)
	if err != nil {
		return nil, err
	}
	const behind = "\U0010FFFF" // sorts behind every id
	shares, err := queryRows[share](ctx, h.store, span{pk: keys.UserPK(id), low: keys.SharedPrefix, high: keys.SharedPrefix + behind}, floor.Shares, sharedNotes+1)
	if err != nil {
		return nil, err
	}
	wanted := make([]rowKey, len(shares))
	for i, s := range shares {
		wanted[i] = rowKey{keys.NotePK(s.Note), keys.LocatorSK}
	}
	locators, err := batch[locator](ctx, h.store, wanted, floor.Locators)
	if err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	var profiles []rowKey
	for i, l := range locators {
		deadline := l.Deadline
		if deadline == "" {
			deadline = "~"
		}
		wanted[i] = rowKey{keys.UserPK(l.Owner), "NOTE#" + deadline + "#" + strings.TrimPrefix(l.PK, "NOTE#")}
		if !owners[l.Owner] {
			owners[l.Owner] = true
			profiles = append(profiles, rowKey{keys.UserPK(l.Owner), keys.ProfileSK})
		}
	}
	read, err := batch[flatNote](ctx, h.store, wanted[:len(locators)], floor.Whole)
	if err != nil {
		return nil, err
	}
	people, err := h.people(ctx, profiles)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]flatNote, len(read))
	for _, n := range read {
		byID[n.ID] = n
	}
	notes := make([]sharedNote, 0, len(shares))
	for _, s := range shares {
		n, ok := byID[s.Note]
		if !ok {
			return nil, fmt.Errorf("the note %s could not be read", s.Note)
		}
		notes = append(notes, sharedNote{flatNote: n, Owner: people[n.Owner]})
	}
	return struct {
		profile
		SharedNotes list[sharedNote] `json:"sharedNotes"`
	}{self, cut(notes, sharedNotes)}, nil
}
