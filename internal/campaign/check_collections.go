package campaign

import "slices"

// checkCollections holds collections against what was made in them and taken out of them.
func (c *checker) checkCollections() {
	known := map[string]bool{}
	for _, of := range c.stored.Collections {
		known[of.ID] = true
		c.checkCollection(of)
	}
	for _, o := range c.operations {
		if o.Kind == Make && o.Outcome == Acknowledged && !known[o.Of] {
			c.broken(Kept, "%s are not there, where %s was told that %q is", o.Of, o.User, o.Content)
		}
	}
}

func (c *checker) checkCollection(of Collection) {
	there := map[string]int{}
	for _, name := range of.Members {
		if there[name]++; there[name] == 2 {
			c.broken(Once, "%s have %q more than once", of.ID, name)
		}
	}
	made, taken := c.outcomes(of.ID)
	for name, o := range made {
		switch n := there[name]; {
		case o.Outcome == Refused && n > 0:
			c.broken(Nothing, "%s have %q, which was refused to %s: %s", of.ID, name, o.User, o.Why)
		case taken[name].Outcome == Acknowledged && n > 0:
			c.broken(Kept, "%s have %q, which %s was told is taken away", of.ID, name, taken[name].User)
		case taken[name].Outcome == Acknowledged || taken[name].Outcome == Unknown:
		case o.Outcome == Acknowledged && n == 0:
			c.broken(Kept, "%s have no %q, where %s was told that it is", of.ID, name, o.User)
		}
		delete(there, name)
	}
	for name := range there {
		c.broken(Nothing, "%s have %q, which nobody made", of.ID, name)
	}
}

// outcomes are the operations that made and took each member of a collection, by name.
func (c *checker) outcomes(collection string) (made, taken map[string]Operation) {
	made, taken = map[string]Operation{}, map[string]Operation{}
	for _, o := range c.of[collection] {
		if o.Kind == Take {
			taken[o.Content] = o
		} else {
			made[o.Content] = o
		}
	}
	return made, taken
}

// checkCopies looks whether each copy has what was in the collection when the copy was made: all that was acknowledged before, and nothing that
// was asked for afterwards.
func (c *checker) checkCopies() {
	for _, kept := range c.stored.Copies {
		copies, _ := c.outcomes(kept.In)
		taken, ok := copies[kept.Name]
		if !ok {
			continue // which the rule about collections says
		}
		made, _ := c.outcomes(kept.Of)
		for name, o := range made {
			there := slices.Contains(kept.Members, name)
			if !there && o.Outcome == Acknowledged && o.Ended.Before(taken.Began) {
				c.broken(Kept, "%q of %s has no %q, which was acknowledged before", kept.Name, kept.In, name)
			}
			if there && (o.Outcome == Refused || o.Began.After(taken.Ended)) {
				c.broken(Nothing, "%q of %s has %q, which was not there then", kept.Name, kept.In, name)
			}
		}
	}
}
