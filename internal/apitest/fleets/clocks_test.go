package fleets

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/config"
)

func TestServersWhoseClocksDifferAgreeOnLeasesAndUndo(t *testing.T) {
	t.Parallel()
	right := apitest.NewServer(t)
	l, cases := right.Labelled(16, 0), 0
	for name, ahead := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		for source, hears := range map[string]func(*apitest.Server){
			"Redis":    func(s *apitest.Server) { require.NoError(t, s.App.Labelling.AskTime(t.Context())) },
			"DynamoDB": func(s *apitest.Server) { require.NoError(t, s.DB.Ready(t.Context())) },
		} {
			t.Run(name+", by "+source, func(t *testing.T) {
				wrong := right.Ahead(ahead)
				hears(wrong)
				who := l.Labellers[cases]
				cases++
				hands := l.Claimed(who, 4)
				for i, at := range []*apitest.Server{right, wrong, right, wrong} {
					effort := l.Finished(who.At(at), hands[i])
					undone := who.At([]*apitest.Server{wrong, right}[i%2]).Mutate("undoFinish", "item { claim { until } } problem { __typename }", apitest.Vars{"effortId": effort})
					require.Nil(t, undone.At("result.problem"), "%s", undone.Body)
					until, err := time.Parse(time.RFC3339, undone.Str("result.item.claim.until"))
					require.NoError(t, err)
					assert.WithinDuration(t, time.Now().Add(15*time.Minute), until, 30*time.Second)
				}
			})
		}
	}
}

func TestAServerWhoseClockIsOffSaysSo(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t).Ahead(-10 * time.Minute)
	s.Ready()
	assert.Contains(t, s.Logs.String(), "the clock of this server is off")
	status, checks := s.Ready()
	assert.Equal(t, 200, status)
	assert.Contains(t, checks["clock"], "degraded: ")
	assert.Contains(t, checks["clock"], " behind")
	assert.Regexp(t, `(?m)^taggie_clock_ahead_seconds -(599|600)`, s.Metrics())
}

func TestTokensDoNotGoByTheClockOfARedisThatIsOff(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	right := apitest.NewServer(t, func(c *config.Config) {
		c.JWTKeys = make([]config.JWTKey, 1)
		require.NoError(t, c.JWTKeys[0].UnmarshalText([]byte("HS256:"+base64.StdEncoding.EncodeToString(key))))
	})
	for name, ahead := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := right.Ahead(0)
			require.NoError(t, s.DB.Ready(t.Context()))
			asked := time.Now()
			s.App.Stores.Clock.HeardRedis(asked.Add(ahead), asked)
			status, checks := s.Ready()
			assert.Equal(t, 200, status)
			assert.Contains(t, checks["clock"], "the clock of Redis is 10m0s "+name)

			issued := func(email string, roles ...string) *apitest.Client {
				token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
					"iss": "issuer", "sub": email, "email": email, "email_verified": true, "roles": roles,
					"iat": time.Now().Unix(), "nbf": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
				}).SignedString(key)
				require.NoError(t, err)
				return &apitest.Client{Server: s, Token: token}
			}
			email := name + "@example.com"
			user := issued(email).Must(`mutation($email: String!) { createUser(input: {name: "Ada", email: $email}) { user { id } } }`, apitest.Vars{"email": email})
			root := issued("root@example.com", "admin")
			revoked, err := time.Parse(time.RFC3339, root.Mutate("revokeUser", "revokedAt", apitest.Vars{"userId": user.Str("createUser.user.id")}).Str("result.revokedAt"))
			require.NoError(t, err)
			assert.WithinDuration(t, time.Now(), revoked, 30*time.Second, "tokens that are issued from now on are accepted")
		})
	}
}

func TestAProcessGoesByTheClockThatItIsGiven(t *testing.T) {
	env := append(apitest.Remote(t), apitest.WithClockAhead+"=10m")
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	s, _ := apitest.StartProcess(t, env, apitest.FreePort(t))
	tenMinutes := regexp.MustCompile(`(?m)^taggie_clock_ahead_seconds (599|60\d)`)
	require.Eventually(t, func() bool { return tenMinutes.MatchString(s.Metrics()) }, apitest.Patience, 20*time.Millisecond, "the stores tell it")
}
