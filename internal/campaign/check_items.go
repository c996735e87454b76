package campaign

import (
	"cmp"
	"slices"
)

// checkItems holds the items against what was done with each.
func (c *checker) checkItems() {
	asked := map[string]bool{}
	for _, o := range c.operations {
		switch o.Kind {
		case Claim, Found, Finish, Undo, Release, Defer, Skip:
			if _, known := c.items[o.Of]; !known && o.Of != "" && !asked[o.Of] {
				c.broken(Kept, "item %s is not there", o.Of)
				asked[o.Of] = true
			}
		case Make, Take, Write, Look, Revoke, Dismiss, Complain:
		}
	}
	for _, i := range c.stored.Items {
		c.checkEfforts(i)
		c.checkVersions(i)
		c.checkHolders(i)
	}
}

// checkEfforts looks whether the efforts of an item are those that were made.
func (c *checker) checkEfforts(i Item) {
	if n := i.counting(); n > 1 {
		c.broken(Once, "item %s was finished %d times", i.ID, n)
	} else if (n == 1) != (i.Status == "FINISHED") {
		c.broken(Kept, "item %s is %s and has %d efforts that count", i.ID, i.Status, n)
	}
	type balance struct{ stored, refused, unknown int }
	of := map[string]*balance{}
	user := func(id string) *balance {
		if of[id] == nil {
			of[id] = &balance{}
		}
		return of[id]
	}
	there := map[string]Effort{}
	for _, e := range i.Efforts {
		if _, twice := there[e.ID]; twice {
			c.broken(Once, "effort %s of item %s is there twice", e.ID, i.ID)
		}
		there[e.ID] = e
	}
	made, undone := map[string]bool{}, map[string]Outcome{}
	for _, o := range c.of[i.ID] {
		switch {
		case o.Kind == Finish && o.Outcome == Acknowledged:
			e, ok := there[o.Effort]
			if !ok || e.User != o.User {
				c.broken(Kept, "%s was told that item %s is finished as effort %s, which is not there", o.User, i.ID, o.Effort)
			}
			if made[o.Effort] {
				c.broken(Once, "effort %s of item %s was acknowledged twice", o.Effort, i.ID)
			}
			made[o.Effort] = true
		case o.Kind == Finish && o.Outcome == Refused:
			user(o.User).refused++
		case o.Kind == Finish:
			user(o.User).unknown++
		case o.Kind == Undo && undone[o.Effort] != Acknowledged:
			if undone[o.Effort] != Unknown || o.Outcome == Acknowledged {
				undone[o.Effort] = o.Outcome
			}
		}
	}
	for _, e := range i.Efforts {
		if !made[e.ID] {
			user(e.User).stored++
		}
		switch outcome := undone[e.ID]; {
		case e.Undone && outcome == Refused:
			c.broken(Nothing, "effort %s of item %s was taken back, which was refused", e.ID, i.ID)
		case e.Undone && outcome == "":
			c.broken(Nothing, "effort %s of item %s was taken back, which nobody asked for", e.ID, i.ID)
		case !e.Undone && outcome == Acknowledged:
			c.broken(Kept, "effort %s of item %s counts, and was taken back", e.ID, i.ID)
		}
	}
	for id, b := range of {
		if b.stored > b.unknown && b.unknown > 0 {
			c.broken(Once, "%s has %d efforts of item %s more than were acknowledged; %d finishes were not answered", id, b.stored, i.ID, b.unknown)
		} else if b.stored > b.unknown {
			c.broken(Nothing, "%s has %d efforts of item %s that were not acknowledged; %d finishes were refused", id, b.stored, i.ID, b.refused)
		}
	}
}

// after is the status of an item after an operation.
var after = map[Kind]string{Claim: "CLAIMED", Found: "CLAIMED", Undo: "CLAIMED", Finish: "FINISHED", Release: "NEW", Defer: "NEW", Skip: "SKIPPED"}

// known are the changes of an item whose versions were told, in their order.
func (c *checker) known(item string) []Operation {
	var all []Operation
	for _, o := range c.of[item] {
		if o.Outcome == Acknowledged && o.Version > 0 && o.Kind != Found && after[o.Kind] != "" {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Operation) int { return cmp.Compare(a.Version, b.Version) })
	return all
}

// checkVersions looks whether each acknowledged change has a version of its own, and is there, and whether what came first has the lower one.
func (c *checker) checkVersions(i Item) {
	known := c.known(i.ID)
	for n, o := range known {
		if n > 0 && known[n-1].Version == o.Version {
			c.broken(Once, "version %d of item %s is %s by %s and %s by %s", o.Version, i.ID, known[n-1].Kind, known[n-1].User, o.Kind, o.User)
		}
		for _, later := range known[n+1:] {
			if later.Ended.Before(o.Began) {
				c.broken(Once, "item %s: %s of version %d was over before %s of version %d began", i.ID, later.Kind, later.Version, o.Kind, o.Version)
			}
		}
	}
	if len(known) == 0 {
		return
	}
	last := known[len(known)-1]
	if last.Version > i.Version {
		c.broken(Kept, "item %s is at version %d, and %s was told of version %d (%s)", i.ID, i.Version, last.User, last.Version, last.Kind)
	} else if last.Version == i.Version && (after[last.Kind] != i.Status || i.Status == "CLAIMED" && i.Holder != last.User) {
		c.broken(Kept, "item %s is %s of %q at version %d, which is %s by %s", i.ID, i.Status, i.Holder, i.Version, last.Kind, last.User)
	}
}

// checkHolders looks for items that were in two hands. A claim ends with what its holder does by its token; by itself only with the holder's
// membership, or after a time that campaigns do not last.
func (c *checker) checkHolders(i Item) {
	type hold struct {
		claim Operation
		ended bool // by what was acknowledged, or may have happened
		end   Operation
	}
	var holds []*hold
	of := map[string]*hold{}
	for _, o := range c.of[i.ID] {
		if o.Outcome != Acknowledged || o.Kind != Claim && o.Kind != Found && o.Kind != Undo || of[o.Token] != nil {
			continue
		}
		h := &hold{claim: o}
		holds, of[o.Token] = append(holds, h), h
	}
	for _, o := range c.of[i.ID] {
		h := of[o.Token]
		if h == nil || o.Kind == Claim || o.Kind == Found || o.Kind == Undo || o.Outcome == Refused {
			continue
		}
		if !h.ended || o.Began.Before(h.end.Began) {
			h.ended, h.end = true, o
		}
	}
	slices.SortStableFunc(holds, func(a, b *hold) int { return a.claim.Ended.Compare(b.claim.Ended) })
	for n, h := range holds {
		if c.left(h.claim.User) {
			continue
		}
		for _, next := range holds[n+1:] {
			if !h.ended || next.claim.Ended.Before(h.end.Began) {
				c.broken(OneHolder, "item %s was handed to %s while %s had it", i.ID, next.claim.User, h.claim.User)
				break
			}
		}
	}
}

// left reports whether somebody's claims may have ended with the membership.
func (c *checker) left(user string) bool {
	return slices.ContainsFunc(c.of[user], func(o Operation) bool { return o.Kind == Dismiss && o.Outcome != Refused })
}
