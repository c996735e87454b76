package limits

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
)

// scoring is a provocation by what is said of a new score.
func scoring(change func(p *provoker) apitest.Vars) provocation {
	return mutated("createScore", func(p *provoker) apitest.Vars { return apitest.Changed(apitest.Vars{"title": "t"}, change(p)) })
}

// requesting is a provocation by what is announced of a file.
func requesting(change func(p *provoker) apitest.Vars) provocation {
	return mutated("requestUpload", func(p *provoker) apitest.Vars {
		return apitest.Changed(apitest.Vars{"name": "n", "type": "text/plain", "size": 5, "sha256": apitest.Sha256Of([]byte("music"))}, change(p))
	})
}

// pageWith is a page of a score, with what is different.
func (p *provoker) pageWith(change apitest.Vars) apitest.Vars {
	p.T.Helper()
	return apitest.Vars{"pages": []apitest.Vars{apitest.Changed(apitest.Vars{"itemId": p.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})}, change)}}
}

// itemsOfOwner is the row that counts the items of a user.
func (p *provoker) itemsOfOwner() map[string]string {
	p.T.Helper()
	return map[string]string{"o": keys.ItemsPK(apitest.GlobalKey(p.T, p.ID)[1]), "s": keys.CountsSK}
}

// sized is a provocation by an image whose header says how large it is.
func sized(sides func(most int) (width, height int)) provocation {
	return asked(func(p *provoker) *apitest.Answer {
		w, h := sides(p.most())
		png := apitest.Staves(p.T, 4)
		binary.BigEndian.PutUint32(png[16:], uint32(w))
		binary.BigEndian.PutUint32(png[20:], uint32(h))
		binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
		a := p.Requests(png, nil)
		require.Equal(p.T, http.StatusOK, p.Puts(a, png))
		return p.Mutate("completeUpload", "item { id } problem { __typename }", apitest.Vars{"itemId": a.Str("requestUpload.upload.itemId")})
	})
}

// provokedScores are the provocations of limits of scores, items, tags on items, and rows.
func provokedScores() map[string]map[string]provocation {
	of := func(p *provoker) string { return p.Score("S", nil) }
	return map[string]map[string]provocation{
		"internal/score": {
			"Scores, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("scores", map[string]string{"o": keys.ScoresPK(apitest.GlobalKey(p.T, p.ID)[1]), "s": keys.CountsSK}, "score_count", p.most())
				return p.Mutate("createScore", "score { id }", apitest.Vars{"title": "t"})
			}),
			"Scores of others that are kept, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("scores", map[string]string{"o": keys.ScoresPK(apitest.GlobalKey(p.T, p.ID)[1]), "s": keys.CountsSK}, "kept_count", p.most())
				another := p.User("another@example.com")
				id := another.Score("theirs", nil)
				another.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "access": "LIMITED"}})
				return p.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": id})
			}),
			"Characters of a title, a score":   scoring(func(p *provoker) apitest.Vars { return apitest.Vars{"title": p.long()} }),
			"Size of the description, a score": scoring(func(p *provoker) apitest.Vars { return apitest.Vars{"description": p.long()} }),
			"Pages, a score":                   scoring(func(p *provoker) apitest.Vars { return apitest.Vars{"pages": manyPages(p.most() + 1)} }),
			"Characters of the name, a page":   scoring(func(p *provoker) apitest.Vars { return p.pageWith(apitest.Vars{"name": p.long()}) }),
			"Characters of the label, a page":  scoring(func(p *provoker) apitest.Vars { return p.pageWith(apitest.Vars{"label": p.long()}) }),
			"Annotations, a score":             scoring(func(p *provoker) apitest.Vars { return apitest.Vars{"annotations": apitest.Numbered("a", p.most()+1)} }),
			"Size, an annotation":              scoring(func(p *provoker) apitest.Vars { return apitest.Vars{"annotations": []string{p.long()}} }),
			"Snapshots, a score": asked(func(p *provoker) *apitest.Answer {
				score := of(p)
				for n := 0; n < p.most(); n += 25 {
					var b strings.Builder
					for i := range 25 {
						_, _ = fmt.Fprintf(&b, ` s%d: createSnapshot(input: {scoreId: $s, name: "%d"}) { problem { __typename } }`, i, n+i)
					}
					p.Must(`mutation($s: ID!) {`+b.String()+` }`, apitest.Vars{"s": score})
				}
				return p.Mutate("createSnapshot", "snapshot { id } problem { __typename }", apitest.Vars{"scoreId": score, "name": "one more"})
			}),
			"Characters of the name, a snapshot":                                   mutated("createSnapshot", func(p *provoker) apitest.Vars { return apitest.Vars{"scoreId": of(p), "name": p.long()} }),
			"Snapshots whose content is read, an answer":                           testedIn("internal/storetest/scoretest", "contentsBounded", "score.MaxContents"),
			"Size of the contents of snapshots that are read, together, an answer": testedIn("internal/storetest/scoretest", "contentsBounded", "score.MaxContentBytes"),
			"Items, including uploads that can still be completed, a user": asked(func(p *provoker) *apitest.Answer {
				p.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})
				p.counts("scores", p.itemsOfOwner(), "items", p.most())
				return p.Mutate("requestUpload", "upload { itemId }", apitest.Vars{"name": "n", "type": "text/plain", "size": 5, "sha256": apitest.Sha256Of([]byte("music"))})
			}),
			"Uploads that can still be completed, or ended without an item in the last hours, a user": asked(func(p *provoker) *apitest.Answer {
				p.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})
				p.counts("scores", p.itemsOfOwner(), "kept", p.most())
				return p.Mutate("requestUpload", "upload { itemId }", apitest.Vars{"name": "n", "type": "text/plain", "size": 5, "sha256": apitest.Sha256Of([]byte("music"))})
			}),
			"Uploads being completed, a user, on a server": testedIn("internal/storetest/scoretest", "completedInTurns", "fault.Exhausted"),
			"Size of the file, an item":                    unnumbered(requesting(func(p *provoker) apitest.Vars { return apitest.Vars{"size": p.most() + 1} })),
			"Size of the file, an image":                   unnumbered(requesting(func(p *provoker) apitest.Vars { return apitest.Vars{"size": p.most() + 1, "type": "image/png"} })),
			"Size of a file uploaded at once, an upload": met(func(p *provoker) {
				for size, inParts := range map[int]bool{p.most(): false, p.most() + 1: true} {
					a := p.Must(apitest.RequestUpload, apitest.Vars{"input": apitest.Vars{"name": "n", "type": "video/mp4", "size": size, "sha256": apitest.Sha256Of(nil)}})
					assert.Equal(p.T, inParts, a.At("requestUpload.upload.put") == nil, "%d: %s", size, a.Body)
				}
			}),
			"Characters of the name, an item":       requesting(func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Characters of the set, an item":        requesting(func(p *provoker) apitest.Vars { return apitest.Vars{"setName": p.long()} }),
			"Characters of the media type, an item": unnumbered(requesting(func(p *provoker) apitest.Vars { return apitest.Vars{"type": "text/" + p.long()} })),
			"Pixels, an image":                      sized(func(most int) (int, int) { return 40_000, most/40_000 + 1 }),
			"Pixels of a side, an image":            sized(func(most int) (int, int) { return most + 1, 1 }),
			"Memory to decode images, together; at most a third of all memory, a server": testedIn("internal/score", "TestMemoryOfOneCaller", "fault.Unavailable"),
		},
		"internal/filetag": {
			"Tags, an author on one item": mutated("setItemTags", func(p *provoker) apitest.Vars {
				return apitest.Vars{"itemId": p.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"}), "tags": tagged(p.most() + 1)}
			}),
			"Tags, an author on all items": asked(func(p *provoker) *apitest.Answer {
				p.allowed("tags", 2)
				return p.until(2, func(n int) *apitest.Answer {
					file := p.Uploads([]byte("music"), apitest.Vars{"type": "text/plain", "name": fmt.Sprint("file ", n)})
					return p.Mutate("setItemTags", "item { id }", apitest.Vars{"itemId": file, "tags": tagged(1)})
				})
			}),
			"Sets, `itemSets`": asked(func(p *provoker) *apitest.Answer {
				sets := make([]apitest.Vars, p.most()+1)
				for i := range sets {
					sets[i] = apitest.Vars{"ownerId": p.ID, "name": fmt.Sprint(i)}
				}
				return p.Do(`query($sets: [ItemSetInput!]!) { itemSets(sets: $sets) { name } }`, apitest.Vars{"sets": sets})
			}),
			"Suggested values, `itemTagValues`": asked(func(p *provoker) *apitest.Answer {
				return p.Do(`query($n: Int!) { itemTagValues(beginsWith: "a", first: $n) { value } }`, apitest.Vars{"n": p.most() + 1})
			}),
		},
		"dynamo": {
			"Size as DynamoDB keeps it, a note, an entity, or anything else": asked(func(p *provoker) *apitest.Answer {
				for room := 0; ; room += 50 { // as much as there is room for
					if p.sets("notes", p.profile(), "of_another_program", &types.AttributeValueMemberS{Value: strings.Repeat("x", p.most()<<10-room)}) == nil {
						break
					}
				}
				return p.Mutate("updateUser", "user { id }", apitest.Vars{"name": strings.Repeat("é", 100)})
			}),
			"Size of notes, with their tags and what is shared with the user, as DynamoDB keeps them, a user": {because: "10 GB take hours to write, and the embedded engine has no such limit"},
			"Rows that change together, a mutation":                                                           testedIn("dynamo/notes", "TestTransactionOfMoreThan100RowsIsRefused", "fault.Exhausted"),
		},
	}
}

// manyPages are pages of nothing.
func manyPages(n int) []apitest.Vars {
	pages := make([]apitest.Vars, n)
	for i := range pages {
		pages[i] = apitest.Vars{"itemId": apitest.GIDOf("Item", "a", "b", "c")}
	}
	return pages
}

// tagged are tags of different values.
func tagged(n int) []apitest.Vars {
	tags := make([]apitest.Vars, n)
	for i := range tags {
		tags[i] = apitest.Vars{"value": fmt.Sprint("tag ", i)}
	}
	return tags
}
