package limits

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/limit"
)

// provocation goes beyond a declared limit as a caller would. One of its fields is set.
type provocation struct {
	asks    func(p *provoker) *apitest.Answer // the answer has to tell the declared code, and the number
	meets   func(p *provoker)                 // checks by itself what happens beyond
	tested  test                              // what does that already
	because string                            // why nothing does: what is beyond takes too long, or too much
}

// test is a test elsewhere, of which it is checked that it is there and says this.
type test struct{ dir, name, says string }

// asked is a provocation whose answer has to tell the declared code, and the declared number unless the code is that of a problem.
func asked(asks func(p *provoker) *apitest.Answer) provocation { return provocation{asks: asks} }

// met is a provocation that checks by itself what happens beyond the limit.
func met(meets func(p *provoker)) provocation { return provocation{meets: meets} }

// testedIn refers to a test that goes beyond the limit, at a place where that takes less, and says what it expects.
func testedIn(dir, name, says string) provocation {
	return provocation{tested: test{dir, name, says}}
}

// provocations are those of all limits, by room, and by what is limited and of what.
func provocations() map[string]map[string]provocation {
	all := map[string]map[string]provocation{}
	for _, some := range []map[string]map[string]provocation{provokedRequests(), provokedNotes(), provokedProjects(), provokedScores()} {
		maps.Copy(all, some)
	}
	return all
}

// provoker is a user who goes beyond a limit.
type provoker struct {
	limit.Limit
	*apitest.Client
	number string // beyond which the answer says it is
}

// most is the declared number, of bytes where it is a size.
func (p *provoker) most() int {
	p.T.Helper()
	words := strings.Fields(strings.TrimPrefix(strings.ReplaceAll(p.Most, ",", ""), "about "))
	n, err := strconv.Atoi(words[0])
	require.NoError(p.T, err)
	if len(words) > 1 {
		n *= max(1, map[string]int{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[words[1]])
	}
	return n
}

// long is a text of one character more than declared.
func (p *provoker) long() string { return strings.Repeat("x", p.most()+1) }

// elsewhere moves the user to a server of its own.
func (p *provoker) elsewhere(change ...func(*config.Config)) *provoker {
	p.Client = apitest.NewServer(p.T, change...).User("provoker@example.com")
	return p
}

// allowed moves the user to a server on which one may have few of what is counted in the background.
func (p *provoker) allowed(kind string, few int) *provoker {
	p.number = fmt.Sprint(few)
	return p.elsewhere(func(c *config.Config) { c.Allowances = map[string]int{kind: few} })
}

// until repeats what may be done so many times, which must succeed, and returns what comes beyond.
func (p *provoker) until(most int, do func(n int) *apitest.Answer) *apitest.Answer {
	p.T.Helper()
	for n := range most {
		require.Empty(p.T, do(n).Errors)
	}
	return do(most)
}

// counts sets what a row counts: so many of a thing would take too long to create.
func (p *provoker) counts(table string, key map[string]string, path string, n int) {
	p.T.Helper()
	require.NoError(p.T, p.sets(table, key, path, &types.AttributeValueMemberN{Value: strconv.Itoa(n)}))
}

// sets changes an attribute of a row, as another program may.
func (p *provoker) sets(table string, key map[string]string, path string, value types.AttributeValue) error {
	p.T.Helper()
	names, spelled := map[string]string{}, make([]string, 0, 2)
	for i, name := range strings.Split(path, ".") {
		alias := "#n" + strconv.Itoa(i)
		names[alias], spelled = name, append(spelled, alias)
	}
	row := map[string]types.AttributeValue{}
	for name, value := range key {
		row[name] = &types.AttributeValueMemberS{Value: value}
	}
	client, err := awsclient.DynamoDB(p.T.Context(), app.EmbeddedClient(embeddedtest.DynamoDB(p.T)))
	require.NoError(p.T, err)
	_, err = client.UpdateItem(p.T.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(p.Prefix + table), Key: row, ExpressionAttributeNames: names, UpdateExpression: aws.String("SET " + strings.Join(spelled, ".") + " = :value"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":value": value},
	})
	return err
}

// tells checks that an answer is what is declared to be told beyond the limit.
func (p *provoker) tells(a *apitest.Answer) {
	p.T.Helper()
	if len(a.Errors) == 0 {
		assert.Contains(p.T, a.Body, `"__typename":"`+p.Code+`"`)
		return
	}
	assert.Equal(p.T, p.Code, a.Errors[0].Extensions.Code, "%.500s", a.Body)
	message := strings.ReplaceAll(a.Errors[0].Message, ",", "")
	if p.number == "" {
		p.number = fmt.Sprint(p.most())
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(p.Most, ",", ""), " ")
	assert.True(p.T, p.number == "-" || strings.Contains(message, p.number) || strings.Contains(message, first), "the message does not tell the number: %s", message)
}

// TestEachLimitIsProvoked goes beyond each limit that is declared, and looks what is told.
func TestEachLimitIsProvoked(t *testing.T) {
	t.Parallel()
	s, all := apitest.NewServer(t), provocations()
	unprovoked := 0
	for _, room := range declared(t) {
		for _, l := range room.Limits {
			name := l.What + ", " + l.Of
			one, found := all[room.Name][name]
			delete(all[room.Name], name)
			if !assert.True(t, found, "%s: nothing goes beyond %q", room.Name, name) {
				continue
			}
			switch {
			case one.because != "":
				unprovoked++
			case one.tested.name != "":
				one.tested.isThere(t)
			default:
				t.Run(room.Name+": "+name, func(t *testing.T) {
					t.Parallel()
					mine := *s
					mine.T = t
					p := &provoker{Limit: l, Client: mine.User(fmt.Sprintf("%x@example.com", name[:min(60, len(name))]+room.Name))}
					if one.meets != nil {
						one.meets(p)
						return
					}
					p.tells(one.asks(p))
				})
			}
		}
	}
	for room, rest := range all {
		assert.Empty(t, rest, "%s declares no such limits", room)
	}
	assert.LessOrEqual(t, unprovoked, 4, "only what cannot be provoked within reason has a reason instead")
}

// isThere checks that the test exists and says what it is to say.
func (want test) isThere(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(want.dir, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.Contains(string(text), "func "+want.name+"(") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == want.name {
				assert.Contains(t, string(text[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset]), want.says, "%s %s", want.dir, want.name)
			}
		}
		return
	}
	assert.Fail(t, "there is no such test", "%s %s", want.dir, want.name)
}

// got sends a GET as it is.
func got(c *apitest.Client, path string) *apitest.Answer {
	c.T.Helper()
	resp, body := apitest.Fetch(c.T, c.URL+path)
	a := &apitest.Answer{T: c.T, Status: resp.StatusCode, Body: string(body)}
	require.NoError(c.T, json.Unmarshal(body, a), "%d %s", resp.StatusCode, body)
	return a
}

// withToken asks for the user with another token.
func (p *provoker) withToken(token string) *apitest.Answer {
	p.T.Helper()
	other := *p.Client
	other.Token = token
	a := other.Do(`{ viewer { id } }`, nil)
	require.Contains(p.T, []int{http.StatusOK, http.StatusUnauthorized, http.StatusBadRequest}, a.Status)
	return a
}
