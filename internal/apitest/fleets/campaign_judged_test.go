package fleets

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/campaign"
)

// agreesWithin is how long after a campaign servers may tell something else than what is stored: the last thing that was broken may have been Redis.
const agreesWithin = 15 * time.Second

// ends has everybody come to an end, holds the history against what is stored, and returns the verdict.
func (e *expedition) ends() []campaign.Violation {
	t := e.fleet.t
	t.Helper()
	e.stop()
	e.working.Wait()
	rested := time.Now()
	assert.Eventually(t, func() bool { return len(campaign.Followed(e.history)) == 0 }, apitest.Patience, 100*time.Millisecond, "who follows scores is told what happened to them")
	e.unfollow()
	e.followed.Wait()
	var stored campaign.Stored
	for first := true; first || time.Since(rested) < apitest.Patience && len(campaign.Disagreements(stored)) > 0; first = false {
		if !first {
			time.Sleep(200 * time.Millisecond)
		}
		e.kept = time.Since(rested) // reading takes seconds too
		stored = e.stored()
	}
	assert.Less(t, e.kept, agreesWithin, "until what servers tell is what is stored")
	c := &workforce{fleet: e.fleet, Crew: e.Crew}
	c.mark(e.servers[0])
	e.watching.Wait()
	stored = e.stored()
	stored.Notes = e.writings()
	for _, m := range e.makers {
		require.NoError(t, m.Stored(t.Context(), &stored))
	}
	e.history.Stored(stored)
	require.NoError(t, e.history.Err())
	return campaign.Check(e.history, stored, e.bounds)
}

// stored reads what is stored from DynamoDB, and what each server tells of it.
func (e *expedition) stored() campaign.Stored {
	t := e.fleet.t
	t.Helper()
	truth := e.fleet.truth()
	efforts, ids := map[string]int{}, []string{}
	for cursor := any(nil); ; {
		a := e.servers[0].by(e.Crew.Client).Must(`query($p: ID!, $c: Cursor) { project(id: $p) { items(first: 200, after: $c) { pageInfo { hasNextPage endCursor }
			nodes { id efforts(first: 50) { nodes { id } } } } } }`, apitest.Vars{"p": e.Crew.ID, "c": cursor})
		for _, node := range a.List("project.items.nodes") {
			i := &apitest.Answer{T: t, Body: a.Body, Data: node.(map[string]any)}
			ids = append(ids, i.Str("id"))
			efforts[i.Str("id")] = len(i.List("efforts.nodes"))
		}
		if a.At("project.items.pageInfo.hasNextPage") != true {
			break
		}
		cursor = a.At("project.items.pageInfo.endCursor")
	}
	s := campaign.Stored{Items: make([]campaign.Item, len(ids))}
	var reading sync.WaitGroup
	const readers = 8
	for r := range readers {
		reading.Go(func() {
			for n := r; n < len(ids); n += readers {
				item, done, err := truth.ItemWithEfforts(t.Context(), apitest.ItemKey(t, ids[n]))
				if !assert.NoError(t, err) {
					return
				}
				one := campaign.Item{ID: ids[n], Status: string(item.Status), Version: item.Version, Token: item.Claim.Token}
				if item.Claim.User != "" {
					one.Holder = userGID(string(item.Claim.User))
				}
				for _, d := range done {
					one.Efforts = append(one.Efforts, campaign.Effort{
						ID: apitest.GIDOf("ProjectItemEffort", string(d.Project), d.ID), User: userGID(string(d.User)), Undone: !d.UndoneAt.IsZero(), At: d.FinishedAt,
					})
				}
				s.Items[n] = one
			}
		})
	}
	reading.Wait()
	for _, one := range e.servers {
		told := e.answers(one)
		told.Efforts = efforts
		s.Answers = append(s.Answers, told)
	}
	return s
}

// answers asks a server for counts and statistics.
func (e *expedition) answers(s *server) campaign.Answer {
	var data struct {
		Project *struct {
			Queue *struct{ Counts campaign.Counts }
			Teams []struct {
				Statistics *struct {
					Users []struct {
						User     struct{ ID string }
						Finished int
					}
				}
			}
		}
	}
	told := campaign.Answer{Server: fmt.Sprintf("server %d", s.number), Finished: map[string]int{}}
	ctx, cancel := context.WithTimeout(e.fleet.t.Context(), clientWaits)
	defer cancel()
	errs, err := s.ask(ctx, e.Crew.Token, `query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped } }
		teams { statistics { users { user { id } finished } } } } }`, apitest.Vars{"p": e.Crew.ID}, &data)
	if err != nil || len(errs) > 0 || data.Project == nil || data.Project.Queue == nil {
		return told // which is not what is stored
	}
	told.Counts = data.Project.Queue.Counts
	for _, team := range data.Project.Teams {
		if team.Statistics != nil {
			for _, u := range team.Statistics.Users {
				told.Finished[u.User.ID] += u.Finished
			}
		}
	}
	return told
}

// writings reads the notes with all their versions.
func (e *expedition) writings() []campaign.Note {
	t := e.fleet.t
	t.Helper()
	var all []campaign.Note
	for i, id := range e.notes {
		n := campaign.Note{ID: id, Contents: map[int]string{}}
		who := e.servers[0].by(e.Labellers[i%len(e.Labellers)])
		for cursor := any(nil); ; {
			a := who.Must(`query($n: ID!, $c: Cursor) { note(id: $n) { version content versions(first: 100, after: $c) { pageInfo { hasNextPage endCursor } nodes { number content } } } }`,
				apitest.Vars{"n": id, "c": cursor})
			n.Version = int(a.At("note.version").(float64))
			n.Contents[n.Version] = a.Str("note.content")
			for _, node := range a.List("note.versions.nodes") {
				version := node.(map[string]any)
				n.Contents[int(version["number"].(float64))] = version["content"].(string)
			}
			if a.At("note.versions.pageInfo.hasNextPage") != true {
				break
			}
			cursor = a.At("note.versions.pageInfo.endCursor")
		}
		all = append(all, n)
	}
	return all
}

func userGID(id string) string { return apitest.GIDOf("User", id) }

// result sums a campaign up.
type result struct {
	name                                           string
	faults, acknowledged, refused, unknown, events int
	idle, longest, agreed                          time.Duration
	seed                                           uint64
	verdict                                        string
}

// result sums up what came of the campaign.
func (e *expedition) result(name string, took time.Duration, violations []campaign.Violation) result {
	r := result{name: name, seed: e.seed, longest: took, agreed: e.kept, verdict: "kept"}
	operations, faults := e.history.Operations(), e.history.Faults()
	r.faults = len(faults)
	for _, o := range operations {
		switch o.Outcome {
		case campaign.Acknowledged:
			r.acknowledged++
		case campaign.Refused:
			r.refused++
		case campaign.Unknown:
			r.unknown++
		}
	}
	for _, f := range faults {
		if idle, known := campaign.IdleAfter(f, operations, faults); known {
			r.idle = max(r.idle, idle)
		}
	}
	for _, told := range e.history.Tellings() {
		if told.Telling == campaign.Event {
			r.events++
		}
	}
	if len(violations) > 0 {
		r.verdict = fmt.Sprintf("broken %d times", len(violations))
	}
	return r
}

// row is a line of the table in docs/reliability.md.
func (r result) row() string {
	idle := "–"
	if r.idle > 0 {
		idle = fmt.Sprintf("%.1f s", r.idle.Seconds())
	}
	return fmt.Sprintf("| %s | %.0f s | %d | %d | %d | %d | %d | %s | %.1f s | %d | %s |",
		r.name, r.longest.Seconds(), r.faults, r.acknowledged, r.refused, r.unknown, r.events, idle, r.agreed.Seconds(), r.seed, r.verdict)
}

// judged ends a campaign, asserts that no rule was broken, and sums the campaign up.
func (e *expedition) judged(name string, began time.Time) result {
	t := e.fleet.t
	t.Helper()
	violations := e.ends()
	r := e.result(name, time.Since(began), violations)
	t.Logf("campaign: %s", r.row())
	of := map[campaign.Rule][]string{}
	for _, v := range violations {
		of[v.Rule] = append(of[v.Rule], v.How)
	}
	for rule, all := range of {
		t.Errorf("%s: broken %d times, such as\n%s", rule, len(all), strings.Join(all[:min(len(all), 5)], "\n"))
	}
	return r
}
