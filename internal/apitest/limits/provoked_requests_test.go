package limits

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
)

// written repeats a text in which %d is its number.
func written(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

// asDocument is a provocation by a document that is made of the declared number.
func asDocument(of func(most int) string) provocation {
	return asked(func(p *provoker) *apitest.Answer { return p.Do(of(p.most()), nil) })
}

// unnumbered is a provocation whose answer tells another number, or none.
func unnumbered(one provocation) provocation {
	asks := one.asks
	one.asks = func(p *provoker) *apitest.Answer { p.number = "-"; return asks(p) }
	return one
}

// saying is a provocation whose answer tells no number, but this.
func saying(words string, one provocation) provocation {
	asks := one.asks
	one.asks = func(p *provoker) *apitest.Answer { p.number = words; return asks(p) }
	return one
}

// overspent asks for more than a user may who has spent all; again when Redis was too slow on a busy machine to count what was spent.
func overspent(p *provoker) *apitest.Answer {
	p.number = "-"
	p.elsewhere(func(c *config.Config) { c.CostBudget, c.CostRate = 300_000, 1 })
	var a *apitest.Answer
	for round := 0; round < 5 && (a == nil || len(a.Errors) == 0); round++ {
		for range 150 { // what a refused document costs
			p.Do(`{ nothing }`, nil)
		}
		a = p.Do(`{ viewer { notes(first: 500) { nodes { versions(first: 200) { nodes { number } } } } } }`, nil)
	}
	return a
}

// suggests asks with a mistake, and looks whether the answer says what may be meant.
func suggests(p *provoker, query string, want bool) {
	p.T.Helper()
	a := p.Do(query, nil)
	require.NotEmpty(p.T, a.Errors)
	assert.Equal(p.T, want, strings.Contains(a.Body, "Did you mean"), "%.100s: %s", query, a.Body)
}

// provokedRequests are the provocations of limits of what a request is, whatever it is about.
func provokedRequests() map[string]map[string]provocation {
	const room, admission, costly = "internal/httpapi", "internal/httpapi/admission", `{ viewer { notes(first: 40) { nodes { tags { notes { nodes { tags { notes { nodes { title } } } } } } } } } }`
	return map[string]map[string]provocation{
		"internal/config": {
			"Cost of operations at once, a caller, on all servers":                      asked(overspent),
			"Cost of operations each second, in the long run, a caller, on all servers": asked(overspent),
			"Operations in progress, a caller, on a server":                             testedIn(admission, "TestGate", "wait"),
			"Time, a query or mutation":                                                 testedIn(room, "TestOperationTimeout", "UNAVAILABLE"),
			"Time without Redis, a subscription":                                        testedIn("internal/apitest/subscriptions", "TestSubscriptionsOutliveARedisThatIsAway", "StatusTryAgainLater"),
			"Size of items, thumbnails and uploads in progress, together, a user": asked(func(p *provoker) *apitest.Answer {
				p.elsewhere(func(c *config.Config) { c.ItemQuota = 10 })
				return p.Requests([]byte("eleven byte"), apitest.Vars{"type": "text/plain"})
			}),
		},
		"internal/httpapi": {
			"Requests in progress, including those that the client has reset, an HTTP/2 connection": testedIn(room, "TestAConnectionHasAsManyStreamsAsItMay", "maxStreams + 1"),
			"Size of the header, without what the protocol adds, a request":                         testedIn(room, "TestHeadersAreBoundedInHTTP2", "70 << 10"),
		},
		"internal/httpapi/request": {
			"Size of the body, or of a message of a socket, a request": asked(func(p *provoker) *apitest.Answer {
				return p.Send([]byte(`{"query":"{ viewer { id } }","variables":{"a":"` + p.long() + `"}}`))
			}),
			"Size of the address, a request": asked(func(p *provoker) *apitest.Answer { return got(p.Client, "/graphql?query="+p.long()) }),
			"Time to send it, a request":     testedIn(room, "TestSlowBodiesAreCutOff", "until the server hangs up"),
			"Values in the variables, a request": asked(func(p *provoker) *apitest.Answer {
				return p.Send([]byte(`{"query":"{ viewer { id } }","variables":{"a":[0` + strings.Repeat(",0", p.most()) + `]}}`))
			}),
		},
		admission: {
			"Requests above 64 KiB that are read at a time, a caller":                                    testedIn(room, "TestWhoWaitsInVainToBeReadPaysNothing", `"EXHAUSTED"`),
			"Memory of requests in progress; each value counts as its text and 50 bytes, a caller":       testedIn(room, "TestWhatWasReadOverASocketIsBounded", `"EXHAUSTED"`),
			"Time to wait to be set up, a subscription":                                                  testedIn(admission, "TestWhoWouldWaitTooLongIsToldAtOnce", "fault.Exhausted"),
			"Time to wait to sign in, a socket":                                                          testedIn(admission, "TestNobodyWaitsForATurnInVain", "fault.Exhausted"),
			"Operations that wait, for each that may be carried out at a time, a caller":                 testedIn(room, "TestOperationsOfACallerAreBounded", "EXHAUSTED"),
			"Answers that are not sent yet, together, a caller":                                          testedIn(room, "TestUnreadAnswersOverHTTP", "EXHAUSTED"),
			"Answers of up to 1 MiB that are not sent yet, together, not counting larger ones, a caller": testedIn(admission, "TestStepsOfACaller", "u.held > 0"),
			"Answers that are not sent yet, together, a server":                                          testedIn(admission, "TestRoomForAnswers", "server"),
		},
		"internal/httpapi/execution": {
			"Size, all parts together, an answer": testedIn(room, "TestAnswerThatIsTooLarge", "EXHAUSTED"),
			"Errors that are told, an answer": met(func(p *provoker) {
				a := p.Do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, apitest.Vars{"ids": apitest.Many("!", p.most()+5)})
				assert.Len(p.T, a.Errors, p.most())
				assert.Equal(p.T, 5, a.Extensions.OmittedErrors)
			}),
		},
		"internal/httpapi/connection": {
			"Sockets and event streams, a server":                               testedIn(room, "TestEventStreamsAreLimitedWithSockets", `StatusServiceUnavailable, "EXHAUSTED"`),
			"Sockets and event streams, the bearer of a token, on a server":     testedIn(room, "TestEventStreamsAreLimitedWithSockets", `"EXHAUSTED"`),
			"Sockets and event streams without a token, a network, on a server": testedIn(room, "TestStrangersHaveAShareOfTheSockets", "EXHAUSTED"),
			"Sockets and event streams without a token, a server":               testedIn(room, "TestStrangersHaveAShareOfTheSockets", "EXHAUSTED"),
			"Sockets that have not signed in yet, a server":                     testedIn(room, "TestMuteSocketsKeepNobodyOut", "Sockets: 8"),
			"Operations under way, a socket":                                    testedIn(room, "TestAHundredSubscriptionsOnASocket", "EXHAUSTED"),
			"Time to take what is ready, a socket or an event stream":           testedIn(room, "TestReaderThatIsTooSlow", "connection.TakenTime"),
		},
		"internal/httpapi/socket": {
			"Size of operations under way, together, but for a single one, a socket": testedIn(room, "TestOperationsOfASocketAreBoundedInBytes", "EXHAUSTED"),
			"Operations that are worked on at a time, a socket":                      testedIn(room, "TestQueriesWaitForTheirTurn", "maxWorking"),
			"Size of a message before `connection_ack`, a socket":                    testedIn(room, "TestSocketCloseCodes", `"a large message of a stranger"`),
			"Size of a message without a token, a socket":                            testedIn(room, "TestMessagesOfNobodyAreShort", "StatusMessageTooBig"),
			"Size of the id of an operation, a socket":                               testedIn(room, "TestSocketCloseCodes", `"subscribe with a long id"`),
			"Size of the payload of `ping` and `pong`, a socket":                     testedIn(room, "TestSocketCloseCodes", `"ping with a long payload"`),
		},
		"internal/httpapi/present": {
			"Size of a message of an error, an answer": met(func(p *provoker) {
				a := p.Do(`{ viewer { notes(orderBy: `+strings.Repeat("A", 128)+written(60, `, a%d: 1`)+`) { nodes { id } } } node(id: [`+strings.Repeat(`"long text", `, 100)+`]) { id } }`, nil)
				require.NotEmpty(p.T, a.Errors)
				for _, e := range a.Errors {
					assert.LessOrEqual(p.T, len(e.Message), p.most()+len("…"))
				}
			}),
		},
		"internal/httpapi/document": {
			"Size, a document":           asDocument(func(most int) string { return "{ viewer { id } } #" + strings.Repeat("x", most) }),
			"Tokens, a document":         asDocument(func(most int) string { return "{ viewer {" + strings.Repeat(" id", most) + " } }" }),
			"Size of a name, a document": asDocument(func(most int) string { return "{ viewer { " + strings.Repeat("x", most+1) + ": id } }" }),
			"Levels of fields, a document": asDocument(func(most int) string {
				return "{ viewer " + strings.Repeat("{ notes { nodes { owner ", most/3) + "{ id }" + strings.Repeat(" } } }", most/3) + " }"
			}),
			"Levels of lists and objects in a value, a document": asDocument(func(most int) string {
				return "{ nodes(ids: " + strings.Repeat("[", most+1) + `"a"` + strings.Repeat("]", most+1) + ") { id } }"
			}),
			"Root fields, a document": asDocument(func(most int) string { return "{" + written(most+1, " a%d: __typename") + " }" }),
			"Fields, those of fragments counted where they are spread, a document": asDocument(func(most int) string {
				return "{ viewer {" + strings.Repeat(" ...f", 11) + " } } fragment f on User {" + strings.Repeat(" id", most/10) + " }"
			}),
			"Aliases, a document":    asDocument(func(most int) string { return "{ viewer {" + written(most+1, " a%d: id") + " } }" }),
			"Directives, a document": asDocument(func(most int) string { return "{ viewer { id" + strings.Repeat(" @skip(if: false)", most+1) + " } }" }),
			"Fragments, a document": asDocument(func(most int) string {
				return "{ viewer {" + written(most+1, " ...f%d") + " } }" + written(most+1, " fragment f%d on User { id }")
			}),
			"Pairs of selections of the same field in the same place; 63 selections make 1,953 pairs, a document": saying("same name", asDocument(func(int) string {
				return "{ viewer {" + strings.Repeat(" id", 64) + " } }"
			})),
			"Selections that are looked at to find such pairs, a document": saying("same name", asDocument(func(int) string { // none are there: each fragment leads to all others
				var b strings.Builder
				for i := range 50 {
					_, _ = fmt.Fprintf(&b, " fragment f%d on User {%s ...f%d }", i, written(10, fmt.Sprint(" x", i, "_%d")), (i+1)%50)
				}
				return "{ viewer { ...f0 } }" + b.String()
			})),
			"Cost, an operation": asDocument(func(int) string { return costly }),
			"Cost of a message, a subscription": met(func(p *provoker) {
				l := p.Project("P")
				p.Subscribe(`subscription($p: ID!) { projectEvents(projectId: $p) { ... on ProjectSnapshot { statistics { statistics { users { user { projects { nodes { teams { name } } } } } } } } } }`,
					apitest.Vars{"p": l.ID}).Refused(p.Code, "")
			}),
			"Mistakes that are looked for, a document": met(func(p *provoker) {
				a := p.Do("{ viewer {"+written(p.most()+50, " x%d")+" } }", nil)
				assert.Equal(p.T, p.most(), len(a.Errors)+a.Extensions.OmittedErrors)
			}),
			"Mistakes with suggestions, a document": met(func(p *provoker) {
				suggests(p, `{ viewer {`+strings.Repeat(" nam", p.most())+` } }`, true)
				suggests(p, `{ viewer {`+strings.Repeat(" nam", p.most()+1)+` } }`, false)
			}),
			"Size with suggestions, a document with mistakes": met(func(p *provoker) {
				suggests(p, `{ viewer { nam } } #`+strings.Repeat("x", p.most()/2), true)
				suggests(p, `{ viewer { nam } } #`+strings.Repeat("x", p.most()), false)
			}),
			"Size of a name with suggestions, a document with mistakes": met(func(p *provoker) {
				suggests(p, `{ viewer { notes(`+strings.Repeat("x", p.most()+1)+`: 1) { nodes { id } } } }`, false)
			}),
		},
		"internal/edge": {
			"Size, a document kept by its hash":                    testedIn("internal/edge", "TestNobodyFillsRedisWithDocuments", "MaxDocument+1"),
			"New documents kept by their hash, a caller":           testedIn("internal/edge", "TestNobodyFillsRedisWithDocuments", "DocumentBurst"),
			"Time since its last use, a document kept by its hash": testedIn(room, "TestDocumentsThatWereLostAreRegisteredAgain", "PERSISTED_QUERY_NOT_FOUND"),
		},
		"internal/auth": {
			"Size, a token": unnumbered(asked(func(p *provoker) *apitest.Answer { return p.withToken(p.Token + p.long()) })),
			"Size of the subject, at least 1 byte, a token": testedIn("internal/auth", "TestClaimsAreBounded", "maxSubject"),
			"Size of the e-mail address, a token":           testedIn("internal/auth", "TestClaimsAreBounded", "maxEmail"),
		},
		"internal/gid": {"Size, an id": unnumbered(asked(func(p *provoker) *apitest.Answer {
			return p.Do(`query($id: ID!) { node(id: $id) { id } }`, apitest.Vars{"id": base64.RawURLEncoding.EncodeToString([]byte("Note\x00" + p.long()))})
		}))},
		"internal/page": {"Elements, at least 1; ids of `nodes` and the like, a page of a list": asked(func(p *provoker) *apitest.Answer {
			return p.Do(`query($first: Int!) { viewer { notes(first: $first) { nodes { id } } } }`, apitest.Vars{"first": p.most() + 1})
		})},
		"internal/idempotency": {
			"Size, at least 1 byte, an idempotency key": asked(func(p *provoker) *apitest.Answer {
				return p.Mutate("createNote", "note { id }", apitest.Vars{"title": "t", "content": "c", "idempotencyKey": p.long()})
			}),
			"Time it is remembered, an idempotency key": testedIn("internal/storetest/notetest", "testIdempotencyExpires", "idempotency.TTL"),
			"Idempotency keys remembered, a user": asked(func(p *provoker) *apitest.Answer {
				p.allowed("keys", 3)
				id := p.Notes(1)[0]
				return p.until(3, func(n int) *apitest.Answer {
					return p.Mutate("unshareNote", "note { id }", apitest.Vars{"noteId": id, "userId": p.ID, "idempotencyKey": fmt.Sprint("key ", n)})
				})
			}),
		},
	}
}
