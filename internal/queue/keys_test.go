package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func TestKeysAreSpelledAsDocumented(t *testing.T) {
	s := spaceOf("")
	k := s.keysOf("p1")
	for want, got := range map[string]string{
		"taggie:project:queue:size":            s.sizeKey(),
		"taggie:project:queue:{p1}":            k.queue(),
		"taggie:project:queued:{p1}":           k.queued(),
		"taggie:project:wip:{p1}":              k.wip(),
		"taggie:project:claims:{p1}":           k.claims(),
		"taggie:project:held:{p1}":             k.held(),
		"taggie:project:metadata:{p1}":         k.metadata(),
		"taggie:project:events:{p1}":           k.events(),
		"taggie:project:epoch:{p1}":            k.epoch(),
		"taggie:project:imports:{p1}":          k.imports(),
		"taggie:project:applied:{p1}":          k.applied(),
		"taggie:project:online:{p1}":           k.online(),
		"taggie:project:rebuild:{p1}":          k.rebuild(),
		"taggie:project:rebuild:{p1}:progress": k.progress(),
		"taggie:user:queue:{p1}:u1":            k.userQueue("u1"),
		"taggie:user:returned:{p1}:u1":         k.userReturned("u1"),
		"taggie:user:later:{p1}:u1":            k.userLater("u1"),
		"taggie:user:skipped:{p1}:u1":          k.userSkipped("u1"),
		"taggie:team:statistics:{p1}:t1":       k.team("t1"),
		"taggie:topused:keywords:{p1}":         k.top(labelling.Keywords),
		"taggie:topused:categories:{p1}":       k.top(labelling.Categories),
		"taggie:topused:subcategories:{p1}":    k.top(labelling.Subcategories),
		"taggie:count:keywords:{p1}":           k.count(labelling.Keywords),
		"taggie:count:categories:{p1}":         k.count(labelling.Categories),
		"taggie:count:subcategories:{p1}":      k.count(labelling.Subcategories),
		"taggie:keywords:{p1}":                 k.keywords(),
		"taggie:categories:{p1}":               k.labels(labelling.Categories),
		"taggie:subcategories:{p1}":            k.labels(labelling.Subcategories),
		"taggie:online:users":                  s.onlineUsersKey(),
		"taggie:online:user:count":             s.onlineCountKey(),
		"taggie:finished:{7}":                  s.finishedKey(7),
		"taggie:finished:sent:{7}":             s.sentKey(7),
		"taggie:finished:dead:{7}":             s.deadKey(7),
		"taggie:finished:owner:{7}":            s.ownerKey(7),
		"taggie:finished:wanted:{7}":           s.wantedKey(7),
		"taggie:project:queue:{p1}:tok":        staged(k.queue(), "tok"),
		"taggie:project:queue:{%}":             s.keysOf("").queue(),
		"taggie:user:queue:{p%7D1%25}:u%3A1":   s.keysOf("p}1%").userQueue("u:1"),
		"taggie:team:statistics:{p%7B1}:t%00":  s.keysOf("p{1").team("t\x00"),
	} {
		assert.Equal(t, want, got)
	}
}

func FuzzKeysStayApartAndTogether(f *testing.F) {
	f.Add("p1", "u1", "p", "1:u1")
	f.Add("", "}", "{", "%")
	f.Add("{}", "", "%7B%7D", "%")
	f.Fuzz(func(t *testing.T, p, u, p2, u2 string) {
		s := spaceOf("eu:")
		k, k2 := s.keysOf(project.ID(p)), s.keysOf(project.ID(p2))
		a, b := k.userQueue(labelling.UserID(u)), k2.userQueue(labelling.UserID(u2))
		if (p != p2 || u != u2) && a == b {
			t.Fatalf("%q %q and %q %q share %q", p, u, p2, u2, a)
		}
		if slot(a) != slot(k.queue()) || slot(a) != slot(k.team(u2)) || slot(a) != slot(staged(k.queue(), u2)) {
			t.Fatalf("the keys of %q are in several slots", p)
		}
	})
}

// slot is the slot of a key in a Redis Cluster: CRC-16 (XMODEM) of what stands between the first brace and the next closing one,
// or of the whole key when nothing does.
func slot(key string) int {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					key = key[i+1 : j]
				}
				break
			}
		}
		break
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % embeddedtest.Slots
}

func TestSlot(t *testing.T) {
	assert.Equal(t, 0x31C3, slot("123456789"), "from the specification of Redis Cluster")
	assert.Equal(t, slot("{user1000}.following"), slot("{user1000}.followers"))
	assert.Equal(t, slot("bar"), slot("foo{bar}{zap}"))
	assert.NotEqual(t, slot("foo"), slot("foo{}{bar}"), "an empty tag is none")
}
