package scores

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// countScores changes how many scores an owner has.
func countScores(owner score.UserID, by int64) dynamo.Action {
	return dynamo.Action{Table: dynamo.ScoresTable, Key: scoreCountKey(owner), Update: "SET score_count = if_not_exists(score_count, :none) + :by",
		Values: dynamo.Attrs{":none": dynamo.Number(0), ":by": dynamo.Number(by)}}
}

// roomForScore counts one score more on condition that the owner may have it.
func roomForScore(owner score.UserID) dynamo.Action {
	a := countScores(owner, 1)
	a.Condition, a.Values[":most"] = "attribute_not_exists(score_count) OR score_count < :most", dynamo.Number(score.MaxScores)
	a.Failed = func(dynamo.Attrs) error {
		return fault.New(fault.Exhausted, "a user has at most %d scores: delete others first", score.MaxScores)
	}
	return a
}

// publishing changes whether a score that had one access and gets another is listed for everybody. Nothing has to be done where both
// or none of them is public.
func publishing(ref score.Ref, before, after score.Access) []dynamo.Action {
	row := dynamo.Action{Table: dynamo.ScoresTable, Key: publicScoreKey(ref), Remove: true}
	switch {
	case (before == score.Public) == (after == score.Public):
		return nil
	case after == score.Public:
		row = dynamo.Action{Table: dynamo.ScoresTable, Item: dynamo.ScoresTable.Key(publicScoreKey(ref))}
	}
	return []dynamo.Action{row}
}

// CreateScore puts a score with its texts and what uses its items.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition that there is none, pub:<score> of a public one; summary on condition of the count; o = ld:<owner> AND
// s = anno:<score><hash> and desc:<score><hash>; o = si:<owner> AND s = <item><score> on condition that there is none; o = it:<owner>
// AND s = <score><item> on condition that it exists. Cost: 1 TransactWriteItems of 2 or 3 rows, one per text and two per item. With more than
// 90 rows in steps: 1 TransactWriteItems of 2 rows, ⌈n/25⌉ BatchWriteItem of texts, 1 TransactWriteItems per 45 items,
// and 1 of 4 or 5 rows, which makes the score appear. Where items are shown to everybody from now on, or not any more,
// there are two rows more: todo:<score><intent> and a task.
func (db Store) CreateScore(ctx context.Context, s score.Score, texts []score.Text, once idempotency.Key) error {
	attempt := uuid.NewString()
	row := scoreRow(s)
	row["_attempt"] = dynamo.Str(attempt)
	c := scoreChange{db: db, Ref: s.Ref, Version: s.Version, anew: true, attempt: attempt, texts: texts, added: s.Items(), once: once}
	c.flip = []dynamo.Action{
		{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(o)", Failed: func(dynamo.Attrs) error { return fault.New(fault.Conflict, "there is such a score already") }},
		roomForScore(s.Owner),
	}
	c.flip = append(append(c.flip, publishing(s.Ref, score.Private, s.Access)...), db.reshown(score.Score{}, s)...)
	return c.carryOut(ctx)
}

// UpdateScore changes what differs, and leaves alone how many snapshots there are.
//
// Index: primary. Key: as for CreateScore, main:<score> on condition of its version, pub:<score> where that changes; the event in the outbox. Cost: as for
// CreateScore, with 1 TransactWriteItems per 90 texts; with what is used no more it is removed in 1 TransactWriteItems per 90 texts and per 45 items, and 1
// BatchGetItem per 100 items.
func (db Store) UpdateScore(ctx context.Context, before, after score.Score, texts []score.Text, once idempotency.Key) error {
	if before.Version == after.Version { // nothing to change, but perhaps a key to record
		return db.Transact(ctx, nil, once)
	}
	attempt := uuid.NewString()
	c := scoreChange{
		db: db, Ref: after.Ref, Version: after.Version, before: before.Version, attempt: attempt, texts: texts, once: once,
		dropped: without(before.Texts(), after.Texts()),
		added:   without(after.Items(), before.Items()), released: without(before.Items(), after.Items()),
	}
	isCurrent := c.isCurrent()
	isCurrent.Update = "SET d_hash = :hash, update_at = :at, #access = :access, #data = :data, #version = :after, #attempt = :attempt"
	maps.Copy(isCurrent.Names, map[string]string{"#access": "access", "#data": "data", "#version": "version", "#attempt": "_attempt"})
	for name, v := range (dynamo.Attrs{":hash": dynamo.Str(after.Hash), ":at": dynamo.Str(keys.Instant(after.UpdatedAt)), ":access": dynamo.Str(accesses[after.Access]),
		":data": scoreData(after), ":after": dynamo.Number(int64(after.Version)), ":attempt": dynamo.Str(attempt)}) {
		isCurrent.Values[name] = v
	}
	removing(&isCurrent, append(placeOf(&after).put(&isCurrent), hide(&isCurrent, before, after)...)...)
	was := before.Access
	if before.Version == dynamo.FirstVersion && after.Access == score.Public {
		was = score.Private // beside the row of another program there is none that tells that it is public
	}
	e := score.Alteration(before, after)
	c.flip = append(append([]dynamo.Action{isCurrent, outbox.Put(e)}, publishing(after.Ref, was, after.Access)...), db.reshown(before, after)...)
	return db.told(e, c.carryOut(ctx))
}

// hide changes which snapshots others than the owner see, where that changes. Those that they do not see from now on are counted by how many there
// are, which is a condition. It returns the attributes that are to be removed.
func hide(a *dynamo.Action, before, after score.Score) (removed []string) {
	switch {
	case before.ShownFrom == after.ShownFrom:
	case after.ShownFrom == 0:
		return []string{"shown_from", "s_hidden"}
	default:
		a.Update += ", shown_from = :from, s_hidden = :hidden"
		a.Values[":from"], a.Values[":hidden"] = dynamo.Number(int64(after.ShownFrom)), dynamo.Number(int64(after.Hidden))
		counted := "s_count = :hidden"
		if after.Hidden == 0 {
			counted = "(attribute_not_exists(s_count) OR s_count <= :hidden)" // another program may have counted less
		}
		a.Condition += " AND " + counted
	}
	return nil
}

// DeleteScore removes the row of a score, by which everything else of it becomes nobody's.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition of its version; pub:<score> of a public one; summary;
// todo:<score><intent>; a task; the event in the outbox. Cost: 1 TransactWriteItems of 5 or 6 rows; of a public score with pages 8.
func (db Store) DeleteScore(ctx context.Context, s score.Score, once idempotency.Key) (score.Intent, error) {
	i := score.Intent{Score: s.Ref, ID: uuid.NewString(), Kind: score.Deleting, Items: s.Items(), Version: s.Version + 1, Due: db.dueIn(task.Lease)}
	c := scoreChange{Ref: s.Ref, before: s.Version}
	isCurrent := c.isCurrent()
	isCurrent.Remove = true
	e := score.Deletion(s, db.instant())
	actions := append(putIntent(i, ending), isCurrent, countScores(s.Owner, -1), outbox.Put(e))
	actions = append(actions, publishing(s.Ref, s.Access, score.Private)...)
	return i, db.told(e, db.Transact(ctx, append(actions, db.reshown(s, score.Score{})...), once))
}

// told tells the event of a change that has succeeded, whose event is in the outbox since then. It returns the error of the change.
func (db Store) told(e event.Event, err error) error {
	if err == nil && db.Tell != nil {
		db.Tell(e)
	}
	return err
}

// instant is now, as events keep it.
func (db Store) instant() time.Time { return db.Now().UTC().Truncate(time.Millisecond) }

// reshown records the intent to tell of items that everybody may read after the change, or not any more.
func (db Store) reshown(before, after score.Score) []dynamo.Action {
	i, is := score.Shows(before, after)
	if !is {
		return nil
	}
	i.Due = db.dueIn(task.Lease)
	return putIntent(i, ending)
}

// scoreChange is a change of a score, or its creation.
type scoreChange struct {
	db       Store
	Ref      score.Ref
	Version  int // of the score after the change
	anew     bool
	before   int             // the version before; of a change
	attempt  string          // tells our own earlier attempt, whose answer was lost, from somebody else's change
	flip     []dynamo.Action // makes the change
	texts    []score.Text
	dropped  []score.TextID
	added    []score.ItemRef
	released []score.ItemRef
	once     idempotency.Key
}

// isCurrent is an action on the score on condition of its version; without more a check.
func (c *scoreChange) isCurrent() dynamo.Action {
	is := dynamo.Action{Table: dynamo.ScoresTable, Key: ScoreKey(c.Ref), Failed: func(row dynamo.Attrs) error {
		switch {
		case row == nil:
			return fault.New(fault.NotFound, noSuchScore)
		case c.attempt != "" && dynamo.Text(row["_attempt"]) == c.attempt:
			return dynamo.ErrDone
		}
		var current score.Score
		if err := decodeScore(dynamo.ItemOf(row), &current); err != nil {
			return err
		}
		return &score.VersionConflict{Current: current}
	}}
	return is.IfVersion(c.before, "version")
}

// carryOut makes the change. Texts of 90 rows have 1 MB at most, of the 4 MB that a transaction may have.
func (c *scoreChange) carryOut(ctx context.Context) error {
	var err error
	if rows := len(c.flip) + len(c.texts) + len(c.dropped) + 2*len(c.added) + 2*len(c.released); rows <= c.db.Prepared {
		err = c.atOnce(ctx)
	} else {
		err = c.inSteps(ctx)
	}
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	if errors.Is(err, dynamo.ErrMoved) { // what was prepared for a version that follows: this one is not current any more
		return &score.VersionConflict{}
	}
	return err
}

func (c *scoreChange) By() uses.By { return uses.By{Score: c.Ref, Version: c.Version} }

// TextRow is the row of a text, prepared for the version after the change.
func (c *scoreChange) TextRow(t score.Text) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(textKey(score.TextID{Score: c.Ref, Kind: t.Kind, Hash: t.Hash}))
	row["c"], row["g"] = dynamo.Str(t.Text), dynamo.Number(int64(c.Version))
	return row
}

// atOnce makes the change in one transaction. While the version before is current nobody can have prepared for a later one
// than this, and who prepared for this one fails: so rows can be put and removed as they are. Texts that come are before the
// score, those that go behind it: so whoever sees a text missing finds another score.
func (c *scoreChange) atOnce(ctx context.Context) error {
	var actions []dynamo.Action
	for _, t := range c.texts {
		actions = append(actions, dynamo.Action{Table: dynamo.ScoresTable, Item: c.TextRow(t)})
	}
	actions = append(actions, c.flip...)
	for _, id := range c.dropped {
		actions = append(actions, dynamo.Action{Table: dynamo.ScoresTable, Key: textKey(id), Remove: true})
	}
	return c.db.exchanging(ctx, c.By(), c.added, c.released, actions, c.once)
}

// inSteps prepares rows that nobody looks at yet, makes the change, and removes what it leaves behind.
func (c *scoreChange) inSteps(ctx context.Context) error {
	i := score.Intent{Score: c.Ref, ID: uuid.NewString(), Kind: score.Changing, Version: c.Version, Due: c.db.dueIn(score.PrepareWithin)}
	i.Items = append(append(i.Items, c.added...), c.released...)
	begin := putIntent(i, begun)
	if !c.anew {
		begin = append([]dynamo.Action{c.isCurrent()}, begin...)
	}
	err := c.known(ctx)
	if err != nil {
		return err
	}
	prepared := false
	if err = c.db.Transact(ctx, begin, idempotency.Key{}); err == nil {
		prepared = true
		err = c.prepare(ctx, i)
	}
	if err == nil {
		err = c.commit(ctx, i)
	}
	ctx, cancel := dynamo.Detached(ctx)
	defer cancel()
	if err == nil {
		c.cleanUp(ctx, i)
		return nil
	}
	if c.abandon(ctx, i, prepared) {
		return nil // it was committed, and only the answer was lost
	}
	return err
}

// known makes sure that the items that come exist, before anything is prepared: clients send ids of items that are gone more
// often than items go at this moment.
func (c *scoreChange) known(ctx context.Context) error {
	wants := make([]dynamo.Want, len(c.added))
	for n, item := range c.added {
		wants[n] = dynamo.Want{Table: dynamo.ScoresTable, Key: uses.ItemKey(item), Decode: func(dynamo.Item) error { return nil }}
	}
	light := c.db.Projecting(dynamo.Projections{*c.db.Table(dynamo.ScoresTable): dynamo.ProjectionOf("o", "s")})
	for n, err := range light.BatchGet(ctx, wants) {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			return &score.UnknownItem{Item: c.added[n]}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare writes texts and uses of items.
func (c *scoreChange) prepare(ctx context.Context, i score.Intent) error {
	if err := c.prepareTexts(ctx, i); err != nil {
		return err
	}
	for from, step := 0, max((c.db.Prepared-1)/2, 1); from < len(c.added); from += step {
		chunk := c.added[from:min(from+step, len(c.added))]
		if err := c.db.taking(ctx, c.By(), chunk, []dynamo.Action{whileBegun(i, dynamo.Action{})}, idempotency.Key{}); err != nil {
			return err
		}
	}
	return nil
}

// prepareTexts writes the texts: of a new score, whose id nobody knows, without conditions; otherwise so that a text that
// somebody prepared for a later version stays so.
func (c *scoreChange) prepareTexts(ctx context.Context, i score.Intent) error {
	if c.anew {
		writes := make([]dynamo.Put, len(c.texts))
		for n, t := range c.texts {
			writes[n] = dynamo.Put{Table: dynamo.ScoresTable, Item: c.TextRow(t)}
		}
		return c.db.BatchPut(ctx, writes)
	}
	for chunk := range slices.Chunk(c.texts, c.db.Prepared) {
		var actions []dynamo.Action
		for _, t := range chunk {
			actions = append(actions, dynamo.Action{Table: dynamo.ScoresTable, Key: textKey(score.TextID{Score: c.Ref, Kind: t.Kind, Hash: t.Hash}), Update: "SET c = :c, g = :g",
				Condition: "attribute_not_exists(g) OR g <= :g", Values: dynamo.Attrs{":c": dynamo.Str(t.Text), ":g": dynamo.Number(int64(c.Version))}, Failed: dynamo.Moved})
		}
		if err := c.db.Transact(ctx, append(actions, whileBegun(i, dynamo.Action{})), idempotency.Key{}); err != nil {
			return err
		}
	}
	return nil
}

// leavesRows reports whether something is used no more after the change.
func (c *scoreChange) leavesRows() bool { return len(c.dropped)+len(c.released) > 0 }

// commit makes the change.
func (c *scoreChange) commit(ctx context.Context, i score.Intent) error {
	actions := c.flip
	if c.leavesRows() {
		actions = append(actions, becomes(i, ending))
	} else {
		actions = append(actions, whileBegun(i, dynamo.Action{Remove: true}), removeTask(i))
	}
	return c.db.Transact(ctx, actions, c.once)
}

// cleanUp removes what is not used any more. What it does not get done, the task does.
func (c *scoreChange) cleanUp(ctx context.Context, i score.Intent) {
	if !c.leavesRows() || c.db.removing(ctx, c.dropped, c.Version) != nil || c.db.dropping(ctx, c.By(), c.released) != nil {
		return
	}
	_ = c.db.ForgetIntent(ctx, i) // the task does it otherwise
}

// abandon takes back what was prepared, and reports whether that was too late because the change is made. What was prepared after
// somebody else had settled the intent is taken back, too: a call is under way for seconds, an intent is left alone for minutes.
func (c *scoreChange) abandon(ctx context.Context, i score.Intent, prepared bool) (made bool) {
	_, left, err := c.db.EndIntent(ctx, c.Ref, i.ID)
	made = c.made(ctx)
	if err != nil || !left && (made || !prepared) {
		return made
	}
	if c.db.ReleaseIntent(ctx, i) == nil {
		_ = c.db.ForgetIntent(ctx, i) // the task does it otherwise
	}
	return made
}

// made reports whether the score is as the change made it.
func (c *scoreChange) made(ctx context.Context) (made bool) {
	_, _ = c.db.Get(ctx, dynamo.ScoresTable, ScoreKey(c.Ref), func(item dynamo.Item) error {
		return dynamo.Attributes(item, func(name []byte, v dynamo.Value) error {
			if string(name) != "_attempt" {
				return nil
			}
			by, err := v.Str()
			made = by == c.attempt
			return err
		})
	})
	return made
}
