package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// imports compares an import with a bare loop that writes the same rows.
type imports struct {
	options
	dir    string
	bucket *blob.Bucket // has the file
	queued project.Import
	rows   string // the file of the rows that an import writes
}

// compareImports measures both in alternation, each on an engine of its own whose tables are new, and prints what it finds.
// Both have what the server has under `make run`: all cores, shared with an engine that keeps its tables on disk.
func compareImports(ctx context.Context, o options) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the server does
	}
	dir, err := os.MkdirTemp("", "taggie-bench-imports-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := imports{options: o, dir: dir, rows: filepath.Join(dir, "rows")}
	bucket, stop, err := startBucket(ctx, filepath.Join(dir, "files"))
	if err != nil {
		return err
	}
	defer stop()
	b.bucket = bucket
	if err := b.upload(ctx); err != nil {
		return fmt.Errorf("make the file of items: %w", err)
	}
	// An import that is not counted says which rows there are.
	if err := b.record(ctx); err != nil {
		return fmt.Errorf("record the rows of an import: %w", err)
	}
	out := importReport{to: os.Stdout, options: o}
	out.begin(b.queued.Bytes)
	for n := 1; n <= o.runs; n++ {
		var results [2]written
		for i := range results {
			j := (i + n + 1) % len(results) // 0 1, 1 0, 0 1, …
			one := [2]func(context.Context, *importEngine) (written, error){b.imported, b.looped}[j]
			if results[j], err = b.measure(ctx, one); err != nil {
				return err
			}
		}
		out.add(n, results)
	}
	return errors.Join(out.end(), b.importProfile(ctx))
}

// written is what one way of writing all rows took.
type written struct {
	took   time.Duration
	cpu    time.Duration    // of this process
	engine time.Duration    // CPU time of the engine
	calls  map[string]int64 // of DynamoDB, by operation
	heap   uint64           // the most that was seen, in bytes
}

// measure lets one of the two write all rows into new tables.
func (b imports) measure(ctx context.Context, write func(context.Context, *importEngine) (written, error)) (written, error) {
	_, before, err := cpuTimes("self")
	if err != nil {
		return written{}, err
	}
	e, err := b.startEngine(ctx, nil)
	if err != nil {
		return written{}, err
	}
	w, err := write(ctx, e)
	e.stop()
	_, after, cpuErr := cpuTimes("self") // has the engine's when that has ended
	w.engine = after - before
	return w, errors.Join(err, cpuErr)
}

// clock measures the time and the CPU time that something takes.
type clock struct {
	began time.Time
	used  time.Duration
}

func startClock() (clock, error) {
	used, _, err := cpuTimes("self")
	return clock{time.Now(), used}, err
}

// stop adds what was taken since the start.
func (c clock) stop(w *written) error {
	w.took += time.Since(c.began)
	used, _, err := cpuTimes("self")
	w.cpu += used - c.used
	return err
}

// upload makes the file of items, about 500 bytes for each line.
func (b *imports) upload(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	b.queued = project.Import{
		TransferID: project.TransferID{Project: project.ID(uuid.NewString()), ID: uuid.NewString()},
		Format:     project.JSONLines, State: project.Queued, CreatedBy: "bench", CreatedAt: now, Version: 1,
	}
	var err error
	b.queued.Bytes, err = b.bucket.Upload(ctx, project.ImportKey(b.queued.TransferID), "application/jsonl", func(to io.Writer) error {
		w := bufio.NewWriter(to)
		for i := range b.items {
			fmt.Fprintf(w, `{"externalId":"camera-%02d/2026/%07d.jpg","name":"%s","type":"image/jpeg","url":"https://images.example.com/camera-%02d/2026/%07d.jpg",`+
				`"metadata":{"width":4032,"height":3024,"taken":"2026-01-02T15:04:05Z","place":{"name":"%s","lat":47.%06d,"lon":8.%06d},"tags":["%s","%s"],"caption":"%s","night":%t}}`+"\n",
				i%16, i, sentence(i, 30), i%16, i, words[i%25], i%1_000_000, i*7%1_000_000, words[(i+3)%25], words[(i+8)%25], sentence(i+1, 140), i%3 == 0)
		}
		return w.Flush()
	})
	return err
}

// imported has the server's importer import the file.
func (b imports) imported(ctx context.Context, e *importEngine) (written, error) {
	store := projects.Store{DB: e.db}
	if err := b.createProject(ctx, e); err != nil {
		return written{}, err
	}
	if err := store.PutImport(ctx, "", nil, b.queued, nil, idempotency.Key{}); err != nil {
		return written{}, err
	}
	importer := project.Importer{Store: store, Files: kept{b.bucket}, Now: time.Now}
	runtime.GC() // what is left of the loop is not the importer's
	heap := watchHeap()
	e.calls.reset()
	c, err := startClock()
	if err != nil {
		return written{}, err
	}
	again, err := importer.Run(ctx, task.Task{Kind: project.RunImport, Scope: string(b.queued.Project), ID: b.queued.ID})
	w := written{heap: heap(), calls: e.calls.all()}
	if err := errors.Join(err, c.stop(&w)); err != nil {
		return w, err
	}
	found, errs := store.ImportsByID(ctx, []project.TransferID{b.queued.TransferID})
	if err := errors.Join(errs...); err != nil {
		return w, err
	}
	if !again.IsZero() || found[0].State != project.Done || found[0].Imported != b.items {
		return w, fmt.Errorf("the import is %s with %d items: %s", found[0].State, found[0].Imported, found[0].Message)
	}
	return w, nil
}

// createProject creates the project of the import and its manager, of whom none of the rows that are compared is.
func (b imports) createProject(ctx context.Context, e *importEngine) error {
	now, id := b.queued.CreatedAt, b.queued.Project
	manager := user.User{ID: user.ID(uuid.NewString()), Name: "bench", Email: "bench@example.com", Version: 1, CreatedAt: now, UpdatedAt: now}
	team := project.Team{TeamID: project.TeamID{Project: id, ID: uuid.NewString()}, Name: "Managers", Type: project.Manager, CreatedAt: now}
	p := project.Project{ID: id, Name: "bench", Version: 1, CreatedAt: now, UpdatedAt: now,
		Member: project.Member{Project: id, User: manager.ID, Team: team.ID, Type: team.Type, AddedAt: now}}
	if err := (users.Store{DB: e.db}).CreateUser(ctx, manager, "bench", "bench", idempotency.Key{}); err != nil {
		return err
	}
	return projects.Store{DB: e.db}.CreateProject(ctx, p, nil, team, p.Member, idempotency.Key{})
}

// importProfile takes a CPU profile of one import, when profiles are wanted.
func (b imports) importProfile(ctx context.Context) error {
	if b.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(b.profiles, "import.cpu"))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = b.measure(ctx, b.imported)
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

// kept is a bucket whose file outlives the import, because the next run reads the same one.
type kept struct{ *blob.Bucket }

// Upload keeps the file, which an import empties when it is done.
func (kept) Upload(context.Context, string, string, func(io.Writer) error) (int64, error) {
	return 0, nil
}

// Delete keeps the file.
func (kept) Delete(context.Context, string) error { return nil }
