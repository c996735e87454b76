package queue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// The keys without a project. Each may live in a slot of its own, so no script touches two of them, or one of them and a project's.
const (
	sizeKey        = "taggie:project:queue:size" // string: how many ids the queues of projects without a size of their own hold
	onlineUsersKey = "taggie:online:users"       // sorted set: user → last heartbeat, ms
	onlineCountKey = "taggie:online:user:count"  // string: the size of that set
)

// turnKey is held by the server whose turn it is to do something: a string that ends by itself.
func turnKey(what string) string { return "taggie:turn:" + escape(what) }

// keys spells the keys of one project. Its value is what they have in common: the project in braces, which is the part that Redis
// Cluster hashes.
type keys string

func keysOf(p project.ID) keys { return keys("{" + escape(string(p)) + "}") }

// escape keeps a part of a key from being taken for more than one, and braces from being empty: Redis would hash the whole key.
func escape(part string) string {
	if part == "" {
		return "%"
	}
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D", ":", "%3A", "\x00", "%00").Replace(part)
}

func (k keys) queue() string     { return "taggie:project:queue:" + string(k) }     // list: ids that wait
func (k keys) queued() string    { return "taggie:project:queued:" + string(k) }    // set: the ids in that list
func (k keys) wip() string       { return "taggie:project:wip:" + string(k) }       // sorted set: item → end of its lease, ms
func (k keys) claims() string    { return "taggie:project:claims:" + string(k) }    // hash: item → claim, JSON
func (k keys) held() string      { return "taggie:project:held:" + string(k) }      // sorted set: item → until when it is kept for its author, ms
func (k keys) metadata() string  { return "taggie:project:metadata:" + string(k) }  // hash
func (k keys) events() string    { return "taggie:project:events:" + string(k) }    // stream
func (k keys) epoch() string     { return "taggie:project:epoch:" + string(k) }     // string: of that stream
func (k keys) imports() string   { return "taggie:project:imports:" + string(k) }   // hash: import → how many of its items are counted
func (k keys) applied() string   { return "taggie:project:applied:" + string(k) }   // sorted set: transition, or token of an ended claim → when, ms
func (k keys) online() string    { return "taggie:project:online:" + string(k) }    // sorted set: user → last heartbeat, ms
func (k keys) rebuild() string   { return "taggie:project:rebuild:" + string(k) }   // string: the token of the rebuild that is under way
func (k keys) reviews() string   { return "taggie:project:reviews:" + string(k) }   // hash: what, see toReview → how many efforts await a review
func (k keys) reviewing() string { return "taggie:project:reviewing:" + string(k) } // sorted set: effort that a reviewer has → until when, ms; ends by itself
func (k keys) progress() string  { return k.rebuild() + ":progress" }               // hash: how far that is; ends by itself

func (k keys) present() string { return "taggie:project:keys:" + string(k) } // set: names of those that there are, but what users put off or skipped

func (k keys) userQueue(u labelling.UserID) string    { return k.of("user:queue", string(u)) }    // sorted set: item → since, ms
func (k keys) userReturned(u labelling.UserID) string { return k.of("user:returned", string(u)) } // list: items that came back to their author
func (k keys) userLater(u labelling.UserID) string    { return k.of("user:later", string(u)) }    // sorted set: item → not before, ms
func (k keys) userSkipped(u labelling.UserID) string  { return k.of("user:skipped", string(u)) }  // set: items that are not for this user again
func (k keys) userReviews(u labelling.UserID) string  { return k.of("user:reviews", string(u)) }  // sorted set: those of them that the user has; ends by itself
func (k keys) team(id string) string                  { return k.of("team:statistics", id) }      // hash

func (k keys) of(what, part string) string {
	return "taggie:" + what + ":" + string(k) + ":" + escape(part)
}

func (k keys) count(w labelling.Words) string { return "taggie:count:" + string(w) + ":" + string(k) }   // sorted set: word → uses
func (k keys) top(w labelling.Words) string   { return "taggie:topused:" + string(w) + ":" + string(k) } // sorted set: the five of them used most
func (k keys) keywords() string               { return "taggie:keywords:" + string(k) }                  // sorted set: folded form, NUL, keyword that is used; all scores 0
func (k keys) labels(w labelling.Words) string { // list: what may be chosen
	return "taggie:" + string(w) + ":" + string(k)
}

// words are the sets of words in the order in which scripts get their keys.
var words = [...]labelling.Words{labelling.Keywords, labelling.Categories, labelling.Subcategories}

// staged returns the key under which a rebuild prepares what will be kept under the given one. Both have the same braces.
func staged(key, token string) string { return key + ":" + escape(token) }

// streams is how many streams of messages there are. It cannot be changed while messages wait.
const streams = 8

func finishedKey(n int) string { return fmt.Sprintf("taggie:finished:{%d}", n) }      // stream: messages
func sentKey(n int) string     { return fmt.Sprintf("taggie:finished:sent:{%d}", n) } // hash: name of a message → its entry in the stream
func deadKey(n int) string     { return fmt.Sprintf("taggie:finished:dead:{%d}", n) } // stream: dead letters

func ownerKey(n int) string  { return fmt.Sprintf("taggie:finished:owner:{%d}", n) }  // string: the consumer that handles the messages of the stream
func wantedKey(n int) string { return fmt.Sprintf("taggie:finished:wanted:{%d}", n) } // string: JSON of who would like to, and how many it has

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
