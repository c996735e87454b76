package keys

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// The keys of the table tags. Ids of authors and files are UUIDs, and values are folded ones without control characters. No id
// begins with "~": what is not the document's own does.

// TagID is <author>#<file>: the rows by which an author's tags on a file are searched.
func TagID(author, file string) string { return escape(author) + "#" + escape(file) }

// FileID is #<file>: what each author has put on the file, as one row per author with the author as its sort key.
func FileID(file string) string { return "#" + escape(file) }

// PublicFileID is ~public#<file>: of what each author has put on the file what others may see, as one row per author with the author as its
// sort key.
func PublicFileID(file string) string { return "~public#" + escape(file) }

// ProjectFileID is ~in#<file>: the tags by which the file is found in projects, as one row per project, author and tag.
func ProjectFileID(file string) string { return ProjectFilePrefix + escape(file) }

// ProjectFilePrefix begins the partition keys that ProjectFileID makes, and no others.
const ProjectFilePrefix = "~in#"

// ProjectTag is <project>#<author>#<hash of the value>: the sort key of a tag by which a file is found in a project.
func ProjectTag(project, author, value string) string {
	return ProjectTagsOf(project, author) + ValueHash(value, "")
}

// ProjectTagsOf is <project>#<author>#, or <project># for all authors: what the sort keys of such tags begin with.
func ProjectTagsOf(project, author string) string {
	if author == "" {
		return escape(project) + "#"
	}
	return escape(project) + "#" + escape(author) + "#"
}

// ProjectTagsBehind is <project>#<author>$, which comes before the tags of the authors that follow, and behind those of this one.
func ProjectTagsBehind(project, author string) string {
	return escape(project) + "#" + escape(author) + "$"
}

// ProjectOfTag returns the project and the author of what ProjectTag made; false for what it did not make.
func ProjectOfTag(sk string) (project, author string, ok bool) {
	parts := strings.Split(sk, "#")
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], IsUUID(parts[0]) && IsUUID(parts[1])
}

// ProjectTagsID is ~in#<project>: in the index of values, where the tags are searched by which files are found in a project.
func ProjectTagsID(project string) string { return "~in#" + escape(project) }

// shard spells a shard behind the key of a partition that everybody's tags share. A single shard is the document's partition.
func shard(of, shards int) string {
	if shards <= 1 {
		return ""
	}
	return fmt.Sprintf("#~%02d", of)
}

// TagShard returns in which of the shards the tags of an author on a file are.
func TagShard(author, file string, shards int) int {
	if shards <= 1 {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(TagID(author, file))) // never fails
	return int(hash.Sum32() % uint32(shards))
}

// runes returns the first n runes, or all when there are fewer.
func runes(s string, n int) string {
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at]
}

// QueryID is <prefix>#<author>, or <prefix> for everybody, in the order of the document's code: where tags are searched that begin
// with two characters or more. The prefix is the first two runes of the folded value.
func QueryID(value, author string) string { return searched(value, 2, author) }

// LetterID is like QueryID with the first rune only: where tags are searched that begin with one character.
func LetterID(value, author string) string { return searched(value, 1, author) }

// own ends the partitions of an author's tags that nobody else may see. They are apart, so that others neither pay for them nor
// learn of them.
const own = "#~"

// OwnQueryID is <prefix>#<author>#~.
func OwnQueryID(value, author string) string { return QueryID(value, author) + own }

// OwnLetterID is like OwnQueryID with the first rune only.
func OwnLetterID(value, author string) string { return LetterID(value, author) + own }

func searched(value string, n int, author string) string {
	prefix := escape(runes(value, n))
	if author == "" {
		return prefix
	}
	return prefix + "#" + escape(author)
}

// PublicQueryID is <prefix>, or <prefix>#~<nn> when there are several shards.
func PublicQueryID(value string, of, shards int) string {
	return QueryID(value, "") + shard(of, shards)
}

// PublicLetterID is like PublicQueryID with the first rune only.
func PublicLetterID(value string, of, shards int) string {
	return LetterID(value, "") + shard(of, shards)
}

// ValueHash is the Base64 of the SHA-256 of the value, with #<author> behind it in the row of the author: the sort key of a row
// for everybody, and of the author's.
func ValueHash(value, author string) string {
	text := escape(value)
	if author != "" {
		text += "#" + escape(author)
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// orderSeparator sorts before everything that a value can contain: control characters are refused in tags.
const orderSeparator = "\t"

// ValueOrder is <value>, <file> and <author> with tabs between them: the order of a search. No two rows of a partition have the
// same, so that shards are merged and pages are cut without a doubt.
func ValueOrder(value, file, author string) string {
	return value + orderSeparator + file + orderSeparator + author
}

// ExactOrder begins the order of the tags with this value and no other.
func ExactOrder(value string) string { return value + orderSeparator }

// TagSetID is ~set#<owner>#<set>: how many tags are on the items of a set. The sort key is an author, or [Everybody].
func TagSetID(owner, set string) string { return "~set#" + escape(owner) + "#" + escape(set) }

// TagValuesID is ~value#<letter>#<author>: how often an author uses a value that begins with the letter, where everybody may see it; the
// sort key is the value.
func TagValuesID(value, author string) string { return "~value#" + LetterID(value, author) }

// OwnTagValuesID is ~value#<letter>#<author>#~: how often an author uses a value where nobody else may see it.
func OwnTagValuesID(value, author string) string { return "~value#" + OwnLetterID(value, author) }

// PublicTagValuesID is ~value#<letter>, or ~value#<letter>#~<nn> when there are several shards: how often a value is used.
func PublicTagValuesID(value string, of, shards int) string {
	return "~value#" + PublicLetterID(value, of, shards)
}

// TagLayoutID is ~layout: in how many shards public tags are; the sort key is [Everybody].
const TagLayoutID = "~layout"

// Everybody takes the place of an author in a sort key.
const Everybody = "~"

// FileIDPrefix begins the partition keys that FileID makes, and no others.
const FileIDPrefix = "#"
