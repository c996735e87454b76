package main

import (
	"maps"
	"slices"
)

// measured is what all runs have measured of the questions.
type measured struct {
	gogc      string // of those that are compared at equal settings
	questions map[string]*figures
}

// figures are those of one question: one for each run.
type figures struct {
	shipped, equal map[string][]float64 // ratios by name of the server; not every server has both
	where          shares               // of Taggie, in all runs
}

func newMeasured(gogc string) measured {
	return measured{gogc: gogc, questions: map[string]*figures{}}
}

// ratios are what a server needs relative to the hand-written handler, in one run; 0 where they cannot be compared.
type ratios struct {
	shipped float64 // both as they are shipped
	equal   float64 // both with the same setting of the garbage collector
}

// compareTo returns the ratios of each server. A server in another language has one setting, which goes with both.
func compareTo(gogc string, servers []*process, results []result) []ratios {
	var shipped, equal float64 // of the handler
	for i, p := range servers {
		if cpu := float64(results[i].cpuPerRequest()); p.name == nameHandwritten && p.gogc == gogc {
			equal = cpu
		} else if p.name == nameHandwritten {
			shipped = cpu
		}
	}
	all := make([]ratios, len(servers))
	for i, p := range servers {
		cpu := float64(results[i].cpuPerRequest())
		if asShipped := p.name == nameTaggie || p.gogc == ""; asShipped && shipped > 0 {
			all[i].shipped = cpu / shipped
		}
		if (p.gogc == gogc || p.foreign) && equal > 0 {
			all[i].equal = cpu / equal
		}
	}
	return all
}

// add takes in one question of one run.
func (m measured) add(q question, servers []*process, results []result, where shares) []ratios {
	f := m.questions[q.name]
	if f == nil {
		f = &figures{shipped: map[string][]float64{}, equal: map[string][]float64{}, where: shares{}}
		m.questions[q.name] = f
	}
	all := compareTo(m.gogc, servers, results)
	for i, p := range servers {
		if r := all[i].shipped; r > 0 {
			f.shipped[p.name] = append(f.shipped[p.name], r)
		}
		if r := all[i].equal; r > 0 {
			f.equal[p.name] = append(f.equal[p.name], r)
		}
	}
	f.where.merge(where)
	return all
}

// standing returns the medians of a question.
func (m measured) standing(q question) standing {
	f := m.questions[q.name]
	s := standing{Ratio: median(f.shipped[nameTaggie]), Equal: median(f.equal[nameTaggie]), Floor: median(f.equal[nameFloor]), Rooms: map[string]float64{}}
	if peer := median(f.equal[nameMercurius]); peer > 0 {
		s.Peer = peer / s.Equal
	}
	for _, room := range rooms {
		s.Rooms[room] = s.Equal * f.where.of(room)
	}
	return s
}

// median returns the middle of some values, the lower one of two; 0 when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// baseline returns what is kept to compare with later.
func (m measured) baseline() baseline {
	b := baseline{}
	for _, q := range questions {
		if m.questions[q.name] != nil {
			b[q.name] = m.standing(q)
		}
	}
	return b
}

// names returns the names of the questions in a baseline, in order.
func (b baseline) names() []string { return slices.Sorted(maps.Keys(b)) }
