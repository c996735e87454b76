package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// RebuildCommand rebuilds queues and statistics, the list of users, or what archives, public scores, or files and items of projects are found by.
type RebuildCommand struct {
	Users    bool   `xor:"which" required:"" help:"The list of users, for administrators. Users who are in it stay so."`
	Archives bool   `xor:"which" required:"" help:"The lists of entities and tags from which archives of users are written. What is in them stays so."`
	Scores   bool   `xor:"which" required:"" help:"The places of public scores, by which they are found by their titles. Those that are right stay so."`
	Tags     bool   `xor:"which" required:"" help:"The tags by which files are found in projects. Those that are right stay so."`
	Items    bool   `xor:"which" required:"" help:"The places of items of projects, by which they are found by their names. Those that are right stay so."`
	Project  string `xor:"which" required:"" help:"Id of the project, as the API gives it."`
	All      bool   `xor:"which" required:"" help:"All projects there are. Labellers wait while their project is rebuilt."`
}

const (
	// rebuildWidth is how many projects are rebuilt at a time: most of the time they wait for indexes to settle.
	rebuildWidth = 16
	// rebuildPatience is how long somebody else may be rebuilding the same project.
	rebuildPatience = 2 * time.Minute
)

// Run rebuilds queues and statistics, beside running servers or without any. Meanwhile nothing is handed out in the projects. Or it puts into the list
// of users who is not in it, entities and tags into the lists from which archives are written, or public scores, or files and items of projects, where
// they are found.
func (c RebuildCommand) Run(ctx context.Context, t *Terminal) error {
	if c.Users {
		return rebuildUsers(ctx, t)
	}
	if c.Archives {
		return rebuildArchives(ctx, t)
	}
	if c.Scores {
		return rebuildScores(ctx, t)
	}
	if c.Tags {
		return rebuildTags(ctx, t)
	}
	if c.Items {
		return rebuildItems(ctx, t)
	}
	var one project.ID
	if !c.All {
		id, err := gid.Parse(c.Project)
		if err != nil || id.Type != "Project" || len(id.Key) != 1 {
			return fmt.Errorf("%q is not the id of a project", c.Project)
		}
		one = project.ID(id.Key[0])
	}
	cfg, err := config.LoadStores(t.Environ)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(t.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := app.OpenStores(ctx, cfg, app.StoresFor{Beside: true, Queues: true, Log: log, Stderr: t.Stderr})
	if err != nil {
		return err
	}
	defer s.Close()
	r := newRebuilding(s, cfg, t, log)
	defer func() { _ = r.bar.Finish() }() // it goes, whatever happened
	if c.All {
		return r.all(ctx)
	}
	if err := r.rebuild(ctx, one); fault.Is(err, fault.NotFound) {
		return fmt.Errorf("there is no project %s", c.Project)
	} else if err != nil {
		return fmt.Errorf("project %s: %w", c.Project, err)
	}
	return nil
}

func rebuildUsers(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		done, err := users.Store{DB: s.DB}.IndexUsers(ctx)
		_, printed := fmt.Fprintf(t.Stdout, "Looked at %d users. %d of them were not in the list.\n", done.Users, done.Indexed)
		for _, id := range done.Taken {
			err = errors.Join(err, fmt.Errorf("user %s is not listed: the address belongs to another user; let the user change it", id))
		}
		return errors.Join(err, printed, done.Unread.Err())
	})
}

func rebuildArchives(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		owned, err := entities.Store{DB: s.DB}.IndexEntities(ctx)
		_, printed := fmt.Fprintf(t.Stdout, "Looked at %d entities. %d of them were not in the list of their scope.\n", owned.Entities, owned.Indexed)
		if err = errors.Join(err, printed); err != nil {
			return errors.Join(err, owned.Unread.Err())
		}
		put, err := filetags.Store{DB: s.DB}.IndexSets(ctx)
		_, printed = fmt.Fprintf(t.Stdout, "Looked at %d sets of tags on items. %d of them were not in the list of their author.\n", put.Sets, put.Indexed)
		return errors.Join(err, printed, owned.Unread.Err(), put.Unread.Err())
	})
}

func rebuildScores(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		done, err := scores.Store{DB: s.DB}.IndexScores(ctx)
		_, printed := fmt.Fprintf(t.Stdout, "Looked at %d public scores. %d scores were not where they are found.\n", done.Public, done.Indexed)
		return errors.Join(err, printed, done.Unread.Err())
	})
}

func rebuildTags(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		tags := filetag.NewService(filetag.Options{Store: filetags.Store{DB: s.DB}, Kept: filetag.Kept{Items: scores.Items{DB: s.DB}, Scores: scores.Store{DB: s.DB}}, Now: s.DB.Now, NewID: uuid.NewString})
		done, err := projects.Store{DB: s.DB}.FollowFiles(ctx, tags.FollowUse)
		_, printed := fmt.Fprintf(t.Stdout, "Looked at %d files of projects. %d of them are found by their tags now.\n", done.Files, done.Followed)
		return errors.Join(err, printed, done.Unread.Err())
	})
}

func rebuildItems(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		done, err := projects.Store{DB: s.DB}.IndexItems(ctx)
		_, printed := fmt.Fprintf(t.Stdout, "Looked at %d items of projects. %d of them were not where they are found.\n", done.Items, done.Indexed)
		return errors.Join(err, printed, done.Unread.Err())
	})
}

// rebuilding makes queues anew, and shows how that goes.
type rebuilding struct {
	labelling.Options
	rebuilder *labelling.Rebuilder
	out       io.Writer
	mu        sync.Mutex // guards what is written
	bar       *progressbar.ProgressBar
}

func newRebuilding(s *app.Stores, cfg config.Config, t *Terminal, log *slog.Logger) *rebuilding {
	r := &rebuilding{out: t.Stdout, bar: newBar(t.Stderr, "Reading items and efforts", progressbar.OptionShowCount())}
	truth := watchedTruth{truth.Store{Store: projects.Store{DB: s.DB}}, r.read}
	r.Options = labelling.Options{Truth: truth, Coordinator: queue.New(s.Redis, queue.Options{Prefix: cfg.RedisPrefix, Log: log}), Now: s.Clock.Now, NewID: uuid.NewString, Log: log}
	r.rebuilder = labelling.NewRebuilder(r.Options, 0)
	return r
}

// watchedTruth tells of what is scanned.
type watchedTruth struct {
	labelling.Truth
	read func(n int)
}

// ScanItems reads all items of a shard.
func (w watchedTruth) ScanItems(ctx context.Context, p project.ID, shard int, page func([]project.Item) error) error {
	return w.Truth.ScanItems(ctx, p, shard, func(items []project.Item) error {
		w.read(len(items))
		return page(items)
	})
}

// ScanEfforts reads all efforts of a shard.
func (w watchedTruth) ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error {
	return w.Truth.ScanEfforts(ctx, p, shard, func(efforts []project.Effort) error {
		w.read(len(efforts))
		return page(efforts)
	})
}

func (r *rebuilding) read(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.bar.Add(n) // it is only shown
}

// say prints a line.
func (r *rebuilding) say(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.bar.Clear() // the next number draws it again
	_, err := fmt.Fprintf(r.out, format+"\n", args...)
	return err
}

// all rebuilds all projects, as far as that is possible.
func (r *rebuilding) all(ctx context.Context) error {
	const page = 100
	var running errgroup.Group
	running.SetLimit(rebuildWidth)
	var mu sync.Mutex
	done, failed := 0, 0
	list := func() error {
		for after := project.ID(""); ; {
			ids, err := r.Truth.ListAllProjects(ctx, after, page)
			if err != nil {
				return err
			}
			for _, id := range ids {
				running.Go(func() error {
					err := r.rebuild(ctx, id)
					if fault.Is(err, fault.NotFound) { // it is being created, and will get its queue with that
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					if done++; err == nil {
						return nil
					}
					failed++
					return r.say("PROBLEM  %s: %s", projectGID(id), err)
				})
			}
			if len(ids) < page {
				return nil
			}
			after = ids[len(ids)-1]
		}
	}
	if err := errors.Join(list(), running.Wait()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d projects were not rebuilt", failed, done)
	}
	return nil
}

func projectGID(id project.ID) string { return gid.Of("Project", string(id)).String() }

// rebuild makes the queue of one project anew, after somebody else if they are doing that, and says what is in it. NotFound.
func (r *rebuilding) rebuild(ctx context.Context, id project.ID) error {
	found, errs := r.Truth.ProjectsByID(ctx, "", []project.ID{id})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	began := r.Now()
	for {
		_, err := r.rebuilder.Rebuild(ctx, id, true)
		if err == nil {
			break
		}
		if !errors.Is(err, labelling.ErrRebuilding) || r.Now().Sub(began) > rebuildPatience {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	took := r.Now().Sub(began)
	state, err := r.Coordinator.State(ctx, id)
	if err != nil {
		return fmt.Errorf("it was rebuilt, and cannot be read: %w", err)
	}
	c := state.Counts
	return r.say("ok       %s %q: rebuilt in %s: %d items, of which %d new, %d claimed, %d finished, %d skipped",
		projectGID(id), found[0].Name, took.Round(time.Millisecond), c.Total, c.New, c.Claimed, c.Finished, c.Skipped)
}
