package entities

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
)

// The relationships of a subject under one predicate lie between two markers, the head and the tail, which carry the
// generation that holds. A row says from which generation on it holds, and until which. Whoever changes more than one row
//
//	begins    writes an intent into the head, and orders a task that settles the change if its server is lost,
//	prepares  puts the rows that come and marks those that go, for the next generation, which no reader looks at yet,
//	commits   sets head and tail to the next generation in one transaction,
//	clears    removes the rows that have gone, and the intent.
//
// Each transaction after the first is conditional on the token of the intent, which whoever takes the change over replaces: the
// task, or the next writer who sees no transaction of it for [dynamo.Quiet]. A change of one row needs none of this: it is one transaction that moves the generation. Reading is described at
// [Store.ListRelations].
//
// The rows of a transaction are shown one by one. A reader who sees the head of a change of one row and not yet its row sees
// what was before, which is right; a writer must not plan upon that. Hence the head names the row that came or went
// with its generation. (How many rows there should be would not do: the deletion of an object takes rows and no generation.)

// intent says who is changing the relationships under a predicate.
type intent struct {
	Token  string    // fences: writes of one who was lost do not fit any more
	Step   int       // grows with each transaction that prepares: who waits sees that somebody is at work
	Since  time.Time // when this one began
	Order  string    // the change's id
	Due    time.Time // when its task is due
	Before int       // the generation that the change replaces
	Alone  bool      // the change is of no other predicate
}

func (i *intent) value() types.AttributeValue {
	m := dynamo.Attrs{
		"token": dynamo.Str(i.Token), "since": dynamo.Str(keys.Instant(i.Since)), "order": dynamo.Str(i.Order), "due": dynamo.Str(keys.Instant(i.Due)),
		"before": dynamo.Number(int64(i.Before)), "step": dynamo.Number(int64(i.Step)),
	}
	if i.Alone {
		m["alone"] = dynamo.Number(1)
	}
	return &types.AttributeValueMemberM{Value: m}
}

func (i *intent) read(v dynamo.Value) error {
	return v.Object(func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "token":
			i.Token, err = v.Str()
		case "since":
			i.Since, err = v.Instant()
		case "order":
			i.Order, err = v.Str()
		case "due":
			i.Due, err = v.Instant()
		case "before":
			i.Before, err = v.Int()
		case "step":
			i.Step, err = v.Int()
		case "alone":
			i.Alone = true
		}
		return err
	})
}

func headKey(subject entity.ID, predicate string) dynamo.Key {
	return dynamo.Key{PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID), SK: keys.PredicateHeadKey(predicate)}
}

func tailKey(subject entity.ID, predicate string) dynamo.Key {
	return dynamo.Key{PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID), SK: keys.PredicateTailKey(predicate)}
}

// markerRow is a head or a tail. It has no object, so that it is in no reverse list.
func markerRow(key dynamo.Key, predicate string, generation int) dynamo.Attrs {
	row := dynamo.RelationshipEntries.Key(key)
	row["_predicate"], row["_generation"] = dynamo.Str(predicate), dynamo.Number(int64(generation))
	return row
}

// single is the sort key of the row that came or went with a generation; zero when more than one did. Of is the scope of its object if that
// is not the subject's: who erases it finds the marker by that.
type single struct{ Came, Went, Of string }

// of is the single row with the key of r.
func (s *single) of(r RelationRecord) {
	if r.Object.Scope != r.Subject.Scope {
		s.Of = r.Object.Scope
	}
}

// predicateState is everything under one predicate of a subject.
type predicateState struct {
	subject    entity.ID
	predicate  string
	exists     bool // the head is there
	generation int
	Intent     *intent
	single     single           // of the generation
	unsure     string           // sort key of the row that is not as the head says; see [predicateState.settledRow]
	Held       []RelationRecord // what holds at the generation, in order
	gone       []RelationRecord // what holds no more
	coming     []RelationRecord // what is of a later generation: an intent prepared it, or its head was not shown yet
	last       int64            // the greatest index of all rows; -1 when there is none
}

// Committed reports whether the intent's change is made, and only what has gone is to be removed.
func (p *predicateState) Committed() bool { return p.generation > p.Intent.Before }

// predicateState reads all rows under a predicate. Whether they belong together is known when a transaction on condition of
// [predicateState.unmoved] and [predicateState.settledRow] succeeds. The attributes of relationships are read only when they
// are wanted: each may have 10 KB.
//
// Cost: 1 Query, one more per started megabyte of whole rows.
func (db Store) predicateState(ctx context.Context, subject entity.ID, predicate string, whole bool) (*predicateState, error) {
	p := &predicateState{subject: subject, predicate: predicate, last: -1}
	own := (*RelationRecord).own
	if !whole {
		db, own = Store{db.Projecting(dynamo.Projections{*db.Table(dynamo.RelationshipEntries): withoutAttributes})}, nil
	}
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID)}
	s.Low, s.High = keys.PredicateHeadKey(predicate), keys.PredicateTailKey(predicate)
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var r RelationRecord
		var into func([]byte, dynamo.Value) error
		if own != nil {
			into = func(name []byte, v dynamo.Value) error { return own(&r, name, v) }
		}
		err := DecodeRelation(item, &r, into)
		p.see(r)
		return true, err
	})
	if err == nil && p.unsure != "" {
		p.last = max(p.last, indexOf(p.unsure))
	}
	return p, err
}

// see takes a row to what it is part of; the head comes first.
func (p *predicateState) see(r RelationRecord) {
	switch {
	case r.Marker && r.Key == headKey(p.subject, p.predicate):
		p.exists, p.generation, p.Intent, p.single = true, r.Generation, r.Intent, r.single
		p.unsure = r.Came
		return
	case r.Marker:
		return
	case r.Key.SK == p.single.Went:
		p.unsure = r.Key.SK
	case r.Holds(p.generation):
		p.Held = append(p.Held, r)
		if r.Key.SK == p.single.Came {
			p.unsure = ""
		}
	case r.From > p.generation:
		p.coming = append(p.coming, r)
	default:
		p.gone = append(p.gone, r)
	}
	p.last = max(p.last, r.Index)
}

// indexOf returns the index in the sort key of a relationship.
func indexOf(sk string) int64 {
	_, rest, _ := strings.Cut(sk, ":")
	digits, _, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// settledRow checks, where the row is not as the head says, that it is not there: it was left out of what holds. It came, but
// is not shown yet, and the check fails, or an object's deletion has taken it; or it went and is shown still.
func (p *predicateState) settledRow() []dynamo.Action {
	if p.unsure == "" {
		return nil
	}
	return []dynamo.Action{{
		Table: dynamo.RelationshipEntries, Key: dynamo.Key{PK: keys.SubjectKey(p.subject.Scope, p.subject.Type, p.subject.ID), SK: p.unsure},
		Condition: "attribute_not_exists(#pk)", Names: map[string]string{"#pk": dynamo.RelationshipEntries.PK}, Failed: dynamo.Moved,
	}}
}

// own reads an attribute of the relationship's own.
func (r *RelationRecord) own(name []byte, v dynamo.Value) (err error) {
	if r.Attributes == nil {
		r.Attributes = map[string]any{}
	}
	own := string(name)
	r.Attributes[own], err = v.Any()
	return err
}

// unmoved makes the action on the head conditional on nobody having changed anything since the state was read.
func (p *predicateState) unmoved(a dynamo.Action) dynamo.Action {
	a.Table, a.Key, a.Failed = dynamo.RelationshipEntries, headKey(p.subject, p.predicate), dynamo.Moved
	if !p.exists {
		a.Condition, a.Names = "attribute_not_exists(#pk)", map[string]string{"#pk": dynamo.RelationshipEntries.PK}
		return a
	}
	a.Condition = "#generation = :generation AND attribute_not_exists(#intent)"
	a.Names = map[string]string{"#generation": "_generation", "#intent": "_intent"}
	a.Values = dynamo.Attrs{":generation": dynamo.Number(int64(p.generation))}
	if p.Intent != nil {
		a.Condition = "#generation = :generation AND #intent.#token = :token"
		a.Names["#token"], a.Values[":token"] = "token", dynamo.Str(p.Intent.Token)
	}
	return a
}

// fenced makes the action on the head conditional on the token.
func (p *predicateState) fenced(token string, a dynamo.Action) dynamo.Action {
	a.Table, a.Key, a.Failed = dynamo.RelationshipEntries, headKey(p.subject, p.predicate), dynamo.Moved
	a.Condition = "#intent.#token = :token"
	a.Names = map[string]string{"#intent": "_intent", "#token": "token"}
	a.Values = dynamo.Attrs{":token": dynamo.Str(token)}
	return a
}

func (p *predicateState) head(generation int, i *intent, of single) dynamo.Attrs {
	row := markerRow(headKey(p.subject, p.predicate), p.predicate, generation)
	if i != nil {
		row["_intent"] = i.value()
	}
	if of.Came != "" {
		row["_came"] = dynamo.Str(of.Came)
	}
	if of.Went != "" {
		row["_went"] = dynamo.Str(of.Went)
	}
	if of.Of != "" {
		row["_of_scope"] = dynamo.Str(of.Of)
	}
	return row
}

func (p *predicateState) tail(generation int) dynamo.Attrs {
	return markerRow(tailKey(p.subject, p.predicate), p.predicate, generation)
}

// living checks that an entity exists and is not being deleted.
func living(id entity.ID, otherwise error) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: EntityKey(id),
		Condition: "attribute_exists(#id) AND attribute_not_exists(#meta.#deleting)",
		Names:     map[string]string{"#id": "_id", "#meta": "_meta", "#deleting": "deleting"},
		Failed:    func(dynamo.Attrs) error { return otherwise },
	}
}

func noSubject() error { return fault.New(fault.NotFound, noSuchEntity) }

// orderKey is the key of what a task needs to know and its id cannot tell: ids of entities are longer than the parts of a
// task's key may be.
func orderKey(id string) dynamo.Key {
	return dynamo.Key{PK: keys.SubjectKey("taggie", "Orders", id), SK: "order"}
}
