package users_test

import (
	"testing"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/storetest/usertest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func TestUsers(t *testing.T) { usertest.Suite(t, dynamotest.OpenStores) }

func TestUsersWithFaults(t *testing.T) { usertest.Suite(t, dynamotest.OpenFaulty) }
