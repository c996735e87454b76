package fleets

import (
	"os"
	"testing"

	"github.com/taggie/taggie/internal/apitest"
)

func TestMain(m *testing.M) {
	capacityFlags.declare()
	apitest.Main(m, func() { _ = os.RemoveAll(fastDirectory) })
}
