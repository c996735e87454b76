//go:build unix

package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/backup"
	"github.com/taggie/taggie/internal/embedded/child"
)

// freezeVariable makes the test binary call Freeze for the process that it names.
const freezeVariable = "TAGGIE_TEST_FREEZE"

func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv(freezeVariable)); err == nil {
		if err := backup.Freeze(pid, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func freezer(pid int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), freezeVariable+"="+strconv.Itoa(pid))
	return c
}

// store is a data directory whose engines run. Each of its things is a row and an object: the object is put first and deleted last, as
// Taggie does it.
type store struct {
	t    *testing.T
	data string
	db   *dynamodb.Client
	s3   *s3.Client
	stop func()
}

const table, bucket = "things", "files"

func start(t *testing.T, data string) *store {
	t.Helper()
	e, err := embedded.Start(t.Context(), embedded.Options{Dir: data, DynamoDB: true, S3: true})
	require.NoError(t, err)
	stop := sync.OnceFunc(func() { assert.NoError(t, e.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(stop)
	at := func(e embedded.Endpoint) awsclient.Options {
		o := awsclient.Options{Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}}
		if e.Socket != "" {
			o.Dial = e.Dial
		}
		return o
	}
	db, err := awsclient.DynamoDB(t.Context(), at(e.DynamoDB))
	require.NoError(t, err)
	objects, err := awsclient.S3(t.Context(), at(e.S3))
	require.NoError(t, err)
	return &store{t, data, db, objects, stop}
}

func (s *store) create() {
	s.t.Helper()
	_, err := s.db.CreateTable(s.t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	require.NoError(s.t, err)
	_, err = s.s3.CreateBucket(s.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	require.NoError(s.t, err)
}

func (s *store) put(ctx context.Context, id string) error {
	_, err := s.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("a/" + id), Body: strings.NewReader(id)})
	if err == nil {
		_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(table), Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
	}
	return err
}

func (s *store) remove(ctx context.Context, id string) error {
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
	if err == nil {
		_, err = s.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("a/" + id)})
	}
	return err
}

// rows returns the ids of all rows, each of which has its object.
func (s *store) rows() []string {
	s.t.Helper()
	var ids []string
	pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: aws.String(table)})
	for pages.HasMorePages() {
		p, err := pages.NextPage(s.t.Context())
		require.NoError(s.t, err)
		for _, row := range p.Items {
			id := row["id"].(*types.AttributeValueMemberS).Value
			ids = append(ids, id)
			_, err := s.s3.HeadObject(s.t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("a/" + id)})
			assert.NoError(s.t, err, "the object of row %s", id)
		}
	}
	return ids
}

func (s *store) options() backup.Options {
	return backup.Options{Data: s.data, Tables: true, Objects: true, Files: []string{"secret"}, Version: "v", Freezer: freezer}
}

// take takes a backup, again where the machine was too busy to hold the moment for long enough.
func (s *store) take(target string) backup.Manifest {
	s.t.Helper()
	for {
		m, err := backup.Take(s.t.Context(), s.options(), target)
		if !errors.Is(err, backup.ErrLate) {
			require.NoError(s.t, err)
			return m
		}
	}
}

func TestABackupIsOfOneMomentWhileOthersWrite(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.create()
	require.NoError(t, os.WriteFile(filepath.Join(s.data, "secret"), []byte("secret"), 0o600))
	var before []string
	for n := range 20 {
		before = append(before, fmt.Sprint("before", n))
		require.NoError(t, s.put(t.Context(), before[n]))
	}
	writing, end := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var counts [4]struct {
		sync.Mutex
		n int
	}
	for w := range counts {
		writers.Go(func() { // things come and go all the time
			for n := 0; writing.Err() == nil; n++ {
				if s.put(writing, fmt.Sprint("moving", w, "-", n)) != nil || n > 1 && s.remove(writing, fmt.Sprint("moving", w, "-", n-2)) != nil {
					continue
				}
				counts[w].Lock()
				counts[w].n++
				counts[w].Unlock()
			}
		})
	}
	written := func(more int) {
		for w := range counts {
			at := func() int { counts[w].Lock(); defer counts[w].Unlock(); return counts[w].n }
			from := at()
			require.Eventually(t, func() bool { return at() >= from+more }, time.Minute, time.Millisecond)
		}
	}
	for n := range 3 {
		written(5)
		target := filepath.Join(t.TempDir(), "backup")
		m := s.take(target)
		assert.Positive(t, m.Waited)
		assert.NoDirExists(t, target+".part")
		assert.NoDirExists(t, filepath.Join(s.data, ".backup-links"))
		data := filepath.Join(t.TempDir(), fmt.Sprint("restored", n))
		_, err := backup.Restore(t.Context(), target, data, nil)
		require.NoError(t, err)
		assert.FileExists(t, filepath.Join(data, "secret"))
		restored := start(t, data)
		kept := restored.rows()
		assert.Subset(t, kept, before)
		assert.Greater(t, len(kept), len(before), "and some that move")
		restored.stop()
	}
	written(5) // the server goes on
	end()
	writers.Wait()
	assert.Subset(t, s.rows(), before)
	s.stop()
	target := filepath.Join(t.TempDir(), "backup")
	m := s.take(target)
	assert.Zero(t, m.Waited, "nobody runs")
	data := filepath.Join(t.TempDir(), "data")
	_, err := backup.Restore(t.Context(), target, data, nil)
	require.NoError(t, err)
	assert.Subset(t, start(t, data).rows(), before)
}

func TestABackupIsRefusedOrLeavesNothing(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.create()
	require.NoError(t, s.put(t.Context(), "a"))
	target := filepath.Join(t.TempDir(), "backup")

	_, err := backup.Take(t.Context(), backup.Options{Data: s.data}, target)
	require.ErrorContains(t, err, "neither DynamoDB nor S3 is embedded")
	_, err = backup.Take(t.Context(), s.options(), t.TempDir())
	require.ErrorContains(t, err, "is there already")
	_, err = backup.Take(t.Context(), s.options(), filepath.Join(s.data, "backup"))
	require.ErrorContains(t, err, "in one another")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = backup.Take(cancelled, s.options(), target)
	require.ErrorIs(t, err, context.Canceled)
	assert.NoDirExists(t, target)
	assert.NoDirExists(t, target+".part")

	release, err := embedded.Lock(s.data, "backup.lock")
	require.NoError(t, err)
	_, err = backup.Take(t.Context(), s.options(), target)
	require.ErrorIs(t, err, backup.ErrInProgress)
	require.NoError(t, release())

	require.NoError(t, os.Mkdir(target+".part", 0o700))
	_, err = backup.Take(t.Context(), s.options(), target)
	require.ErrorContains(t, err, "remove it")
	require.NoError(t, s.put(t.Context(), "b"), "S3 goes on")
}

func TestARestoreIsWholeOrNotThere(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.create()
	require.NoError(t, s.put(t.Context(), "a"))
	taken := filepath.Join(t.TempDir(), "backup")
	s.take(taken)

	_, err := backup.Restore(t.Context(), taken, s.data, nil)
	require.ErrorContains(t, err, "is not empty")
	_, err = backup.Restore(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "new"), nil)
	require.ErrorContains(t, err, "no complete backup")
	for _, inside := range []string{taken, filepath.Join(taken, "new"), filepath.Dir(taken)} {
		_, err = backup.Restore(t.Context(), taken, inside, nil)
		require.ErrorContains(t, err, "in one another", inside)
	}
	assert.NoDirExists(t, filepath.Join(taken, "new"))

	data := filepath.Join(t.TempDir(), "new")
	breaking, cancel := context.WithCancel(t.Context())
	_, err = backup.Restore(breaking, taken, data, func(int64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	_, err = embedded.Start(t.Context(), embedded.Options{Dir: data, DynamoDB: true, S3: true})
	require.ErrorContains(t, err, "run it again")
	link := filepath.Join(t.TempDir(), "latest")
	require.NoError(t, os.Symlink(taken, link))
	_, err = backup.Restore(t.Context(), link, data, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, start(t, data).rows())

	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("b"), 0o600) },
		"missing": os.Remove,
	} {
		copied := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.CopyFS(copied, os.DirFS(taken)))
		require.NoError(t, damage(filepath.Join(copied, embedded.ObjectsPath, "objects", bucket, "a", "a")))
		data := filepath.Join(t.TempDir(), "new")
		_, err := backup.Restore(t.Context(), copied, data, nil)
		require.ErrorContains(t, err, "the backup is damaged", name)
		_, err = embedded.Start(t.Context(), embedded.Options{Dir: data, DynamoDB: true, S3: true})
		require.ErrorContains(t, err, "not complete", name)
	}
}

func TestWhatStandsStillGoesOnThoughNobodySaysSo(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	require.NoError(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	stopped := func() bool {
		return child.Stopped(sleeper.Process.Pid)
	}
	begin := func() (*exec.Cmd, *os.File) {
		c := freezer(sleeper.Process.Pid)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		c.Stdin = read
		require.NoError(t, c.Start())
		require.NoError(t, read.Close())
		t.Cleanup(func() { _ = write.Close() })
		require.Eventually(t, stopped, 20*time.Second, time.Millisecond)
		return c, write
	}
	c, write := begin()
	require.NoError(t, c.Process.Signal(syscall.SIGINT)) // as a Ctrl-C would
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.NoError(t, write.Close()) // as if the one who asked was killed
	require.NoError(t, c.Wait())
	assert.False(t, stopped())

	c, _ = begin()
	require.Error(t, c.Wait(), "it took too long")
	assert.False(t, stopped())
}

func TestABackupCanBeReadBySha256sum(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.create()
	require.NoError(t, s.put(t.Context(), "a"))
	taken := filepath.Join(t.TempDir(), "backup")
	m := s.take(taken)
	files := 0
	require.NoError(t, filepath.WalkDir(taken, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files++
		}
		return err
	}))
	assert.Equal(t, files, m.Files+2, "and the manifest and the sums")
	list, err := os.ReadFile(filepath.Join(taken, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, m.Files, strings.Count(string(list), "\n"))
	assert.Regexp(t, `(?m)^[0-9a-f]{64}  dynamodb/tables\.db$`, string(list))
}
