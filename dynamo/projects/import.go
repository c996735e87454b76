package projects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// MaxTransaction is how many bytes of items go into one transaction: DynamoDB takes 4 MB, and counts a little more than we do.
const MaxTransaction = 3_500_000

var errThere = errors.New("some items are there already")

// importing is an item on its way into a project.
type importing struct {
	item  project.Item
	puts  []dynamo.Action
	bytes int
	used  bool // the item of which it is made is used by the project already
}

// actions returns what creates the item: its row, its entry of the index, and that the item is used of which it is made.
func (i importing) actions() []dynamo.Action {
	if i.item.Original.ID == "" {
		return i.puts
	}
	return append(slices.Clone(i.puts), uses.By{Project: i.item.Project}.Take(score.RefOf(i.item.Original), i.used)...)
}

// ImportItems creates those of the items of one import that do not exist. The row of an item says which line of which import
// brought it, so that a line that is imported again counts as it did, and nothing that happened to the item since is undone.
//
// It does not look whether the import was cancelled: who runs it notices when he stores its progress.
//
// An item that is made of an item of a user counts as a use of that, in the same transaction: neither comes without the other, and
// an item that is used cannot be deleted. With it comes the task that has its tags found in the project.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition that there is none, and
// <project>:ProjectItem:<item>/status~<shard>:NEW:<shard>:<seq>; of one that is made of a user's item also
// si:<owner>/<item><project>, it:<owner>/<score><item> on condition that it exists, and a task. Cost: ⌈n/50⌉ TransactWriteItems, ⌈n/24⌉ of
// users' items; where items are there already 1 BatchGetItem and 1 TransactWriteItems more.
func (db Store) ImportItems(ctx context.Context, items []project.Item) (created int, there []project.Item, err error) {
	if len(items) == 0 {
		return 0, nil, nil
	}
	var chunk []importing
	size, rows, seen := 0, 0, make(map[project.ItemID]bool, len(items))
	flush := func() error {
		n, known, err := db.importChunk(ctx, chunk)
		created, there = created+n, append(there, known...)
		chunk, size, rows = nil, 0, 0
		return err
	}
	for _, item := range items {
		if seen[item.ItemID] {
			there = append(there, item)
			continue
		}
		seen[item.ItemID] = true
		row, err := ItemRow(item)
		if err != nil {
			return created, there, err
		}
		name, key := StatusEntry(item)
		i := importing{item: item, puts: []dynamo.Action{
			{Table: dynamo.EntitiesMaster, Item: row, Condition: "attribute_not_exists(#id)", Names: map[string]string{"#id": "_id"}, Failed: func(dynamo.Attrs) error { return errThere }},
			{Table: dynamo.IndexEntries, Item: entities.IndexRow(ItemID(item.ItemID), name, key, nil)},
		}}
		for _, put := range i.puts {
			i.bytes += rowBytes(put.Item)
		}
		n := len(i.actions())
		bound := dynamo.MaxActions
		if item.Original.ID != "" {
			bound-- // for the task
		}
		if rows+n > bound || size+i.bytes > MaxTransaction && len(chunk) > 0 {
			if err := flush(); err != nil {
				return created, there, err
			}
		}
		chunk, size, rows = append(chunk, i), size+i.bytes, rows+n
	}
	return created, there, flush()
}

// importChunk creates up to as many items as one transaction takes.
func (db Store) importChunk(ctx context.Context, left []importing) (created int, there []project.Item, err error) {
	for idle := 0; len(left) > 0; idle++ {
		actions := make([]dynamo.Action, 0, 2*len(left))
		for _, i := range left {
			actions = append(actions, i.actions()...)
		}
		actions = append(actions, db.tagsFollow(left)...)
		err := db.Spend(AllowedItems, string(left[0].item.Project), len(left), func() error {
			return db.Transact(ctx, actions, idempotency.Key{})
		})
		if err == nil {
			return created + len(left), there, nil
		}
		if use, ok := errors.AsType[uses.UnexpectedError](err); ok {
			if use.Uncounted {
				if err := uses.Count(ctx, db.DB, use.Item); err != nil {
					return created, there, err
				}
				continue
			}
			for n := range left {
				if score.RefOf(left[n].item.Original) == use.Item {
					left[n].used = use.There
				}
			}
			if !db.Pause(ctx, idle) {
				return created, there, fault.Wrap(fault.Unavailable, ctx.Err(), "the items could not be imported in time")
			}
			continue
		}
		if _, ok := errors.AsType[*score.UnknownItem](err); ok {
			return created, there, fault.Wrap(fault.Invalid, err, "the item does not exist any more")
		}
		var full error // but those that are there already take no room
		if fault.Is(err, fault.Exhausted) {
			full = err
		} else if !errors.Is(err, errThere) {
			return created, there, err
		}
		origins, err := db.origins(ctx, left)
		if err != nil {
			return created, there, err
		}
		var missing []importing
		for n, i := range left {
			of := origins[n]
			status := of.status
			switch of.status = ""; of {
			case origin{}:
				missing = append(missing, i)
			case origin{of: i.item.Import, line: i.item.Line}:
				created++
			default:
				if status.Hidden() {
					i.item.Status = status
				}
				there = append(there, i.item)
			}
		}
		if full != nil && len(missing) == len(left) {
			return created, there, full
		}
		// The rows of somebody else's transaction are seen one by one: what made ours fail may be hidden from the batch.
		if len(missing) == len(left) && !db.Pause(ctx, idle) {
			return created, there, fault.Wrap(fault.Unavailable, ctx.Err(), "the items could not be imported in time")
		}
		left = missing
	}
	return created, there, nil
}

// tagsFollow is the task that has the tags of users' items found in the project into which they come.
func (db Store) tagsFollow(of []importing) []dynamo.Action {
	var refs []score.ItemRef
	for _, i := range of {
		if i.item.Original.ID != "" {
			refs = append(refs, score.RefOf(i.item.Original))
		}
	}
	if len(refs) == 0 {
		return nil
	}
	first := of[0].item
	id := fmt.Sprintf("%s-%s-%d", first.Project, first.Import, first.Line)
	return []dynamo.Action{dynamo.TaskAction(score.FollowingImport(id, db.Now(), first.Project, refs...))}
}

// origin is the line that brought an item.
type origin struct {
	of     string // import
	line   int
	status project.Status
}

// origins reads who brought the items; zero for one that does not exist. It reads no more than that of them: they have up to
// 100 KB each.
func (db Store) origins(ctx context.Context, of []importing) ([]origin, error) {
	light := db.Projecting(dynamo.Projections{*db.Table(dynamo.EntitiesMaster): dynamo.ProjectionOf(dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, "import", "line", "status")})
	found := make([]origin, len(of))
	wants := make([]dynamo.Want, len(of))
	for i := range of {
		var item project.Item
		wants[i] = WantItem(of[i].item.ItemID, &item)
		read := wants[i].Decode
		wants[i].Decode = func(raw dynamo.Item) error {
			err := read(raw)
			found[i] = origin{item.Import, item.Line, item.Status}
			return err
		}
	}
	for _, err := range light.BatchGet(ctx, wants) {
		if err != nil && err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			return nil, fmt.Errorf("who brought an item: %w", err)
		}
	}
	return found, nil
}

// rowBytes estimates the size of a row as DynamoDB counts it; see "DynamoDB item sizes and formats" in its developer guide.
func rowBytes(row dynamo.Attrs) int {
	n := 0
	for name, v := range row {
		n += len(name) + valueBytes(v)
	}
	return n
}

func valueBytes(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + rowBytes(v.Value)
	case *types.AttributeValueMemberL:
		n := 3 + len(v.Value)
		for _, element := range v.Value {
			n += valueBytes(element)
		}
		return n
	}
	return 1
}
