package queue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// space spells the keys of one Taggie. Its value is what they all begin with: the prefix of this Taggie, which has no braces, and its name.
type space string

func spaceOf(prefix string) space { return space(prefix + "taggie:") }

// The keys without a project. Each may live in a slot of its own, so no script touches two of them, or one of them and a project's.

func (s space) sizeKey() string        { return string(s) + "project:queue:size" } // string: how many ids the queues of projects without a size of their own hold
func (s space) onlineUsersKey() string { return string(s) + "online:users" }       // sorted set: user → last heartbeat, ms
func (s space) onlineCountKey() string { return string(s) + "online:user:count" }  // string: the size of that set

// turnKey is held by the server whose turn it is to do something: a string that ends by itself.
func (s space) turnKey(what string) string { return string(s) + "turn:" + escape(what) }

// keys spells the keys of one project. They have the project in common, in braces, which is the part that Redis Cluster hashes.
type keys struct {
	space   space
	project string // in braces
}

func (s space) keysOf(p project.ID) keys { return keys{s, "{" + escape(string(p)) + "}"} }

// has reports whether a key, whatever it is for, is one of these.
func (k keys) has(key string) bool {
	of, ours := strings.CutPrefix(key, string(k.space))
	what, _, found := strings.Cut(of, k.project)
	return ours && found && !strings.Contains(what, "taggie:") // as in the keys of a Taggie whose prefix begins with this space
}

func (k keys) key(what string) string { return string(k.space) + what + ":" + k.project }

// escape keeps a part of a key from being taken for more than one, and braces from being empty: Redis would hash the whole key.
func escape(part string) string {
	if part == "" {
		return "%"
	}
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D", ":", "%3A", "\x00", "%00").Replace(part)
}

func (k keys) queue() string     { return k.key("project:queue") }     // list: ids that wait
func (k keys) queued() string    { return k.key("project:queued") }    // set: the ids in that list
func (k keys) wip() string       { return k.key("project:wip") }       // sorted set: item → end of its lease, ms
func (k keys) claims() string    { return k.key("project:claims") }    // hash: item → claim, JSON
func (k keys) held() string      { return k.key("project:held") }      // sorted set: item → until when it is kept for its author, ms
func (k keys) metadata() string  { return k.key("project:metadata") }  // hash
func (k keys) events() string    { return k.key("project:events") }    // stream
func (k keys) epoch() string     { return k.key("project:epoch") }     // string: of that stream
func (k keys) imports() string   { return k.key("project:imports") }   // hash: import → how many of its items are counted
func (k keys) applied() string   { return k.key("project:applied") }   // sorted set: transition, or token of an ended claim → when, ms
func (k keys) online() string    { return k.key("project:online") }    // sorted set: user → last heartbeat, ms
func (k keys) rebuild() string   { return k.key("project:rebuild") }   // string: the token of the rebuild that is under way
func (k keys) reviews() string   { return k.key("project:reviews") }   // hash: what, see toReview → how many efforts await a review
func (k keys) reviewing() string { return k.key("project:reviewing") } // sorted set: effort that a reviewer has → until when, ms; ends by itself
func (k keys) progress() string  { return k.rebuild() + ":progress" }  // hash: how far that is; ends by itself

func (k keys) present() string { return k.key("project:keys") } // set: names of those that there are, but what users put off or skipped

func (k keys) userQueue(u labelling.UserID) string    { return k.of("user:queue", string(u)) }    // sorted set: item → since, ms
func (k keys) userReturned(u labelling.UserID) string { return k.of("user:returned", string(u)) } // list: items that came back to their author
func (k keys) userLater(u labelling.UserID) string    { return k.of("user:later", string(u)) }    // sorted set: item → not before, ms
func (k keys) userSkipped(u labelling.UserID) string  { return k.of("user:skipped", string(u)) }  // set: items that are not for this user again
func (k keys) userReviews(u labelling.UserID) string  { return k.of("user:reviews", string(u)) }  // sorted set: those of them that the user has; ends by itself
func (k keys) team(id string) string                  { return k.of("team:statistics", id) }      // hash

func (k keys) of(what, part string) string {
	return k.key(what) + ":" + escape(part)
}

func (k keys) count(w labelling.Words) string { return k.key("count:" + string(w)) }   // sorted set: word → uses
func (k keys) top(w labelling.Words) string   { return k.key("topused:" + string(w)) } // sorted set: the five of them used most
func (k keys) keywords() string               { return k.key("keywords") }             // sorted set: folded form, NUL, keyword that is used; all scores 0
func (k keys) labels(w labelling.Words) string { // list: what may be chosen
	return k.key(string(w))
}

// words are the sets of words in the order in which scripts get their keys.
var words = [...]labelling.Words{labelling.Keywords, labelling.Categories, labelling.Subcategories}

// staged returns the key under which a rebuild prepares what will be kept under the given one. Both have the same braces.
func staged(key, token string) string { return key + ":" + escape(token) }

// streams is how many streams of messages there are. It cannot be changed while messages wait.
const streams = 8

func (s space) numbered(what string, n int) string { return fmt.Sprintf("%s%s:{%d}", s, what, n) }

func (s space) finishedKey(n int) string { return s.numbered("finished", n) }      // stream: messages
func (s space) sentKey(n int) string     { return s.numbered("finished:sent", n) } // hash: name of a message → its entry in the stream
func (s space) deadKey(n int) string     { return s.numbered("finished:dead", n) } // stream: dead letters

func (s space) ownerKey(n int) string  { return s.numbered("finished:owner", n) }  // string: the consumer that handles the messages of the stream
func (s space) wantedKey(n int) string { return s.numbered("finished:wanted", n) } // string: JSON of who would like to, and how many it has

// streamOf returns the number of the stream that a dead letter is of, and its entry there.
func streamOf(letter string) (n int, entry string, ok bool) {
	number, entry, found := strings.Cut(letter, "/")
	n, err := strconv.Atoi(number)
	return n, entry, found && err == nil && 0 <= n && n < streams && entryID(entry)
}

// entryID reports whether text can be the id of an entry of a stream: Redis answers others with an error.
func entryID(text string) bool {
	ms, seq, ok := strings.Cut(text, "-")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(ms, 10, 64)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(seq, 10, 64)
	return err == nil
}
