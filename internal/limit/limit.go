// Package limit says what a limit is, so that each room declares its own beside the constants that hold them, and docs/limits.md shows all
// of them in one table.
//
// It knows how numbers are written. It must not know any limit. Start reading at [Limit]; then at a function Limits of a room.
package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is what somebody may have, or ask for, at most.
type Limit struct {
	What string // in the plural: "Characters of a title"
	Of   string // what they are counted of: "a note"
	Most string // as [Count], [About], [Bytes] or [Time] write it
	Code string // what is told beyond: a code of errors, or the type of a problem; "" when there is none
	Then string // what happens beyond, where the code alone does not tell
	Set  string // the variable with another number; "" for none
}

// The codes of errors that limits have.
const (
	Invalid      = "INVALID_INPUT"
	Exhausted    = "EXHAUSTED"
	BadRequest   = "BAD_REQUEST"
	Unavailable  = "UNAVAILABLE"
	Unauthorized = "UNAUTHENTICATED"
	Unparsed     = "GRAPHQL_PARSE_FAILED"
)

// Count writes a number of things: 350,000.
func Count[N ~int | ~int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// About writes a number that is counted in the background.
func About(n int) string { return "about " + Count(n) }

// Bytes writes a size: 64 KiB, or 350,000 bytes when it is no round one.
func Bytes[N ~int | ~int64](n N) string {
	for _, unit := range []struct {
		name string
		size N
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return Count(n/unit.size) + " " + unit.name
		}
	}
	return Count(n) + " bytes"
}

// Time writes a duration: 15 s, 5 min, 24 h, 30 days.
func Time(d time.Duration) string {
	switch {
	case d > 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// Room is what a room declares.
type Room struct {
	Name   string
	Limits []Limit
}

// Table returns all limits as docs/limits.md shows them.
func Table(rooms ...Room) string {
	var b strings.Builder
	b.WriteString("| What | Of | At most | Beyond | Set in |\n|---|---|---|---|---|\n")
	for _, room := range rooms {
		for _, l := range room.Limits {
			beyond, set := l.Then, "`"+room.Name+"`"
			if l.Code != "" {
				beyond = "`" + l.Code + "`"
				if l.Then != "" {
					beyond += ", " + l.Then
				}
			}
			if l.Set != "" {
				set = "`" + l.Set + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.What, l.Of, l.Most, beyond, set)
		}
	}
	return b.String()
}
