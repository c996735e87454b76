package notes_test

import (
	"testing"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/storetest/notetest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func TestNotes(t *testing.T) { notetest.Suite(t, dynamotest.OpenStores) }

func TestNotesWithFaults(t *testing.T) { notetest.Suite(t, dynamotest.OpenFaulty) }
