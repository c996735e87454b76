package archives_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/archivetest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func archiveStores(db *dynamo.DB) archivetest.Stores {
	return archivetest.Stores{
		Stores:   storetest.Stores{Users: users.Store{DB: db}, Notes: notes.Store{DB: db}.Store()},
		Archives: archives.Store{DB: db}, Tasks: dynamo.Tasks{DB: db},
	}
}

func TestArchives(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T, now func() time.Time) archivetest.Stores {
		db, inj := dynamotest.OpenDB(t, now)
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return archiveStores(db)
	})
}

func TestArchivesWithFaults(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T, now func() time.Time) archivetest.Stores {
		return archiveStores(dynamotest.OpenFaultyDB(t, now))
	})
}

func TestAFileTellsItsArchive(t *testing.T) {
	t.Parallel()
	const user, id = "0b2a6a8c-6a3f-4f5f-9d30-000000000001", "0b2a6a8c-6a3f-4f5f-9d30-000000000002"
	need, is := archives.NeedOfFile(archive.Key(archive.ID{User: user, ID: id}))
	assert.True(t, is)
	assert.Equal(t, dynamo.Key{PK: "USER#" + user, SK: "ARCHIVE#" + id}, need.Key)
	for _, other := range []string{"", "archives/", "archives/" + user, "archives/" + user + "/", "archives/a/b", "exports/" + user + "/" + id, "archives/" + user + "/" + id + "/more"} {
		_, is := archives.NeedOfFile(other)
		assert.False(t, is, other)
	}
}
