package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/redisclient"
	"github.com/taggie/taggie/internal/telemetry"
)

// Stores are what the server keeps its data in: embedded engines or the cloud's, reached in the same way.
type Stores struct {
	Engines *embedded.Engines // nil when nothing is embedded
	Clock   *clock.Clock      // hears the time from the stores
	DB      *dynamo.DB
	Bucket  *blob.Bucket
	Redis   redis.UniversalClient // nil for commands that need none
	disk    *disk                 // nil when nothing is embedded that is kept on one
	Waiting redis.UniversalClient // of the same Redis, for commands that wait there; nil where redis is, and for commands
}

// allowances are how much there may be of what is counted in the background.
func allowances() []dynamo.Allowance {
	return slices.Concat(notes.Allowances(), dynamo.Allowances(), entities.Allowances(), projects.Allowances(), filetags.Allowances())
}

// StoresFor says who opens the stores.
type StoresFor struct {
	Beside  bool // a command, which may run beside the server
	Queues  bool // a command that needs Redis: it looks at queues
	Log     *slog.Logger
	metrics *telemetry.Metrics // nil for commands
	Stderr  io.Writer
	now     func() time.Time // the clock of this machine; nil for time.Now
}

// embeddedBucket is the name of the bucket in the embedded S3.
const embeddedBucket = "taggie"

// OpenStores starts the engines that are embedded and sets up the clients.
func OpenStores(ctx context.Context, cfg config.Config, use StoresFor) (*Stores, error) {
	if use.Log == nil {
		use.Log = slog.New(slog.NewTextHandler(use.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if use.now == nil {
		use.now = time.Now
	}
	s := &Stores{disk: newDisk(cfg, use.Log), Clock: clock.New(use.now, use.Log)}
	var err error
	if s.Engines, err = startEngines(ctx, cfg, use); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, cfg, use); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// startEngines starts the engines that are embedded, or finds those of the server beside which a command runs; nil when there are none.
func startEngines(ctx context.Context, cfg config.Config, use StoresFor) (*embedded.Engines, error) {
	o := embedded.Options{
		Dir: cfg.Data, DynamoDB: cfg.EmbeddedDynamoDB(), S3: cfg.EmbeddedS3(), Redis: cfg.EmbeddedRedis() && !use.Beside,
		Binaries: embedded.Binaries{DynamoDB: cfg.EngineDynamoDB, S3: cfg.EngineS3, Redis: cfg.EngineRedis},
		Log:      use.Log,
	}
	found := use.Beside && use.Queues && cfg.EmbeddedRedis() // the embedded Redis is empty without its server
	switch {
	case found:
		o.DynamoDB, o.S3 = false, false // this only finds out whether there is a server
	case !o.DynamoDB && !o.S3 && !o.Redis:
		return nil, nil
	}
	engines, err := embedded.Start(ctx, o)
	if errors.Is(err, embedded.ErrInUse) && use.Beside {
		if engines, err = embedded.Attach(cfg.Data); err == nil && found && engines.Redis.URL == "" {
			return nil, ErrOtherRedis
		}
		return engines, err
	}
	if err == nil && found {
		return nil, errors.Join(fmt.Errorf("no server is running on %s (TAGGIE_DATA), and its Redis is empty without one: there is nothing to rebuild, and the server does that when it starts", cfg.Data), engines.Stop(ctx))
	}
	return engines, err
}

// ErrOtherRedis is said to a command that looks for queues where there are none.
var ErrOtherRedis = errors.New("the server that is running uses another Redis than the embedded one: set TAGGIE_REDIS_URL as it is set there")

func (s *Stores) connect(ctx context.Context, cfg config.Config, use StoresFor) error {
	dynamoOptions := awsclient.Options{Endpoint: cfg.AWSEndpointDynamoDB, Region: cfg.AWSRegion}
	s3Options := awsclient.Options{Endpoint: cfg.AWSEndpointS3, Region: cfg.AWSRegion}
	bucket, origins := cfg.S3Bucket, cfg.AllowedOrigins
	if cfg.EmbeddedDynamoDB() {
		dynamoOptions = EmbeddedClient(s.Engines.DynamoDB)
	}
	if cfg.EmbeddedS3() {
		s3Options, bucket = EmbeddedClient(s.Engines.S3), embeddedBucket
		origins = []string{"*"} // the board's, whatever its port is: the engine is on loopback, and takes only what the server signed
	}
	var watch dynamo.Watch
	if use.metrics != nil {
		watch = use.metrics
		dynamoOptions.Middleware = []func(*middleware.Stack) error{use.metrics.DynamoDB()}
		dynamoOptions.OnDial = func() { use.metrics.Dialled("dynamodb") }
		s3Options.Middleware = []func(*middleware.Stack) error{use.metrics.S3()}
		s3Options.OnDial = func() { use.metrics.Dialled("s3") }
	}
	if cfg.EmbeddedDynamoDB() {
		dynamoOptions.Middleware = append(dynamoOptions.Middleware, s.disk.watch)
	}
	dynamoOptions.Time = s.Clock
	dynamoClient, err := awsclient.DynamoDB(ctx, dynamoOptions)
	if err != nil {
		return err
	}
	s3Client, err := awsclient.S3(ctx, s3Options)
	if err != nil {
		return err
	}
	s.DB = dynamo.New(dynamo.Options{
		Client: dynamoClient, TablePrefix: cfg.TablePrefix, Concurrency: cfg.DynamoConcurrency, SDKReads: cfg.DynamoSDKReads, Watch: watch,
		Allowances: cfg.Allowances, Now: s.Clock.Now,
	})
	s.Bucket = blob.NewBucket(s3Client, bucket, s3Options.Region, origins)
	if use.Beside && !use.Queues {
		return nil
	}
	answer := RedisAnswer
	if use.Beside {
		answer = commandAnswer
	}
	o, err := RedisOptions(cfg, s.Engines, answer)
	if err != nil {
		return err
	}
	s.Redis = redisclient.New(o)
	if use.metrics != nil {
		use.metrics.ObserveRedis(s.Redis)
	}
	if use.Beside {
		return nil
	}
	s.Waiting = RedisWaiting(o)
	bounded, cancel := context.WithTimeout(ctx, redisDial+RedisAnswer) // there may be several addresses to try
	defer cancel()
	if err := s.Redis.Ping(bounded).Err(); err != nil {
		use.Log.WarnContext(ctx, "Redis does not answer; the server does without it. Is TAGGIE_REDIS_URL right?", "error", err)
	}
	return nil
}

// EmbeddedClient returns the options of a client of an embedded engine.
func EmbeddedClient(e embedded.Endpoint) awsclient.Options {
	o := awsclient.Options{Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}}
	if e.Socket != "" {
		o.Dial = e.Dial
	}
	return o
}

// What Redis keeps for us is disposable: rather than wait for it we do without. An answer may take a while, though, where the embedded
// Redis fills the queues of several projects at once.
const (
	redisDial = time.Second
	// RedisAnswer is how long Redis may take for one command.
	RedisAnswer = time.Second
)

// commandAnswer is how long Redis may take for one command of a program beside the server, which nobody waits for.
const commandAnswer = 10 * time.Second

// RedisOptions say where Redis is, what to sign in with, and that nothing is waited for longer than answer.
func RedisOptions(cfg config.Config, engines *embedded.Engines, answer time.Duration) (redis.UniversalOptions, error) {
	r := cfg.Redis
	o := redis.UniversalOptions{
		Addrs: r.Addrs, MasterName: r.Master, DB: r.Database, Username: r.Username, Password: string(r.Password),
		SentinelUsername: r.SentinelUsername, SentinelPassword: string(r.SentinelPassword),
		IsClusterMode:         r.Mode == config.RedisCluster, // also with one seed address
		ContextTimeoutEnabled: true,                          // a deadline ends a command that is under way
		MaxRetries:            -1,                            // none
		DialerRetries:         1,                             // tries, the first one included
		DialTimeout:           redisDial,
		ReadTimeout:           answer,
		WriteTimeout:          answer,
		PoolTimeout:           answer,
	}
	if r.TLS {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.EmbeddedRedis() {
		address, err := redis.ParseURL(engines.Redis.URL)
		if err != nil {
			return o, fmt.Errorf("address of the embedded Redis: %w", err)
		}
		o.Addrs, o.DB, o.Username, o.Password = []string{address.Addr}, address.DB, address.Username, address.Password
	}
	return o, nil
}

const (
	// maxListened bounds how many connections wait, to each node of Redis: one for each project that somebody listens to, and a few for
	// messages. Projects beyond are asked once a second. A Redis takes 10,000 connections, of all servers together, unless it was told otherwise.
	maxListened = 3_000
	// listenedBesides are those of them that are left for messages.
	listenedBesides = 100
	// waitingBuffer is in bytes, two for each connection: what is waited for is one small event, or a few messages.
	waitingBuffer = 4 << 10
)

// RedisWaiting returns the client for commands that wait, which hold a connection each. Connections are made when they are needed, and
// closed when they have not been for a while. The library waits for an answer ten seconds longer than the command does.
func RedisWaiting(o redis.UniversalOptions) redis.UniversalClient {
	o.PoolSize, o.ConnMaxIdleTime = maxListened, time.Minute
	o.ReadBufferSize, o.WriteBufferSize = waitingBuffer, waitingBuffer
	return redisclient.New(o)
}

// Close ends what openStores began.
func (s *Stores) Close() {
	for _, client := range []redis.UniversalClient{s.Waiting, s.Redis} {
		if client != nil {
			_ = client.Close() // nothing is left to be written
		}
	}
	if s.Engines != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Engines.Stop(ctx) // it has logged what went wrong
	}
}

// Report tells one step of making or checking.
type Report func(what, text string, ok bool)

// Apply makes the tables and the bucket that are missing.
func (s *Stores) Apply(ctx context.Context, say Report) error {
	err := s.DB.ApplyTables(ctx, func(step dynamo.Step) { say("table "+step.Table, step.Text, step.OK) })
	if err != nil {
		return err
	}
	return s.Bucket.Apply(ctx, func(step blob.Step) { say("bucket "+s.Bucket.Name(), step.Text, step.OK) })
}

// Definition is what [Stores.Apply] makes, for other tools: tables by their names, and the rules of the bucket.
type Definition struct {
	Tables map[string]dynamo.Definition `json:"tables"`
	Bucket blob.Definition              `json:"bucket"`
}

// DefinitionOf returns it for names of tables with a prefix.
func DefinitionOf(tablePrefix string) Definition {
	return Definition{Tables: dynamo.Definitions(tablePrefix), Bucket: blob.Rules()}
}

// Check says which tables and buckets are missing or different.
func (s *Stores) Check(ctx context.Context, say Report) error {
	return errors.Join(
		s.DB.CheckTables(ctx, func(step dynamo.Step) { say("table "+step.Table, step.Text, step.OK) }),
		s.Bucket.Check(ctx, func(step blob.Step) { say("bucket "+s.Bucket.Name(), step.Text, step.OK) }),
	)
}

// SecretFile keeps the generated secret of a server on one machine.
const SecretFile = "secret"

// LocalSecret returns the generated secret, and makes it at the first use.
func LocalSecret(dir string) ([]byte, error) {
	path := filepath.Join(dir, SecretFile)
	for {
		text, err := os.ReadFile(path)
		if err == nil {
			secret, err := hex.DecodeString(string(text))
			if err != nil || len(secret) < 32 {
				return nil, fmt.Errorf("%s does not hold a secret; remove it and start again (cursors and tokens in use become invalid)", path)
			}
			return secret, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the secret: %w", err)
		}
		if err := createSecret(dir, path); err != nil {
			return nil, fmt.Errorf("make a secret: %w", err)
		}
	}
}

// createSecret writes a new secret under another name first: two processes may do so at once, and must end with one.
func createSecret(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	temporary, err := os.CreateTemp(dir, SecretFile+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	if _, err := temporary.WriteString(hex.EncodeToString(secret)); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
