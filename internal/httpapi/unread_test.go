package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

const (
	// heavyNotes may weigh 70 MB, and has 20 MB.
	heavyNotes = `{ notes(first: 200, size: 20000000) { content } }`
)

// unreadTheatre is a server with the room that servers have.
func unreadTheatre(t *testing.T, change ...func(*Options)) (*theatre, measured) {
	t.Helper()
	room := newRoom(256 << 20)
	return newTheatre(t, append(change, func(o *Options) { o.unsent = room.Answers })...), room
}

// measured is the room for answers of a server. Three quarters are for reservations, of which one caller has 64 MiB or half of the whole room.
type measured struct {
	*admission.Answers
	most, share int
}

func newRoom(most int) measured {
	return measured{admission.NewAnswers(int64(most), 2500*time.Millisecond), most - most/4, min(most/2, 64<<20)}
}

// has reports whether nobody has so many bytes of the room: callers who have nothing else there take them up for a moment.
func (m measured) has(bytes int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	for i := 0; bytes > 0; i++ {
		part := min(bytes, m.share)
		sent, err := m.Messages(fmt.Sprint("measuring ", i), 0).Next(ctx, part)
		if err != nil {
			return false
		}
		defer sent()
		bytes -= part
	}
	return true
}

// empty is whether nobody has a reservation.
func (m measured) empty() bool { return m.has(m.most) }

// request sends a query on a connection of its own and reads nothing of what comes.
func (th *theatre) request(token, query, accept string) net.Conn {
	th.t.Helper()
	conn, err := th.dial(th.t.Context(), "", "")
	require.NoError(th.t, err)
	th.t.Cleanup(func() { _ = conn.Close() })
	body := `{"query":` + string(response.Encode(query)) + `}`
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n%s",
		token, accept, len(body), body)
	require.NoError(th.t, err)
	return conn
}

// responded reads the head of a response; the body is left.
func responded(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return resp
}

// One caller asks for 32 answers and reads none: one of them is built, the others wait and are told to come again. Another caller is served.
func TestUnreadAnswersOverHTTP(t *testing.T) {
	for how, end := range map[string]func(net.Conn, *http.Response){
		"is read":  func(_ net.Conn, resp *http.Response) { _, _ = io.Copy(io.Discard, resp.Body) },
		"is given": func(conn net.Conn, _ *http.Response) { _ = conn.Close() },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPurse()
				th, room := unreadTheatre(t, withBudget(p))
				conns := make([]net.Conn, 32)
				for i := range conns {
					conns[i] = th.request("ada", heavyNotes, request.JSON)
				}
				synctest.Wait()
				assert.Equal(t, 1, th.play.contents())
				resp := responded(t, th.request("ada2", heavyNotes, request.JSON))
				assert.Equal(t, http.StatusOK, resp.StatusCode)
				_, _ = io.Copy(io.Discard, resp.Body)

				time.Sleep(3 * time.Second)
				synctest.Wait()
				var unread net.Conn
				var answer *http.Response
				for _, conn := range conns {
					switch resp := responded(t, conn); resp.StatusCode {
					case http.StatusOK:
						require.Nil(t, unread)
						unread, answer = conn, resp
					default:
						require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
						assert.NotEmpty(t, resp.Header.Get("Retry-After"))
						text, err := io.ReadAll(resp.Body)
						require.NoError(t, err)
						require.Contains(t, string(text), `"code":"EXHAUSTED"`)
					}
				}
				require.NotNil(t, unread)
				assert.Equal(t, 2, th.play.contents())
				assert.Equal(t, http.StatusOK, responded(t, th.request("ada", lightNotesOf(1), request.JSON)).StatusCode, "what fits is answered")
				end(unread, answer)
				synctest.Wait()
				assert.True(t, room.empty())
				assert.Contains(t, p.settled, operationCost+200_000, "what was written is charged")
			})
		})
	}
}

// lightNotesOf has few bytes, and may not have many more.
func lightNotesOf(size int) string { return fmt.Sprintf(`{ big(size: %d) }`, size) }

// On sockets an answer takes up room until it is written, and not only until its operation ends.
func TestUnreadAnswersOnSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, room := unreadTheatre(t)
		clients := []*client{th.ready("ada"), th.ready("ada")}
		for _, c := range clients {
			for i := range 16 {
				c.subscribe(fmt.Sprint(i), heavyNotes)
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, th.play.contents(), "of 32")
		other := th.ready("ada2")
		other.subscribe("1", heavyNotes)
		assert.Equal(t, "next", other.read()["type"])
		assert.Equal(t, "complete", other.read()["type"])
		outcomes := map[string]int{}
		for _, c := range clients {
			for ended := 0; ended < 16; {
				m := c.read()
				kind := m["type"].(string)
				if kind == "error" {
					kind = m["payload"].([]any)[0].(map[string]any)["extensions"].(map[string]any)["code"].(string)
				}
				outcomes[kind]++
				if kind != "next" {
					ended++
				}
			}
		}
		assert.Equal(t, outcomes["next"], outcomes["complete"])
		assert.Positive(t, outcomes["next"])
		assert.Equal(t, 32, outcomes["complete"]+outcomes["EXHAUSTED"]+outcomes["UNAVAILABLE"], outcomes)
		synctest.Wait()
		assert.True(t, room.empty())

		clients[0].subscribe("again", heavyNotes)
		synctest.Wait()
		assert.False(t, room.empty())
		_ = clients[0].ws.CloseNow()
		synctest.Wait()
		assert.True(t, room.empty(), "the client has gone")
	})
}

// What is larger than its estimate waits for room too; it is there already, and is given up when there is none.
func TestUnreadAnswersThatWereEstimatedTooLow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, room := unreadTheatre(t)
		var conns []net.Conn
		for range 4 {
			conns = append(conns, th.request("ada", lightNotesOf(40_000_000), request.JSON))
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		whole := 0
		for _, conn := range conns {
			resp := responded(t, conn)
			if resp.ContentLength > 1<<20 {
				whole++
				_ = conn.Close()
				continue
			}
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Contains(t, string(text), `"code":"EXHAUSTED"`)
		}
		assert.Equal(t, 1, whole)
		synctest.Wait()
		assert.True(t, room.empty())
	})
}

func TestUnreadAnswersInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const query = `{ viewer { id notes(first: 200) { nodes { id ... @defer { content } } } } }`
		script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 4)}
		th, room := unreadTheatre(t, func(o *Options) { o.Schema = script })
		large := part(`{"viewer":{"id":"`+strings.Repeat("a", 20<<20)+`"}}`, true)
		script.responses <- large
		first := th.request("ada", query, acceptsDefer)
		synctest.Wait()
		script.responses <- large
		second := th.request("ada", query, acceptsDefer)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Equal(t, http.StatusTooManyRequests, responded(t, second).StatusCode)
		_ = first.Close()
		synctest.Wait()
		assert.True(t, room.empty())

		script.responses <- large
		low := th.request("ada", `{ viewer { id ... @defer { email } } }`, acceptsDefer)
		synctest.Wait()
		assert.Empty(t, script.responses)
		assert.False(t, room.empty(), "a part that is larger than its estimate has room of its own")
		_ = low.Close()
		synctest.Wait()
		assert.True(t, room.empty())
	})
}

// Messages of subscriptions are built when there is room for them, and take it up until they are written.
func TestUnreadMessagesOfSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(2 << 20) // 1 MiB of a caller: three notes
		th := newTheatre(t, func(o *Options) { o.unsent = room.Answers })
		clients := make([]*client, 5)
		for i := range clients {
			clients[i] = th.ready("ada")
			for n := range 2 {
				name := fmt.Sprint(i, n)
				clients[i].subscribe(name, `subscription { note(source: "`+name+`") { content } }`)
				go func() {
					for range 3 {
						select {
						case th.play.source(name) <- 300_000:
						case <-t.Context().Done(): // the client has gone
						}
					}
				}()
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.LessOrEqual(t, th.play.contents(), 3, "of 30")
		other := th.ready("ada2")
		other.subscribe("1", `subscription { note(source: "other") { content } }`)
		th.play.source("other") <- 300_000
		assert.Equal(t, "next", other.read()["type"])

		_ = clients[0].ws.CloseNow() // and all that it took up is there for others
		var reading sync.WaitGroup
		for _, c := range clients[1:] {
			reading.Go(func() {
				for range 6 {
					_, data, err := c.ws.Read(context.Background())
					assert.NoError(t, err)
					assert.Contains(t, string(data[:20]), `"next"`)
				}
			})
		}
		reading.Wait()
		synctest.Wait()
		assert.True(t, room.empty(), "nothing waits")
	})
}

// A subscription that is not wanted any more gives back the room of what waits to be written.
func TestUnreadMessagesOfSubscriptionsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, room := unreadTheatre(t)
		c := th.ready("ada")
		for _, name := range []string{"a", "b"} {
			c.subscribe(name, `subscription { note(source: "`+name+`") { content } }`)
			th.play.source(name) <- 300_000
			synctest.Wait()
		}
		held := func() int { // in steps of 16 KiB
			for n := 0; ; n += 16 << 10 {
				if room.has(room.most - n) {
					return n
				}
			}
		}
		before := held()
		c.complete("b") // that of a is being written
		synctest.Wait()
		assert.Less(t, held(), before)
		assert.Positive(t, held())
		_ = c.ws.CloseNow()
		synctest.Wait()
		assert.True(t, room.empty())
	})
}

func TestRoomIsGivenBackWhateverBecomesOfAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, room := unreadTheatre(t)
		c := th.ready("ada")
		for _, field := range []string{"panics", "fails", "slow"} {
			query := `{ ` + field + ` notes(first: 200, size: 1) { content } }`
			th.ask(query, nil)
			c.subscribe(field, query)
			if field == "slow" {
				synctest.Wait()
				assert.False(t, room.empty())
				c.complete(field)
			} else {
				for range map[string]int{"panics": 1, "fails": 2}[field] {
					_ = c.read()
				}
			}
			synctest.Wait()
			assert.True(t, room.empty(), field)
		}
		gone := th.request("ada", `{ slow notes(first: 200, size: 1) { content } }`, request.JSON)
		synctest.Wait()
		assert.False(t, room.empty())
		_ = gone.Close()
		synctest.Wait()
		assert.True(t, room.empty(), "the client has gone")
	})
}
