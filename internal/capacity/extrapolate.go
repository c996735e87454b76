package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// DynamoDB refuses more for one partition key, whatever is paid for the table.
const (
	readUnitsOfKey  = 3000 // read units a second
	writeUnitsOfKey = 1000 // write units a second
)

// Size is how large a Taggie is, and how fast people work in it.
type Size struct {
	Items, Labellers, Servers, Projects int

	Each time.Duration // in which a labeller finishes an item
}

// Finishes is how many items are finished a second.
func (s Size) Finishes() float64 { return float64(s.Labellers) / s.Each.Seconds() }

// of returns how many there are of what keys are spread over.
func (s Size) of(spread Spread) float64 {
	switch spread {
	case ByProject:
		return float64(s.Projects)
	case ByLabeller, ByItemInHand:
		return float64(s.Labellers)
	default:
		return 1
	}
}

// Record is what was measured: what servers consume when nobody does anything, and what they consume while people finish items: while nobody
// follows the project, while one labeller does on each server, and while all do.
type Record struct {
	Size                    Size // without Each
	Idle, Quiet, Few, Crowd Phase

	// Listening is what one subscriber takes a second, by name of the class: it is counted for subscribers and not for items.
	Listening map[string]Units
}

// Phase is a time for which something was measured.
type Phase struct {
	Expense
	Finished int // items

	classes map[Class]*measured // by which its units are summed up, while it is extrapolated
}

// each returns a number for each finished item.
func (p Phase) each(n float64) float64 { return n / float64(max(p.Finished, 1)) }

// split is what one finished item takes: itself, for each server that has subscribers, and for each of these.
type split struct{ item, server, subscriber float64 }

// at returns what an item takes at a size.
func (s split) at(to Size) float64 {
	return s.item + s.server*float64(to.Servers) + s.subscriber*float64(to.Labellers)/float64(to.Projects)
}

// split divides what was measured of a number. anyway is what was taken each second without any item, and listening what each subscriber took.
func (r Record) split(of func(Phase) float64, anyway, listening float64) split {
	each := func(p Phase, subscribers int) float64 {
		return max(0, of(p)-(anyway+listening*float64(subscribers))*p.Took.Seconds()) / float64(max(p.Finished, 1))
	}
	s := split{item: each(r.Quiet, 0)}
	few := each(r.Few, r.Size.Servers)
	if more := r.Size.Labellers - r.Size.Servers; more > 0 {
		s.subscriber = max(0, each(r.Crowd, r.Size.Labellers)-few) / float64(more)
	}
	s.server = max(0, (few-s.item)/float64(r.Size.Servers)-s.subscriber)
	return s
}

// Load is what the keys of a class take at a size.
type Load struct {
	Class
	Keys          int   // how many were measured
	PerItem       Units // of all keys, for each item that is finished
	PerServer     Units // the same, for each server that tells subscribers of it
	PerSubscriber Units // the same, for each of these
	All           Units // a second, of all keys of the class
	Busiest       Units // a second, of the key that takes most
}

// enough is from how many units on of all keys of a class it counts what more subscribers took: what servers do by time differs by some from one
// phase to the next.
const enough = 100

// Share is how much of what DynamoDB allows for a key the busiest one takes: above 1, requests are refused.
func (l Load) Share() float64 {
	return max(l.Busiest.Read/readUnitsOfKey, l.Busiest.Write/writeUnitsOfKey)
}

// Extrapolate returns what a Taggie of another size takes, by class, the one first whose busiest key is nearest to its limit. It assumes that
// each server when nobody does anything, each finished item, each server that tells subscribers of it, and each subscriber take as much as they
// were measured to take, that all labellers follow their project, and that each server has some of them.
//
// What is timed is taken by servers, as much as in the phase in which it was most a second. The busiest key has the part of its class that it had
// while nobody followed the project; [Spread] says how many more keys there are. What servers do for each project when nobody does
// anything, they do for more projects. An item, and what is kept for it alone, counts while somebody has it in hand.
func Extrapolate(r Record, to Size) []Load {
	classes := map[Class]*measured{} // as they were in the first phase that has them
	for _, phase := range []*Phase{&r.Quiet, &r.Few, &r.Crowd, &r.Idle} {
		phase.classes = byClass(phase.Usage)
		for class, m := range phase.classes {
			classes[class] = cmp.Or(classes[class], m)
		}
	}
	all := make([]Load, 0, len(classes))
	for class, m := range classes {
		l := Load{Class: class, Keys: len(m.keys)}
		l.weigh(r, to, m, (*Units).reads)
		l.weigh(r, to, m, (*Units).writes)
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Load) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// weigh computes what the class takes of one kind of units.
func (l *Load) weigh(r Record, to Size, m *measured, kind func(*Units) *float64) {
	in := func(p Phase) float64 {
		if of := p.classes[l.Class]; of != nil {
			return *kind(&of.all)
		}
		return 0
	}
	listened := r.Listening[l.Name]
	listening, resting := *kind(&listened), in(r.Idle)/r.Idle.Took.Seconds()
	s := r.split(in, resting, listening)
	if l.Timed {
		s = split{}
		for _, p := range []Phase{r.Quiet, r.Few, r.Crowd} {
			resting = max(resting, in(p)/p.Took.Seconds())
		}
	}
	if in(r.Crowd) < enough { // chance is larger
		s.subscriber = 0
	}
	*kind(&l.PerItem), *kind(&l.PerServer), *kind(&l.PerSubscriber) = s.item, s.server, s.subscriber
	more := to.of(l.Spread) / r.Size.of(l.Spread)
	if l.Spread == ByProject {
		resting *= more
	}
	all := s.at(to)*to.Finishes() + resting*float64(to.Servers)/float64(r.Size.Servers) + listening*float64(to.Labellers)
	*kind(&l.All), *kind(&l.Busiest) = all, all*m.busiest(l.Spread, r.Size, kind)/more
}

func (u *Units) reads() *float64  { return &u.Read }
func (u *Units) writes() *float64 { return &u.Write }

// measured is what was measured of a class.
type measured struct {
	all  Units
	keys []Units
}

// byClass sums up by class. The entries of a local index are in the partitions of their table.
func byClass(u Usage) map[Class]*measured {
	partitions := map[Key]Units{}
	for key, units := range u.Units {
		if key.Index == localIndex {
			key.Index = ""
		}
		partitions[key] = partitions[key].plus(units)
	}
	all := map[Class]*measured{}
	for key, units := range partitions {
		class := Classify(key, u.Rows[key])
		if all[class] == nil {
			all[class] = &measured{}
		}
		all[class].all = all[class].all.plus(units)
		all[class].keys = append(all[class].keys, units)
	}
	return all
}

// busiest returns which part of a class the key takes that takes most. That of an item is one of those that labellers have in hand.
func (m *measured) busiest(spread Spread, size Size, kind func(*Units) *float64) float64 {
	total, most := *kind(&m.all), 0.0
	for _, units := range m.keys {
		most = max(most, *kind(&units))
	}
	if total == 0 {
		return 1
	}
	if spread == ByItemInHand {
		return min(1, most*float64(len(m.keys))/total/float64(size.Labellers))
	}
	return most / total
}

// SlotLoad is the time that Redis takes for the slots of a kind at a size.
type SlotLoad struct {
	Kind          SlotKind
	Slots         int           // how many were measured
	PerItem       time.Duration // of all of them, for each item that is finished
	PerServer     time.Duration // the same, for each server that tells subscribers of it
	PerSubscriber time.Duration // the same, for each of these
	Share         float64       // of the time of one core, of the slot that takes most: above 1, requests wait longer and longer
}

// ExtrapolateRedis returns how much of the time the busiest slots take at a size, the busiest first. It assumes the same as [Extrapolate].
func ExtrapolateRedis(r Record, to Size) []SlotLoad {
	crowd := r.Crowd.Redis.byKind()
	all := make([]SlotLoad, 0, len(crowd))
	for kind, m := range crowd {
		in := func(p Phase) float64 { return p.Redis.byKind()[kind].seconds() }
		resting := in(r.Idle) / r.Idle.Took.Seconds()
		s := r.split(in, resting, 0)
		perSecond := s.at(to)*to.Finishes() + resting*float64(to.Servers)/float64(r.Size.Servers)
		all = append(all, SlotLoad{Kind: kind, Slots: len(m.slots), PerItem: duration(s.item), PerServer: duration(s.server), PerSubscriber: duration(s.subscriber),
			Share: perSecond * m.busiest() * r.Size.of(kind.Spread) / to.of(kind.Spread)})
	}
	slices.SortFunc(all, func(a, b SlotLoad) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Kind.Name, b.Kind.Name))
	})
	return all
}

// CoreLoad is how many cores each server uses at a size.
type CoreLoad struct {
	PerItem, PerServer, PerSubscriber time.Duration // as in [SlotLoad], CPU of the servers

	Items       float64 // cores of each server for the items that are finished
	Events      float64 // for reading events for its subscribers
	Subscribers float64 // for telling them
}

// ExtrapolateCPU returns how many cores each server uses at a size. It assumes the same as [Extrapolate], and that each server has as many
// subscribers.
func ExtrapolateCPU(r Record, to Size) CoreLoad {
	in := func(p Phase) float64 { return p.CPU.Seconds() }
	s := r.split(in, in(r.Idle)/r.Idle.Took.Seconds(), 0)
	each := to.Finishes() / float64(to.Servers)
	return CoreLoad{
		PerItem: duration(s.item), PerServer: duration(s.server), PerSubscriber: duration(s.subscriber),
		Items: each * s.item, Events: each * s.server * float64(to.Servers), Subscribers: each * s.subscriber * float64(to.Labellers) / float64(to.Projects),
	}
}

func duration(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
