package keys

import (
	"fmt"
	"strings"
	"time"
)

// HistoryPrefix begins the partitions of the histories of projects.
const HistoryPrefix = "PROJECT_HISTORY#"

// The attributes of a change that name who made it, and the member whom it concerns.
const (
	HistoryBy     = "by"
	HistoryMember = "member"
)

// HistoryPK is PROJECT_HISTORY#<project>#<year>-<quarter>: what managers changed in a project in three months of a year.
func HistoryPK(project string, at time.Time) string {
	at = at.UTC()
	return fmt.Sprintf("%s%s#%04d-%d", HistoryPrefix, escape(project), at.Year(), (int(at.Month())+2)/3)
}

// HistorySK is <instant>#<change>: changes sort by time.
func HistorySK(at time.Time, id string) string { return Instant(at) + "#" + escape(id) }

// HistoryAt is the instant of such a sort key; the zero time of another text.
func HistoryAt(sk string) time.Time {
	at, _, _ := strings.Cut(sk, "#")
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return time.Time{}
	}
	return t
}
