package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	// rebuildLease is how long a rebuild may pause before another may take over; each part renews it. A project is not ready for as
	// long when the process that rebuilds it is killed.
	rebuildLease = 6 * time.Second
	// stagedFor is how long what an abandoned rebuild prepared stays around.
	stagedFor = time.Hour
)

// Begin begins to rebuild what Redis keeps of a project. From now on the project is not ready, until the rebuild is committed; the
// caller reads the truth only after this, so that nothing is missed. The token is random and new, and becomes the epoch of the
// project's events. It reports false when the project is ready and always is not set: then somebody else was faster, and there is
// nothing to do. ErrRebuilding while somebody else does it.
func (q *Queue) Begin(ctx context.Context, p project.ID, token string, always bool) (bool, error) {
	k := q.keysOf(p)
	return q.flag(ctx, "begin to rebuild a queue", beginScript, []string{k.rebuild(), k.epoch()},
		token, rebuildLease.Milliseconds(), bit(always))
}

// The parts of a project as the script reads them. A place is the number of a key among those the script gets.
type (
	stagedPart struct {
		Number     string             `json:"number"`
		Counts     map[string]int     `json:"counts"`
		Imported   map[string]int     `json:"imported"`
		Claims     []stagedClaim      `json:"claims"`
		Returned   []stagedItem       `json:"returned"`
		Statistics []stagedStatistics `json:"statistics"`
		Reviews    []stagedReviews    `json:"reviews"`
		Used       [][]stagedWord     `json:"used"`
		// Completions stand for the keywords in Used.
		Completions []string `json:"completions"`
		Applied     []string `json:"applied"`
		Users       []string `json:"users"`
		Teams       []string `json:"teams"`
	}
	stagedClaim struct {
		Item  string `json:"item"`
		Claim string `json:"claim"` // JSON
		Since string `json:"since"` // ms
		Until string `json:"until"` // ms
		Place int    `json:"place"`
	}
	stagedItem struct {
		Item  string `json:"item"`
		Until string `json:"until"` // ms
		Place int    `json:"place"`
	}
	stagedStatistics struct {
		Type   string        `json:"type"`
		Fields []stagedField `json:"fields"`
		Place  int           `json:"place"`
	}
	stagedReviews struct {
		Author   string `json:"author"`   // escaped
		Category string `json:"category"` // escaped
		N        int    `json:"n"`
	}
	stagedField struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	stagedWord struct {
		Word string `json:"word"`
		N    int    `json:"n"`
	}
)

// Load adds a part of the truth to what the rebuild prepares. ErrRebuilding when somebody else took over.
func (q *Queue) Load(ctx context.Context, p project.ID, token string, part labelling.Part) error {
	k := q.keysOf(p)
	keys := append([]string{k.rebuild()}, q.stagedKeys(k, token)...)
	places := map[string]int{}
	place := func(key string) int {
		key = staged(key, token)
		if places[key] == 0 {
			keys = append(keys, key)
			places[key] = len(keys)
		}
		return places[key]
	}
	out := stagedPart{
		Number:   strconv.Itoa(part.Number),
		Counts:   map[string]int{"new-items": part.Counts.New, "finished-items": part.Counts.Finished, "skipped-items": part.Counts.Skipped},
		Imported: maps.Clone(part.Imported), Claims: []stagedClaim{}, Returned: []stagedItem{}, Statistics: []stagedStatistics{},
		Reviews: make([]stagedReviews, len(part.ToReview)), Used: make([][]stagedWord, len(words)), Completions: []string{}, Applied: append([]string{}, part.Applied...),
	}
	if out.Imported == nil {
		out.Imported = map[string]int{}
	}
	users, teams := map[string]bool{}, map[string]bool{}
	for _, c := range part.Claims {
		kept, err := json.Marshal(claim{User: c.User, Token: c.Token, Since: millis(c.Since), Until: millis(c.Until), Counted: true, From: "queue"})
		if err != nil {
			return fmt.Errorf("write down a claim: %w", err)
		}
		users[string(c.User)] = true
		out.Claims = append(out.Claims, stagedClaim{
			Item: c.Item.ID, Claim: string(kept), Since: millis(c.Since), Until: millis(c.Until), Place: place(k.userQueue(c.User)),
		})
	}
	for _, r := range part.Returned {
		users[string(r.User)] = true
		out.Returned = append(out.Returned, stagedItem{Item: r.Item, Until: millis(r.Until), Place: place(k.userReturned(r.User))})
	}
	for _, s := range part.Statistics {
		teams[s.Team] = true
		fields := []stagedField{{"team:finished", s.Finished}, {"team:incorrect", s.Incorrect}}
		for _, u := range s.Users {
			fields = append(fields, stagedField{string(u.User) + ":finished", u.Finished}, stagedField{string(u.User) + ":incorrect", u.Incorrect})
		}
		out.Statistics = append(out.Statistics, stagedStatistics{Type: string(s.Type), Fields: fields, Place: place(k.team(s.Team))})
	}
	for i, r := range part.ToReview {
		out.Reviews[i] = stagedReviews{Author: escape(string(r.Author)), Category: escape(r.Category), N: r.Count}
	}
	for i, w := range words {
		out.Used[i] = []stagedWord{}
		for _, u := range part.Used[w] {
			out.Used[i] = append(out.Used[i], stagedWord{u.Value, u.Count})
			if w == labelling.Keywords {
				out.Completions = append(out.Completions, completions([]string{u.Value})...)
			}
		}
	}
	out.Users, out.Teams = append([]string{}, slices.Collect(maps.Keys(users))...), append([]string{}, slices.Collect(maps.Keys(teams))...)
	body, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write down a part of a queue: %w", err)
	}
	_, err = q.run(ctx, "rebuild a queue", loadScript, keys, token, rebuildLease.Milliseconds(), stagedFor.Milliseconds(), body)
	return err
}

// Commit puts what was loaded in the place of what was there: the project is ready, and subscribers are told to begin anew. The
// counts are those of the parts, and there are as many CLAIMED items as claims. The queue is empty until Fill. A project that is
// new is begun and committed without any part. ErrRebuilding when somebody else took over.
func (q *Queue) Commit(ctx context.Context, p project.ID, token string, s labelling.Settings) error {
	k := q.keysOf(p)
	users, teams, err := q.loaded(ctx, k, token)
	if err != nil {
		return err
	}
	mark := q.stagedKeys(k, token)
	keys := []string{
		k.rebuild(), k.epoch(), k.events(), k.queue(), k.queued(), k.labels(labelling.Categories), k.labels(labelling.Subcategories),
		k.top(words[0]), k.top(words[1]), k.top(words[2]), k.applied(), staged(k.applied(), token), mark[0], mark[1], mark[2], k.present(),
	}
	replaced := []string{k.metadata(), k.wip(), k.claims(), k.held(), k.count(words[0]), k.count(words[1]), k.count(words[2]), k.keywords(), k.imports(), k.reviews()}
	for _, u := range users {
		replaced = append(replaced, k.userQueue(labelling.UserID(u)), k.userReturned(labelling.UserID(u)))
	}
	for _, t := range teams {
		replaced = append(replaced, k.team(t))
	}
	for _, key := range replaced {
		keys = append(keys, key, staged(key, token))
	}
	args := []any{token, s.Name, s.Size, bit(s.Paused), q.o.MaxEvents, labelling.TopUsed, len(s.Categories)}
	for _, name := range slices.Concat(s.Categories, s.Subcategories) {
		args = append(args, name)
	}
	if _, err = q.run(ctx, "finish rebuilding a queue", commitScript, keys, args...); err == nil {
		q.over(ctx, p, token)
	}
	return err
}

// Progress writes down how many items a rebuild has read, and keeps it from being taken over. The total is what the project had before, or the
// given one when Redis does not know. ErrRebuilding when somebody else took over.
func (q *Queue) Progress(ctx context.Context, p project.ID, token string, read, total int) error {
	return q.progress(ctx, p, token, strconv.Itoa(read), strconv.Itoa(total))
}

// over forgets how far a rebuild was that has ended. Failing does no harm: that ends by itself.
func (q *Queue) over(ctx context.Context, p project.ID, token string) {
	_ = q.progress(ctx, p, token, "", "")
}

func (q *Queue) progress(ctx context.Context, p project.ID, token, read, total string) error {
	k := q.keysOf(p)
	_, err := q.run(ctx, "write down how far a rebuild is", progressScript, []string{k.rebuild(), k.progress(), k.metadata()},
		token, read, rebuildLease.Milliseconds(), total)
	return err
}

// Rebuilding returns how far the rebuild of a project is, and whether there is one.
func (q *Queue) Rebuilding(ctx context.Context, p project.ID) (labelling.Progress, bool, error) {
	found, err := q.client.HGetAll(ctx, q.keysOf(p).progress()).Result()
	if err != nil {
		return labelling.Progress{}, false, failed("read how far a rebuild is", err)
	}
	progress := labelling.Progress{StartedAt: instant(found["started"]), ItemsRead: number(found["read"])}
	if total := number(found["total"]); total > 0 {
		progress.ItemsTotal = new(max(total, progress.ItemsRead)) // which may be counted late
	}
	return progress, !progress.StartedAt.IsZero(), nil
}

// Abort gives up a rebuild. The project stays not ready, for the next one to rebuild.
func (q *Queue) Abort(ctx context.Context, p project.ID, token string) error {
	k := q.keysOf(p)
	users, teams, err := q.loaded(ctx, k, token)
	if err != nil {
		return err
	}
	keys := append([]string{k.rebuild()}, q.stagedKeys(k, token)...)
	for _, u := range users {
		keys = append(keys, staged(k.userQueue(labelling.UserID(u)), token), staged(k.userReturned(labelling.UserID(u)), token))
	}
	for _, t := range teams {
		keys = append(keys, staged(k.team(t), token))
	}
	if _, err = q.run(ctx, "give up rebuilding a queue", abortScript, keys, token); err == nil {
		q.over(ctx, p, token)
	}
	return err
}

// stagedKeys returns the keys that every rebuild prepares: first the numbers of loaded parts, the users and the teams that
// occur in them, then what will be renamed.
func (q *Queue) stagedKeys(k keys, token string) []string {
	return []string{
		staged(k.rebuild(), token) + ":parts", staged(k.rebuild(), token) + ":users", staged(k.rebuild(), token) + ":teams",
		staged(k.metadata(), token), staged(k.wip(), token), staged(k.claims(), token), staged(k.held(), token), staged(k.applied(), token),
		staged(k.count(words[0]), token), staged(k.count(words[1]), token), staged(k.count(words[2]), token), staged(k.keywords(), token), staged(k.imports(), token), staged(k.reviews(), token),
	}
}

// loaded returns the users and teams that occur in the parts.
func (q *Queue) loaded(ctx context.Context, k keys, token string) (users, teams []string, err error) {
	mark := q.stagedKeys(k, token)
	if users, err = q.client.SMembers(ctx, mark[1]).Result(); err == nil {
		teams, err = q.client.SMembers(ctx, mark[2]).Result()
	}
	if err != nil {
		return nil, nil, failed("read what was loaded", err)
	}
	slices.Sort(users)
	slices.Sort(teams)
	return users, teams, nil
}
