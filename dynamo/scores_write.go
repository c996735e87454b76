package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// countScores changes how many scores an owner has.
func countScores(owner score.UserID, by int64) action {
	return action{table: scoresTable, key: scoreCountKey(owner), update: "SET score_count = if_not_exists(score_count, :none) + :by",
		values: attrs{":none": number(0), ":by": number(by)}}
}

// roomForScore counts one score more on condition that the owner may have it.
func roomForScore(owner score.UserID) action {
	a := countScores(owner, 1)
	a.condition, a.values[":most"] = "attribute_not_exists(score_count) OR score_count < :most", number(score.MaxScores)
	a.failed = func(attrs) error {
		return fault.New(fault.Exhausted, "a user has at most %d scores: delete others first", score.MaxScores)
	}
	return a
}

// publishing changes whether a score that had one access and gets another is listed for everybody. Nothing has to be done where both
// or none of them is public.
func publishing(ref score.Ref, before, after score.Access) []action {
	row := action{table: scoresTable, key: publicScoreKey(ref), remove: true}
	switch {
	case (before == score.Public) == (after == score.Public):
		return nil
	case after == score.Public:
		row = action{table: scoresTable, item: scoresTable.key(publicScoreKey(ref))}
	}
	return []action{row}
}

// CreateScore puts a score with its texts and what uses its items.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition that there is none, pub:<score> of a public one; summary on condition of the count; o = ld:<owner> AND
// s = anno:<score><hash> and desc:<score><hash>; o = si:<owner> AND s = <item><score> on condition that there is none; o = it:<owner>
// AND s = <score><item> on condition that it exists. Cost: 1 TransactWriteItems of 2 or 3 rows, one per text and two per item. With more than
// 90 rows in steps: 1 TransactWriteItems of 2 rows, ⌈n/25⌉ BatchWriteItem of texts, 1 TransactWriteItems per 45 items,
// and 1 of 4 or 5 rows, which makes the score appear. Where items are shown to everybody from now on, or no more,
// there are two rows more: todo:<score><intent> and a task.
func (db Scores) CreateScore(ctx context.Context, s score.Score, texts []score.Text, once idempotency.Key) error {
	attempt := uuid.NewString()
	row := scoreRow(s)
	row["_attempt"] = str(attempt)
	c := scoreChange{db: db, ref: s.Ref, version: s.Version, anew: true, attempt: attempt, texts: texts, added: s.Items(), once: once}
	c.flip = []action{
		{table: scoresTable, item: row, condition: "attribute_not_exists(o)", failed: func(attrs) error { return fault.New(fault.Conflict, "there is such a score already") }},
		roomForScore(s.Owner),
	}
	c.flip = append(append(c.flip, publishing(s.Ref, score.Private, s.Access)...), db.reshown(score.Score{}, s)...)
	return c.carryOut(ctx)
}

// UpdateScore changes what differs, and leaves alone how many snapshots there are.
//
// Index: primary. Key: as for CreateScore, main:<score> on condition of its version, pub:<score> where that changes. Cost: as for CreateScore, with 1 TransactWriteItems per
// 90 texts; with what is used no more it is removed in 1 TransactWriteItems per 90 texts and per 45 items, and 1
// BatchGetItem per 100 items.
func (db Scores) UpdateScore(ctx context.Context, before, after score.Score, texts []score.Text, once idempotency.Key) error {
	if before.Version == after.Version { // nothing to change, but perhaps a key to record
		return db.transact(ctx, nil, once)
	}
	attempt := uuid.NewString()
	c := scoreChange{
		db: db, ref: after.Ref, version: after.Version, before: before.Version, attempt: attempt, texts: texts, once: once,
		dropped: without(before.Texts(), after.Texts()),
		added:   without(after.Items(), before.Items()), released: without(before.Items(), after.Items()),
	}
	isCurrent := c.isCurrent()
	isCurrent.update = "SET d_hash = :hash, update_at = :at, #access = :access, #data = :data, #version = :after, #attempt = :attempt"
	maps.Copy(isCurrent.names, map[string]string{"#access": "access", "#data": "data", "#version": "version", "#attempt": "_attempt"})
	for name, v := range (attrs{":hash": str(after.Hash), ":at": str(keys.Instant(after.UpdatedAt)), ":access": str(accesses[after.Access]),
		":data": scoreData(after), ":after": number(int64(after.Version)), ":attempt": str(attempt)}) {
		isCurrent.values[name] = v
	}
	was := before.Access
	if before.Version == firstVersion && after.Access == score.Public {
		was = score.Private // beside the row of another program there is none that tells that it is public
	}
	c.flip = append(append([]action{isCurrent}, publishing(after.Ref, was, after.Access)...), db.reshown(before, after)...)
	return c.carryOut(ctx)
}

// DeleteScore removes the row of a score, by which everything else of it becomes nobody's.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition of its version; pub:<score> of a public one; summary;
// todo:<score><intent>; a task. Cost: 1 TransactWriteItems of 4 or 5 rows; of a public score with pages 7.
func (db Scores) DeleteScore(ctx context.Context, s score.Score, once idempotency.Key) (score.Intent, error) {
	i := score.Intent{Score: s.Ref, ID: uuid.NewString(), Kind: score.Deleting, Items: s.Items(), Version: s.Version + 1, Due: db.dueIn(task.Lease)}
	c := scoreChange{ref: s.Ref, before: s.Version}
	isCurrent := c.isCurrent()
	isCurrent.remove = true
	actions := append(putIntent(i, ending), isCurrent, countScores(s.Owner, -1))
	actions = append(actions, publishing(s.Ref, s.Access, score.Private)...)
	return i, db.transact(ctx, append(actions, db.reshown(s, score.Score{})...), once)
}

// reshown records the intent to tell of items that everybody may read after the change, or no more.
func (db Scores) reshown(before, after score.Score) []action {
	i, is := score.Shows(before, after)
	if !is {
		return nil
	}
	i.Due = db.dueIn(task.Lease)
	return putIntent(i, ending)
}

// scoreChange is a change of a score, or its creation.
type scoreChange struct {
	db       Scores
	ref      score.Ref
	version  int // of the score after the change
	anew     bool
	before   int      // the version before; of a change
	attempt  string   // tells our own earlier attempt, whose answer was lost, from somebody else's change
	flip     []action // makes the change
	texts    []score.Text
	dropped  []score.TextID
	added    []score.ItemRef
	released []score.ItemRef
	once     idempotency.Key
}

// isCurrent is an action on the score on condition of its version; without more a check.
func (c *scoreChange) isCurrent() action {
	is := action{table: scoresTable, key: scoreKey(c.ref), failed: func(row attrs) error {
		switch {
		case row == nil:
			return fault.New(fault.NotFound, noSuchScore)
		case c.attempt != "" && text(row["_attempt"]) == c.attempt:
			return errDone
		}
		var current score.Score
		if err := decodeScore(rowJSON(row), &current); err != nil {
			return err
		}
		return &score.VersionConflict{Current: current}
	}}
	return is.ifVersion(c.before, "version")
}

// carryOut makes the change. Texts of 90 rows have 1 MB at most, of the 4 MB that a transaction may have.
func (c *scoreChange) carryOut(ctx context.Context) error {
	var err error
	if rows := len(c.flip) + len(c.texts) + len(c.dropped) + 2*len(c.added) + 2*len(c.released); rows <= c.db.prepared {
		err = c.atOnce(ctx)
	} else {
		err = c.inSteps(ctx)
	}
	if errors.Is(err, errDone) {
		return nil
	}
	if errors.Is(err, errMoved) { // what was prepared for a version that follows: this one is not current any more
		return &score.VersionConflict{}
	}
	return err
}

func (c *scoreChange) by() usedBy { return usedBy{score: c.ref, version: c.version} }

// textRow is the row of a text, prepared for the version after the change.
func (c *scoreChange) textRow(t score.Text) attrs {
	row := scoresTable.key(textKey(score.TextID{Score: c.ref, Kind: t.Kind, Hash: t.Hash}))
	row["c"], row["g"] = str(t.Text), number(int64(c.version))
	return row
}

// atOnce makes the change in one transaction. While the version before is current nobody can have prepared for a later one
// than this, and who prepared for this one fails: so rows can be put and removed as they are. Texts that come are before the
// score, those that go behind it: so whoever sees a text missing finds another score.
func (c *scoreChange) atOnce(ctx context.Context) error {
	var actions []action
	for _, t := range c.texts {
		actions = append(actions, action{table: scoresTable, item: c.textRow(t)})
	}
	actions = append(actions, c.flip...)
	for _, id := range c.dropped {
		actions = append(actions, action{table: scoresTable, key: textKey(id), remove: true})
	}
	return c.db.exchanging(ctx, c.by(), c.added, c.released, actions, c.once)
}

// inSteps prepares rows that nobody looks at yet, makes the change, and removes what it leaves behind.
func (c *scoreChange) inSteps(ctx context.Context) error {
	i := score.Intent{Score: c.ref, ID: uuid.NewString(), Kind: score.Changing, Version: c.version, Due: c.db.dueIn(score.PrepareWithin)}
	i.Items = append(append(i.Items, c.added...), c.released...)
	begin := putIntent(i, begun)
	if !c.anew {
		begin = append([]action{c.isCurrent()}, begin...)
	}
	err := c.known(ctx)
	if err != nil {
		return err
	}
	prepared := false
	if err = c.db.transact(ctx, begin, idempotency.Key{}); err == nil {
		prepared = true
		err = c.prepare(ctx, i)
	}
	if err == nil {
		err = c.commit(ctx, i)
	}
	ctx, cancel := detached(ctx)
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
	wants := make([]want, len(c.added))
	for n, item := range c.added {
		wants[n] = want{scoresTable, itemKey(item), func([]byte) error { return nil }}
	}
	light := c.db.projecting(projections{*c.db.table(scoresTable): projectionOf("o", "s")})
	for n, err := range light.batchGet(ctx, wants) {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
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
	for from, step := 0, max((c.db.prepared-1)/2, 1); from < len(c.added); from += step {
		chunk := c.added[from:min(from+step, len(c.added))]
		if err := c.db.taking(ctx, c.by(), chunk, []action{whileBegun(i, action{})}, idempotency.Key{}); err != nil {
			return err
		}
	}
	return nil
}

// prepareTexts writes the texts: of a new score, whose id nobody knows, without conditions; otherwise so that a text that
// somebody prepared for a later version stays so.
func (c *scoreChange) prepareTexts(ctx context.Context, i score.Intent) error {
	if c.anew {
		writes := make([]write, len(c.texts))
		for n, t := range c.texts {
			writes[n] = write{table: scoresTable, item: c.textRow(t)}
		}
		return c.db.batchWrite(ctx, writes)
	}
	for chunk := range slices.Chunk(c.texts, c.db.prepared) {
		var actions []action
		for _, t := range chunk {
			actions = append(actions, action{table: scoresTable, key: textKey(score.TextID{Score: c.ref, Kind: t.Kind, Hash: t.Hash}), update: "SET c = :c, g = :g",
				condition: "attribute_not_exists(g) OR g <= :g", values: attrs{":c": str(t.Text), ":g": number(int64(c.version))}, failed: moved})
		}
		if err := c.db.transact(ctx, append(actions, whileBegun(i, action{})), idempotency.Key{}); err != nil {
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
		actions = append(actions, whileBegun(i, action{remove: true}), removeTask(i))
	}
	return c.db.transact(ctx, actions, c.once)
}

// cleanUp removes what is used no more. What it does not get done, the task does.
func (c *scoreChange) cleanUp(ctx context.Context, i score.Intent) {
	if !c.leavesRows() || c.db.removing(ctx, c.dropped, c.version) != nil || c.db.dropping(ctx, c.by(), c.released) != nil {
		return
	}
	_ = c.db.ForgetIntent(ctx, i) // the task does it otherwise
}

// abandon takes back what was prepared, and reports whether that was too late because the change is made. What was prepared after
// somebody else had settled the intent is taken back, too: a call is under way for seconds, an intent is left alone for minutes.
func (c *scoreChange) abandon(ctx context.Context, i score.Intent, prepared bool) (made bool) {
	_, left, err := c.db.EndIntent(ctx, c.ref, i.ID)
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
	_, _ = c.db.get(ctx, scoresTable, scoreKey(c.ref), func(item []byte) error {
		return attributes(item, func(name []byte, v value) error {
			if string(name) != "_attempt" {
				return v.skip()
			}
			by, err := v.str()
			made = by == c.attempt
			return err
		})
	})
	return made
}
