package labelling

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

const (
	// lookWait is for how long a look at a membership waits for others of the same project: those who are due at an event come within it.
	lookWait = 5 * time.Millisecond
	// lookTogether is how many memberships are read together. With the project itself they are the 100 keys of a BatchGetItem.
	lookTogether = 99
)

// lookout looks at the memberships of those who listen to one project, many at a time.
type lookout struct {
	mu   sync.Mutex
	open *look // which takes in more; nil when there is none
}

// look is one read for many.
type look struct {
	users []UserID
	once  sync.Once
	done  chan struct{} // closed when what follows is there
	began time.Time     // when reading began
	found []project.Project
	errs  []error
}

// member returns the project as a member is in it now, and when reading that began. Faults: NotFound for who is none.
func (f *feed[T]) member(ctx context.Context, u UserID) (project.Project, time.Time, error) {
	f.looking.mu.Lock()
	l := f.looking.open
	if l == nil {
		l = &look{done: make(chan struct{})}
		f.looking.open = l
		time.AfterFunc(lookWait, func() { f.look(l) })
	}
	n := len(l.users)
	l.users = append(l.users, u)
	full := len(l.users) == lookTogether
	if full {
		f.looking.open = nil
	}
	f.looking.mu.Unlock()
	if full {
		go f.look(l)
	}
	if err := wait(ctx, l.done); err != nil {
		return project.Project{}, time.Time{}, err
	}
	if l.errs != nil && l.errs[n] != nil {
		return project.Project{}, l.began, l.errs[n]
	}
	return l.found[n], l.began, allow(l.found[n].Member, project.Taggie, "project")
}

// look reads for all who have joined until now.
func (f *feed[T]) look(l *look) {
	l.once.Do(func() {
		defer close(l.done)
		ctx, done, err := f.hub.slot(f.hub.ctx)
		f.looking.mu.Lock()
		if f.looking.open == l {
			f.looking.open = nil
		}
		f.looking.mu.Unlock()
		l.began = time.Now()
		if err == nil {
			defer done()
			err = fault.New(fault.Unavailable, "who is a member could not be read")
			f.hub.guard(ctx, "reading who is a member", func() {
				l.found, l.errs = f.hub.o.Service.Truth.ProjectAs(ctx, f.project, l.users)
				err = nil
			})
		}
		if err != nil {
			l.errs = slices.Repeat([]error{err}, len(l.users))
		}
	})
}
