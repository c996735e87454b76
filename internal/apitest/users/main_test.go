package users

import (
	"testing"

	"github.com/taggie/taggie/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }
