package campaign

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Series is what was measured of something, again and again, in the order of time.
type Series struct {
	Of       string    `json:"of"`
	Unit     string    `json:"unit,omitempty"`
	Growth   Growth    `json:"growth"`
	Readings []Reading `json:"readings"`
}

// Reading is what was measured at a time.
type Reading struct {
	At    time.Time `json:"at"`
	Value float64   `json:"value"`
}

// Growth bounds how much something may grow. Readings of what does not grow differ as well: the heap fills until it is collected, and pools fill
// when more is asked at once than before. A slope therefore may be larger in a short time than in a long one.
type Growth struct {
	Breath  float64 `json:"breath"`  // how much larger than before something may be for the second half of the time and not grow
	PerHour float64 `json:"perHour"` // how much it may grow besides
}

// Long is how much time the readings cover.
func (s Series) Long() time.Duration {
	if len(s.Readings) < 2 {
		return 0
	}
	return s.Readings[len(s.Readings)-1].At.Sub(s.Readings[0].At)
}

// Slope returns by how much the value grows in an hour: the slope of the line from which the readings differ least, by the sum of squares.
func (s Series) Slope() float64 {
	if s.Long() <= 0 {
		return 0
	}
	n, hours, values := float64(len(s.Readings)), 0.0, 0.0
	began := s.Readings[0].At
	for _, r := range s.Readings {
		hours += r.At.Sub(began).Hours() / n
		values += r.Value / n
	}
	above, below := 0.0, 0.0
	for _, r := range s.Readings {
		d := r.At.Sub(began).Hours() - hours
		above += d * (r.Value - values)
		below += d * d
	}
	return above / below
}

// Most is the largest slope that is allowed. What rises once by the breath and stays there has the steepest line when that is in the middle: 1.5 breaths
// over the time.
func (s Series) Most() float64 {
	if s.Long() <= 0 {
		return 0
	}
	return s.Growth.PerHour + 1.5*s.Growth.Breath/s.Long().Hours()
}

// String tells the slope and its bound.
func (s Series) String() string {
	unit := s.Unit
	if unit != "" {
		unit = " " + unit
	}
	return fmt.Sprintf("%s: %+.1f%s an hour, at most %+.1f, over %v", s.Of, s.Slope(), unit, s.Most(), s.Long().Round(time.Second))
}

// checkUse looks at what servers used, and at what was left.
func (c *checker) checkUse() {
	for _, s := range c.stored.Measured {
		if s.Slope() > s.Most() {
			c.broken(Level, "%s", s)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.stored.Left)) {
		if n := c.stored.Left[kind]; n > 0 {
			c.broken(Cleared, "%d %s are left", n, kind)
		}
	}
}
