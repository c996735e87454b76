package labelling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/viewer"
)

func TestASnapshotIsWaitedForWhileTheQueueIsRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		before := s.tape.events[0].Cursor
		steady := s.listen(t.Context(), ada, labelling.Listen{})
		first := next(t, steady)
		require.NotNil(t, first.Snapshot)
		s.tape.lose()
		assert.True(t, next(t, steady).Gap, "at once")
		late := s.listen(t.Context(), grace, labelling.Listen{}) // who has missed nothing
		back := s.listen(t.Context(), grace, labelling.Listen{After: &before})
		assert.True(t, next(t, back).Gap, "at once")
		time.Sleep(time.Hour)
		s.tape.restart()
		for _, c := range []<-chan labelling.Told[string]{steady, late, back} {
			m := next(t, c)
			require.NotNil(t, m.Snapshot)
			assert.Equal(t, "e2", m.Snapshot.State.Cursor.Epoch)
		}
		s.tape.note(labelling.Event{})
		for _, c := range []<-chan labelling.Told[string]{steady, late, back} {
			assert.Equal(t, "hydrated "+s.tape.events[1].Cursor.ID, next(t, c).Hydrated)
		}
	})
}

func TestAStoreMayFailForAWhile(t *testing.T) {
	for what, long := range map[string]bool{
		"Read": false, "Snapshot": false, "ProjectsByID": false, "ProjectAs": false,
		"Read long": true, "Snapshot long": true, "ProjectsByID long": true, "ProjectAs long": true,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				what := what[:len(what)-map[bool]int{true: len(" long")}[long]]
				s := newStudio(t)
				defer s.hub.Close()
				var all []<-chan labelling.Told[string]
				for range 100 {
					c := s.listen(t.Context(), ada, labelling.Listen{})
					require.NotNil(t, next(t, c).Snapshot)
					all = append(all, c)
				}
				began := time.Now()
				fails := func(w string) error {
					if w == what && (long || time.Since(began) < 10*time.Second) {
						return errDown
					}
					return nil
				}
				s.tape.change(func() { s.tape.fails = fails })
				s.truth.setBefore(fails)
				switch what {
				case "Read":
					s.tape.note(labelling.Event{})
				case "ProjectAs":
					s.tape.note(labelling.Event{Cause: labelling.Members, User: ada}) // all of them look
				default:
					s.tape.restart()
				}
				ended := make([]time.Duration, len(all))
				var receiving sync.WaitGroup
				for i, c := range all {
					receiving.Go(func() {
						var snapshot, event bool
						for m := range c {
							snapshot, event = snapshot || m.Snapshot != nil, event || m.Event != nil
							if m.Event != nil || m.Snapshot != nil {
								break
							}
						}
						ended[i] = time.Since(began)
						assert.Equal(t, !long, snapshot || event)
					})
				}
				receiving.Wait()
				for _, d := range ended {
					if long {
						assert.InDelta(t, 35, d.Seconds(), 6, "who listens is sent away")
					} else {
						assert.InDelta(t, 11, d.Seconds(), 2, "it goes on where it was")
					}
				}
				if long && what != "ProjectsByID" {
					_, err := s.hub.Listen(viewer.With(t.Context(), viewer.Viewer{UserID: ada}), labelling.Listen{Project: s.p})
					assert.NoError(t, err, "it waits")
				}
			})
		})
	}
}

// TestWhatIsShortlyAheadIsNotReadTwice has subscribers come while the feed is behind.
func TestWhatIsShortlyAheadIsNotReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		require.NotNil(t, next(t, s.listen(t.Context(), ada, labelling.Listen{})).Snapshot)
		synctest.Wait()
		s.tape.change(func() {
			s.tape.slow = func(what string) {
				if what == "Read" {
					time.Sleep(time.Second)
				}
			}
		})
		reads := s.tape.reads
		s.tape.note(labelling.Event{})
		var all []<-chan labelling.Told[string]
		for range 100 {
			c := s.listen(t.Context(), ada, labelling.Listen{})
			require.NotNil(t, next(t, c).Snapshot)
			all = append(all, c)
		}
		s.tape.note(labelling.Event{})
		for _, c := range all {
			assert.Equal(t, s.tape.events[2].Cursor, next(t, c).Event.Cursor)
		}
		s.tape.mu.Lock()
		assert.LessOrEqual(t, s.tape.reads, reads+3)
		s.tape.mu.Unlock()
	})
}

func TestWhoLeavesWhileASnapshotIsTakenIsNotShownIt(t *testing.T) {
	for _, begun := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStudio(t)
			defer s.hub.Close()
			steady := s.listen(t.Context(), ada, labelling.Listen{})
			require.NotNil(t, next(t, steady).Snapshot)
			s.tape.change(func() {
				var once sync.Once
				s.tape.slow = func(what string) {
					if what == "Snapshot" {
						once.Do(func() {
							s.truth.mu.Lock()
							delete(s.truth.members, ada)
							s.truth.mu.Unlock()
							s.tape.note(labelling.Event{Cause: labelling.Members, User: ada})
						})
					}
				}
			})
			if begun {
				s.tape.restart()
				assert.True(t, next(t, steady).Gap)
				over(t, steady)
				return
			}
			_, err := s.hub.Listen(viewer.With(t.Context(), viewer.Viewer{UserID: ada}), labelling.Listen{Project: s.p})
			require.True(t, fault.Is(err, fault.NotFound), err)
			assert.Equal(t, labelling.Members, next(t, steady).Event.Cause)
			over(t, steady)
		})
	}
}

func TestHydratingMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		for _, hydrate := range []func() []string{func() []string { panic("broken") }, func() []string { return nil }} {
			h := s.server(func(context.Context, project.ID, []labelling.Event) []string { return hydrate() })
			c, err := h.Listen(viewer.With(t.Context(), viewer.Viewer{UserID: ada}), labelling.Listen{Project: s.p})
			require.NoError(t, err)
			require.NotNil(t, next(t, c).Snapshot)
			for range 2 {
				s.tape.note(labelling.Event{})
				m := next(t, c)
				assert.NotNil(t, m.Event)
				assert.Empty(t, m.Hydrated)
			}
			h.Close()
		}
	})
}
