package queues

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/task"
)

// A server is lost after DynamoDB has other lists and guidelines, and before Redis is told of them. Another server tells those who follow the project,
// each change once.
func TestOtherListsAndGuidelinesAreToldAfterTheirServerIsLost(t *testing.T) {
	t.Parallel()
	way, url := apitest.NewBridge(t)
	var shared config.Config
	dies := apitest.NewServer(t, apitest.WithRedis(url), func(c *config.Config) { shared = *c })
	l := dies.Labelled(1, 0)
	stays := apitest.NewServer(t, apitest.WithRedis("redis://"+way.To+"/0"), func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	stays.Works()
	there := l
	there.Client = l.Client.At(stays)
	follows := there.Listens(there.Client, nil)
	follows.Snapshot()
	heir := stays.Later(task.Lease + time.Second)

	for _, change := range []struct {
		mutation, selection string
		in                  apitest.Vars
		told                string
		by                  any
	}{
		{"addProjectCategories", "project { id }", apitest.Vars{"projectId": l.ID, "categories": []string{"Newt"}}, "CATEGORIES_CHANGED", nil},
		{"updateSubcategory", "subcategory { id }", apitest.Vars{"subcategoryId": l.Subcategories[0], "name": "Feral"}, "CATEGORIES_CHANGED", nil},
		{"updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": l.ID, "text": "# How to label"}, "GUIDELINES_CHANGED", l.Client.ID},
	} {
		way.Cut()
		l.Mutate(change.mutation, change.selection, change.in)
		way.Mend()
		heir.During(func() { assert.Equal(t, change.by, follows.Event(change.told).At("user.id"), change.told) })
	}
	l.Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID})
	follows.Event("PAUSED") // and nothing more of what went before
}
