package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// maxTransaction is how many bytes of items go into one transaction: DynamoDB takes 4 MB, and counts a little more than we do.
const maxTransaction = 3_500_000

var errThere = errors.New("some items are there already")

// importing is an item on its way into a project.
type importing struct {
	item  project.Item
	puts  []action
	bytes int
	used  bool // the item of which it is made is used by the project already
}

// actions returns what creates the item: its row, its entry of the index, and that the item is used of which it is made.
func (i importing) actions() []action {
	if i.item.Original.ID == "" {
		return i.puts
	}
	return append(slices.Clone(i.puts), usedBy{project: i.item.Project}.take(score.RefOf(i.item.Original), i.used)...)
}

// ImportItems creates those of the items of one import that do not exist. The row of an item says which line of which import
// brought it, so that a line that is imported again counts as it did, and nothing that happened to the item since is undone.
//
// It does not look whether the import was cancelled: who runs it notices when he stores its progress.
//
// An item that is made of an item of a user counts as a use of that, in the same transaction: neither comes without the other, and
// an item that is used cannot be deleted.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition that there is none, and
// <project>:ProjectItem:<item>/status~<shard>:NEW:<shard>:<seq>; of one that is made of a user's item also
// si:<owner>/<item><project>, and it:<owner>/<score><item> on condition that it exists. Cost: ⌈n/50⌉ TransactWriteItems, ⌈n/25⌉ of
// users' items; where items are there already 1 BatchGetItem and 1 TransactWriteItems more.
func (db Projects) ImportItems(ctx context.Context, items []project.Item) (created int, there []project.Item, err error) {
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
		row, err := itemRow(item)
		if err != nil {
			return created, there, err
		}
		name, key := statusEntry(item)
		i := importing{item: item, puts: []action{
			{table: entitiesMaster, item: row, condition: "attribute_not_exists(#id)", names: map[string]string{"#id": "_id"}, failed: func(attrs) error { return errThere }},
			{table: indexEntries, item: indexRow(itemID(item.ItemID), name, key, nil)},
		}}
		for _, put := range i.puts {
			i.bytes += rowBytes(put.item)
		}
		n := len(i.actions())
		if rows+n > maxActions || size+i.bytes > maxTransaction && len(chunk) > 0 {
			if err := flush(); err != nil {
				return created, there, err
			}
		}
		chunk, size, rows = append(chunk, i), size+i.bytes, rows+n
	}
	return created, there, flush()
}

// importChunk creates up to as many items as one transaction takes.
func (db Projects) importChunk(ctx context.Context, left []importing) (created int, there []project.Item, err error) {
	for idle := 0; len(left) > 0; idle++ {
		actions := make([]action, 0, 2*len(left))
		for _, i := range left {
			actions = append(actions, i.actions()...)
		}
		err := db.tallies.spend(allowedItems, string(left[0].item.Project), len(left), func() error {
			return db.transact(ctx, actions, idempotency.Key{})
		})
		if err == nil {
			return created + len(left), there, nil
		}
		if use, ok := errors.AsType[errUse](err); ok {
			if use.uncounted {
				if err := db.countUses(ctx, use.item); err != nil {
					return created, there, err
				}
				continue
			}
			for n := range left {
				if score.RefOf(left[n].item.Original) == use.item {
					left[n].used = use.there
				}
			}
			if !db.pause(ctx, idle) {
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
			switch origins[n] {
			case origin{}:
				missing = append(missing, i)
			case origin{i.item.Import, i.item.Line}:
				created++
			default:
				there = append(there, i.item)
			}
		}
		if full != nil && len(missing) == len(left) {
			return created, there, full
		}
		// The rows of somebody else's transaction are seen one by one: what made ours fail may be hidden from the batch.
		if len(missing) == len(left) && !db.pause(ctx, idle) {
			return created, there, fault.Wrap(fault.Unavailable, ctx.Err(), "the items could not be imported in time")
		}
		left = missing
	}
	return created, there, nil
}

// origin is the line that brought an item.
type origin struct {
	of   string // import
	line int
}

// origins reads who brought the items; zero for one that does not exist. It reads no more than that of them: they have up to
// 100 KB each.
func (db Projects) origins(ctx context.Context, of []importing) ([]origin, error) {
	light := db.projecting(projections{*db.table(entitiesMaster): projectionOf(entitiesMaster.pk, entitiesMaster.sk, "import", "line")})
	found := make([]origin, len(of))
	wants := make([]want, len(of))
	for i := range of {
		var item project.Item
		wants[i] = wantItem(of[i].item.ItemID, &item)
		read := wants[i].decode
		wants[i].decode = func(raw []byte) error {
			err := read(raw)
			found[i] = origin{item.Import, item.Line}
			return err
		}
	}
	for _, err := range light.batchGet(ctx, wants) {
		if err != nil && err != errMissing { //nolint:errorlint // batchGet returns it bare
			return nil, fmt.Errorf("who brought an item: %w", err)
		}
	}
	return found, nil
}

// rowBytes estimates the size of a row as DynamoDB counts it; see "DynamoDB item sizes and formats" in its developer guide.
func rowBytes(row attrs) int {
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
