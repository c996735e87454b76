package capacity

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Slots is the time that Redis took, by slot and by what it did there. All keys with the same text in braces are in one slot of a Redis
// Cluster. It may be used while commands are added.
type Slots struct {
	mu  sync.Mutex
	all map[slotUse]Spent
}

// slotUse is something that Redis did in a slot.
type slotUse struct {
	slot string // what is hashed: the text in braces, or the whole key
	what string // the command, and the first keys without that text
}

// Spent is how often something was done, and how long Redis took for it.
type Spent struct {
	Calls int
	Time  time.Duration
}

// Add adds a command as Redis lists it in its SLOWLOG, with the time that it took there. Commands without a key belong to no slot.
func (s *Slots) Add(command []string, took time.Duration) {
	use, ok := useOf(command)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[slotUse]Spent{}
	}
	spent := s.all[use]
	spent.Calls++
	spent.Time += took
	s.all[use] = spent
}

// braces are what Redis hashes of a key: what is between the first brace and the one after it, unless that is nothing.
var braces = regexp.MustCompile(`\{([^}]+)\}`)

func useOf(command []string) (u slotUse, ok bool) {
	keys := keysOfCommand(command)
	if len(keys) == 0 {
		return slotUse{}, false
	}
	u.slot, u.what = keys[0], strings.ToLower(command[0])
	for _, key := range keys[:min(2, len(keys))] { // two tell scripts apart
		u.what += " " + mask(braces.ReplaceAllString(key, "{…}"))
	}
	if in := braces.FindStringSubmatch(keys[0]); in != nil {
		u.slot = in[1]
	}
	return u, true
}

// keyless are commands that name no key, or are not those of a server.
var keyless = []string{"AUTH", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "HELLO", "INFO", "PING", "ROLE", "SCRIPT", "SELECT", "SLOWLOG", "TIME"}

// keysOfCommand returns the keys of a command, as far as they are needed.
func keysOfCommand(command []string) []string {
	if len(command) < 2 || slices.Contains(keyless, strings.ToUpper(command[0])) {
		return nil
	}
	switch strings.ToUpper(command[0]) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		if len(command) < 4 {
			return nil
		}
		n, err := strconv.Atoi(command[2])
		if err != nil {
			return nil
		}
		return command[3:min(3+n, len(command))]
	case "XREAD", "XREADGROUP":
		if at := slices.IndexFunc(command, func(word string) bool { return strings.EqualFold(word, "STREAMS") }); at >= 0 && at+1 < len(command) {
			return command[at+1 : at+2]
		}
		return nil
	case "XGROUP", "XINFO", "OBJECT", "MEMORY":
		return command[min(2, len(command)):min(3, len(command))]
	default:
		return command[1:2]
	}
}

// kept is an entry of slots as it is written to a file.
type kept struct {
	Slot, What string
	Spent      Spent
}

// GobEncode writes what was done, so that it can be extrapolated again.
func (s *Slots) GobEncode() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]kept, 0, len(s.all))
	for use, spent := range s.all {
		list = append(list, kept{use.slot, use.what, spent})
	}
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(list)
	return out.Bytes(), err
}

// GobDecode reads what [Slots.GobEncode] wrote.
func (s *Slots) GobDecode(text []byte) error {
	var list []kept
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&list); err != nil {
		return err
	}
	s.all = map[slotUse]Spent{}
	for _, one := range list {
		s.all[slotUse{one.Slot, one.What}] = one.Spent
	}
	return nil
}

// Minus returns what was done since an earlier moment.
func (s *Slots) Minus(before *Slots) *Slots {
	since := &Slots{all: map[slotUse]Spent{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for use, spent := range s.all {
		if was := before.all[use]; was.Calls != spent.Calls {
			since.all[use] = Spent{spent.Calls - was.Calls, spent.Time - was.Time}
		}
	}
	return since
}

// Copy returns what was done so far.
func (s *Slots) Copy() *Slots { return s.Minus(&Slots{}) }

// Total returns what was done in all slots together.
func (s *Slots) Total() (sum Spent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spent := range s.all {
		sum.Calls += spent.Calls
		sum.Time += spent.Time
	}
	return sum
}

// SlotKind is slots that differ only in ids and numbers.
type SlotKind struct {
	Name   string
	Spread Spread
}

// kindOf returns the kind of the slot in which something was done.
func kindOf(u slotUse) SlotKind {
	key := strings.Fields(u.what + " -")[1]
	switch {
	case strings.Contains(key, "taggie:finished"):
		return SlotKind{"messages {<n>}", Fixed}
	case strings.Contains(key, "{…}") && strings.Contains(mask(u.slot), "<id>"):
		if strings.Contains(key, "project:") || strings.Contains(key, "user:") || strings.Contains(key, "team:") || strings.Contains(key, "count:") || strings.Contains(key, "topused:") {
			return SlotKind{"project {<id>}", ByProject}
		}
		return SlotKind{key, ByLabeller}
	case strings.Contains(key, "<id>"):
		return SlotKind{key, ByLabeller}
	default:
		return SlotKind{key, Fixed}
	}
}

type slotsOfKind struct {
	slots map[string]time.Duration
}

func (s *Slots) byKind() map[SlotKind]*slotsOfKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := map[string]SlotKind{} // of slots: all keys of one are of a kind
	for _, use := range slices.SortedFunc(maps.Keys(s.all), func(a, b slotUse) int { return strings.Compare(a.what, b.what) }) {
		if kind := kindOf(use); kinds[use.slot].Name == "" || kind.Spread == ByProject {
			kinds[use.slot] = kind
		}
	}
	all := map[SlotKind]*slotsOfKind{}
	for use, spent := range s.all {
		kind := kinds[use.slot]
		if all[kind] == nil {
			all[kind] = &slotsOfKind{slots: map[string]time.Duration{}}
		}
		all[kind].slots[use.slot] += spent.Time
	}
	return all
}

// seconds returns the time of all slots of the kind; none of what was not measured.
func (s *slotsOfKind) seconds() (sum float64) {
	if s == nil {
		return 0
	}
	for _, took := range s.slots {
		sum += took.Seconds()
	}
	return sum
}

// busiest returns which part of the time of all slots of a kind the one takes that takes most.
func (s *slotsOfKind) busiest() (part float64) {
	for _, took := range s.slots {
		part = max(part, took.Seconds()/max(s.seconds(), 1e-9))
	}
	return part
}

// Scaled returns the same with times whose sum is the CPU time of Redis: SLOWLOG tells neither what it takes to read a command and to write its
// answer, nor for how long Redis waited for a core meanwhile.
func (s *Slots) Scaled(cpu time.Duration) *Slots {
	by := cpu.Seconds() / max(s.Total().Time.Seconds(), 1e-9)
	scaled := s.Copy()
	for use, spent := range scaled.all {
		scaled.all[use] = Spent{spent.Calls, duration(spent.Time.Seconds() * by)}
	}
	return scaled
}

// Most returns what Redis did that took most time, whatever the slot, by what it was, the longest first.
func (s *Slots) Most(n int) (what []string, spent []Spent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Spent{}
	for use, one := range s.all {
		all[use.what] = Spent{all[use.what].Calls + one.Calls, all[use.what].Time + one.Time}
	}
	what = slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b].Time, all[a].Time), cmp.Compare(a, b)) })
	what = what[:min(n, len(what))]
	for _, one := range what {
		spent = append(spent, all[one])
	}
	return what, spent
}
