package demo

import "fmt"

// plannedEntity is an entity of the scope; its key is how relations name it.
type plannedEntity struct {
	kind, key  string
	attributes map[string]any
}

// plannedRelations are objects of a subject under a predicate.
type plannedRelations struct {
	subject, predicate string
	objects            []plannedObject
}

type plannedObject struct {
	key        string
	attributes map[string]any // nil for none
}

// catalogue says how many entities of each type the scope has.
type catalogue struct{ people, works, ensembles int }

// planScope returns the beginning of the catalogue, and the relations within it; always the same.
func planScope(c catalogue) ([]plannedEntity, []plannedRelations) {
	var entities []plannedEntity
	for i, m := range musicians[:c.people] {
		entities = append(entities, plannedEntity{"person", personKey(i), map[string]any{"name": m.name, "born": m.born, "instruments": m.instruments}})
	}
	for i := range c.works {
		entities = append(entities, plannedEntity{"work", workKey(i), map[string]any{
			"title": forms[i%len(forms)] + " " + moods[i/len(forms)%len(moods)],
			"year":  musicians[composer(i)].born + 21 + 7*i%40, "minutes": 4 + 5*i%31,
		}})
	}
	for i, name := range ensembles[:c.ensembles] {
		entities = append(entities, plannedEntity{"ensemble", ensembleKey(i), map[string]any{"name": name, "founded": 1905 + 9*i}})
	}
	return entities, relationsWithin(entities)
}

func personKey(i int) string   { return fmt.Sprintf("person-%02d", i+1) }
func workKey(i int) string     { return fmt.Sprintf("work-%02d", i+1) }
func ensembleKey(i int) string { return fmt.Sprintf("ensemble-%02d", i+1) }

// composer returns whose the i-th work is: the first works are by the first people.
func composer(i int) int { return i * 3 / 5 % len(musicians) }

// relationsWithin returns those of all relations whose two ends are there.
func relationsWithin(entities []plannedEntity) []plannedRelations {
	there := map[string]bool{}
	for _, e := range entities {
		there[e.key] = true
	}
	var within []plannedRelations
	for _, r := range allRelations() {
		kept := plannedRelations{subject: r.subject, predicate: r.predicate}
		for _, o := range r.objects {
			if there[o.key] {
				kept.objects = append(kept.objects, o)
			}
		}
		if there[r.subject] && len(kept.objects) > 0 {
			within = append(within, kept)
		}
	}
	return within
}

func allRelations() []plannedRelations {
	var all []plannedRelations
	relate := func(subject, predicate string, objects ...plannedObject) {
		for i, r := range all {
			if r.subject == subject && r.predicate == predicate {
				all[i].objects = append(r.objects, objects...)
				return
			}
		}
		all = append(all, plannedRelations{subject, predicate, objects})
	}
	for i := range musicians {
		// Everybody wrote letters to the next, and the last one to the first; and each second one answered.
		relate(personKey(i), "wrote-to", plannedObject{key: personKey((i + 1) % len(musicians))})
		if i%2 == 1 {
			relate(personKey(i), "wrote-to", plannedObject{key: personKey(i - 1)})
		}
		if i > 0 && i%3 == 0 {
			relate(personKey(i/3), "taught", plannedObject{key: personKey(i)}, plannedObject{key: personKey((i + 2) % len(musicians))})
		}
	}
	for i := range full.scope.works {
		relate(workKey(i), "composed-by", plannedObject{key: personKey(composer(i))})
		if i%4 == 3 {
			relate(workKey(i), "arrangement-of", plannedObject{workKey(i - 3), map[string]any{"by": musicians[i%len(musicians)].name}})
		}
	}
	for i := range ensembles {
		for k := range 3 {
			member := (2*i + k*k) % len(musicians)
			relate(ensembleKey(i), "member", plannedObject{personKey(member), map[string]any{"instrument": musicians[member].instruments[0]}})
			relate(ensembleKey(i), "performed", plannedObject{key: workKey((5*i + 2*k) % full.scope.works)})
		}
	}
	return all
}
