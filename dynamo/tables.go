package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// ttlAttribute holds the second, since 1970, after which a row of the notes table may be removed. The other tables have no
// time to live: entities hold the attributes of clients at the top level, and one that happens to be called expires_at
// must not make DynamoDB remove rows.
const ttlAttribute = "expires_at"

// expires reports whether the rows of a table have a time to live.
func (db *DB) expires(tableName *string) bool { return *tableName == *db.Table(NotesTable) }

// Tables returns what `taggie tables apply` makes.
func (db *DB) Tables() []dynamodb.CreateTableInput {
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	notes := db.newTable(NotesTable, GSI1, GSI2, LSI1)
	notes.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		db.newIndex(GSI1, all),
		// Access lists need no more; a note's content would double its cost of writing.
		db.newIndex(GSI2, &types.Projection{
			ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{FormatAttribute, "note_id", "user_id", "owner_id", "permission", "shared_at"},
		}),
	}
	notes.LocalSecondaryIndexes = []types.LocalSecondaryIndex{
		{IndexName: db.IndexName(LSI1), KeySchema: LSI1.schema(), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
	}
	onlyKeys := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	entities := db.newTable(EntitiesMaster, EntitiesByType, EntitiesByScope, ItemsByName)
	entities.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{db.newIndex(EntitiesByType, all), db.newIndex(EntitiesByScope, onlyKeys), db.newIndex(ItemsByName, onlyKeys)}
	relations := db.newTable(RelationshipEntries, ReverseRelationships)
	relations.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{db.newIndex(ReverseRelationships, all)}
	entries := db.newTable(IndexEntries, IndexLookup)
	entries.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{db.newIndex(IndexLookup, all)}
	scores := db.newTable(ScoresTable, ScoresByTitle)
	scores.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{db.newIndex(ScoresByTitle, onlyKeys)}
	tags := db.newTable(TagsTable, TagsByValue, TagsByLetter, TagsByFile, TagsByAuthor)
	// The rest of a tag is in the row that the index leads to.
	found := &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{FormatAttribute, "authorUserId", "fileUniqueId", "owner", "score", "via", "value"}}
	tags.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		db.newIndex(TagsByValue, found), db.newIndex(TagsByLetter, found), db.newIndex(TagsByFile, found), db.newIndex(TagsByAuthor, onlyKeys),
	}
	return []dynamodb.CreateTableInput{notes, entities, relations, entries, scores, tags}
}

// newTable returns a table, still without the indexes, with the attributes by which it and they sort.
func (db *DB) newTable(t Table, indexes ...index) dynamodb.CreateTableInput {
	in := dynamodb.CreateTableInput{TableName: db.Table(t), BillingMode: types.BillingModePayPerRequest, KeySchema: t.primary().schema()}
	defined := map[string]bool{}
	define := func(name string, typ types.ScalarAttributeType) {
		if !defined[name] {
			defined[name] = true
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: typ})
		}
	}
	for _, i := range append([]index{t.primary()}, indexes...) {
		define(i.PK, types.ScalarAttributeTypeS)
		if i.number {
			define(i.SK, types.ScalarAttributeTypeN)
		} else {
			define(i.SK, types.ScalarAttributeTypeS)
		}
	}
	return in
}

func (db *DB) newIndex(i index, projection *types.Projection) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: db.IndexName(i), KeySchema: i.schema(), Projection: projection}
}

func (i index) schema() []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(i.PK), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(i.SK), KeyType: types.KeyTypeRange},
	}
}

// TableNames returns the full names of all tables.
func (db *DB) TableNames() []string {
	var names []string
	for _, t := range db.Tables() {
		names = append(names, *t.TableName)
	}
	return names
}

// Step is something that [DB.ApplyTables] did or [DB.CheckTables] found.
type Step struct {
	Table string
	Text  string
	OK    bool // false: something is missing or different
}

// ApplyTables creates missing tables with on-demand billing, adds missing global indexes to those that exist, switches on point-in-time recovery and,
// for notes, time to live, and reports each step. It changes no key of a table that exists: what else differs is reported as not OK. It can be run again.
func (db *DB) ApplyTables(ctx context.Context, report func(Step)) error {
	for _, want := range db.Tables() {
		have, err := db.describe(ctx, want.TableName)
		if err != nil {
			return err
		}
		if have == nil {
			if _, err := db.Client.CreateTable(ctx, &want); err != nil {
				if _, inUse := errors.AsType[*types.ResourceInUseException](err); !inUse { // another server was faster
					return fmt.Errorf("create table %s: %w", *want.TableName, err)
				}
			}
			waiter := dynamodb.NewTableExistsWaiter(db.Client, func(o *dynamodb.TableExistsWaiterOptions) {
				o.MinDelay, o.MaxDelay = 50*time.Millisecond, 2*time.Second
			})
			if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: want.TableName}, 5*time.Minute); err != nil {
				return fmt.Errorf("wait for table %s: %w", *want.TableName, err)
			}
			report(Step{*want.TableName, "created", true})
		} else {
			if have, err = db.addIndexes(ctx, &want, have, report); err != nil {
				return err
			}
			db.compare(&want, have, report)
		}
		if db.expires(want.TableName) {
			if err := db.timeToLive(ctx, want.TableName, true, report); err != nil {
				return err
			}
		}
		if err := db.recovery(ctx, want.TableName, true, report); err != nil {
			return err
		}
	}
	return nil
}

// CheckTables reports whether each table is as [DB.ApplyTables] would make it, and changes nothing.
func (db *DB) CheckTables(ctx context.Context, report func(Step)) error {
	for _, want := range db.Tables() {
		have, err := db.describe(ctx, want.TableName)
		if err != nil {
			return err
		}
		if have == nil {
			report(Step{*want.TableName, "does not exist; run `taggie tables apply`", false})
			continue
		}
		db.compare(&want, have, report)
		if db.expires(want.TableName) {
			if err := db.timeToLive(ctx, want.TableName, false, report); err != nil {
				return err
			}
		}
		if err := db.recovery(ctx, want.TableName, false, report); err != nil {
			return err
		}
	}
	return nil
}

// Ready returns nil when every table can be used and has the keys and indexes that are read.
func (db *DB) Ready(ctx context.Context) error {
	for _, want := range db.Tables() {
		name := *want.TableName
		have, err := db.describe(ctx, &name)
		switch {
		case err != nil:
			return err
		case have == nil:
			return fmt.Errorf("table %s does not exist; run `taggie tables apply`", name)
		case have.TableStatus != types.TableStatusActive && have.TableStatus != types.TableStatusUpdating:
			return fmt.Errorf("table %s is %s", name, have.TableStatus)
		}
		if wrong, _ := db.differences(&want, have); len(wrong) > 0 {
			return fmt.Errorf("table %s: %s", name, strings.Join(wrong, "; "))
		}
	}
	return nil
}

func (db *DB) describe(ctx context.Context, name *string) (*types.TableDescription, error) {
	out, err := db.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe table %s: %w", *name, err)
	}
	return out.Table, nil
}

// compare reports what of the keys and indexes differs.
func (db *DB) compare(want *dynamodb.CreateTableInput, have *types.TableDescription, report func(Step)) {
	found, dated := db.differences(want, have)
	for _, text := range dated {
		report(Step{*want.TableName, text, true})
	}
	for _, text := range found {
		report(Step{*want.TableName, text, false})
	}
	if len(found) == 0 {
		report(Step{*want.TableName, "keys and indexes are right", true})
	}
}

// differences says what of the keys and indexes is not as it should be. Indexes that nobody asked for are no difference. Those that have all but the
// formats of their rows are dated: they do as long as there is only one format.
func (db *DB) differences(want *dynamodb.CreateTableInput, have *types.TableDescription) (wrong, dated []string) {
	wanted := spelling(want.AttributeDefinitions)
	wanted.add("key", want.KeySchema, nil)
	for _, i := range want.GlobalSecondaryIndexes {
		wanted.add("index "+*i.IndexName, i.KeySchema, i.Projection)
	}
	for _, i := range want.LocalSecondaryIndexes {
		wanted.add("index "+*i.IndexName, i.KeySchema, i.Projection)
	}
	found := spelling(have.AttributeDefinitions)
	found.add("key", have.KeySchema, nil)
	for _, i := range have.GlobalSecondaryIndexes {
		if i.IndexStatus == types.IndexStatusCreating {
			continue // it cannot be read yet
		}
		found.add("index "+*i.IndexName, i.KeySchema, i.Projection)
	}
	for _, i := range have.LocalSecondaryIndexes {
		found.add("index "+*i.IndexName, i.KeySchema, i.Projection)
	}
	for _, what := range slices.Sorted(maps.Keys(wanted.text)) {
		switch f, there := found.text[what]; {
		case !there:
			wrong = append(wrong, fmt.Sprintf("%s is missing, want %s", what, wanted.text[what]))
		case f == wanted.text[what]:
		case db.newest == FirstFormat && f == strings.Replace(wanted.text[what], " "+FormatAttribute, "", 1):
			dated = append(dated, fmt.Sprintf("%s lacks %s, which later versions of Taggie need", what, FormatAttribute))
		default:
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", what, f, wanted.text[what]))
		}
	}
	return wrong, dated
}

// spelled holds the key and the indexes of a table as texts that are equal when they are.
type spelled struct {
	types map[string]types.ScalarAttributeType
	text  map[string]string
}

func spelling(attributes []types.AttributeDefinition) spelled {
	s := spelled{types: map[string]types.ScalarAttributeType{}, text: map[string]string{}}
	for _, a := range attributes {
		s.types[*a.AttributeName] = a.AttributeType
	}
	return s
}

func (s spelled) add(name string, schema []types.KeySchemaElement, projection *types.Projection) {
	var parts []string
	for _, e := range schema {
		parts = append(parts, fmt.Sprintf("%s %s %s", e.KeyType, *e.AttributeName, s.types[*e.AttributeName]))
	}
	slices.Sort(parts) // HASH, RANGE
	text := strings.Join(parts, ", ")
	if projection != nil {
		text += ", projection " + string(projection.ProjectionType)
		if others := slices.Sorted(slices.Values(projection.NonKeyAttributes)); len(others) > 0 {
			text += " of " + strings.Join(others, " ")
		}
	}
	s.text[name] = "(" + text + ")"
}

func (db *DB) timeToLive(ctx context.Context, name *string, apply bool, report func(Step)) error {
	out, err := db.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: name})
	if err != nil {
		return fmt.Errorf("describe time to live of %s: %w", *name, err)
	}
	if d := out.TimeToLiveDescription; d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled && aws.ToString(d.AttributeName) == ttlAttribute {
		report(Step{*name, "time to live is on", true})
		return nil
	}
	if !apply {
		report(Step{*name, "time to live on " + ttlAttribute + " is off", false})
		return nil
	}
	_, err = db.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: name, TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: aws.String(ttlAttribute), Enabled: aws.Bool(true),
	}})
	if err != nil {
		return fmt.Errorf("switch on time to live of %s: %w", *name, err)
	}
	report(Step{*name, "time to live switched on", true})
	return nil
}

// recovery looks after point-in-time recovery. An engine that does not know it is reported, not an error.
func (db *DB) recovery(ctx context.Context, name *string, apply bool, report func(Step)) error {
	out, err := db.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: name})
	if unsupported(err) {
		report(Step{*name, "this engine has no point-in-time recovery", true})
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe backups of %s: %w", *name, err)
	}
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled {
		report(Step{*name, "point-in-time recovery is on", true})
		return nil
	}
	if !apply {
		report(Step{*name, "point-in-time recovery is off", false})
		return nil
	}
	if err := db.switchOnRecovery(ctx, name, report); err != nil {
		return fmt.Errorf("switch on point-in-time recovery of %s: %w", *name, err)
	}
	report(Step{*name, "point-in-time recovery switched on", true})
	return nil
}

// backupsWithin is how long a new table may take until its backups can be set up.
const backupsWithin = 5 * time.Minute

// switchOnRecovery waits for the backups of a new table, which are not there at once although the table is.
func (db *DB) switchOnRecovery(ctx context.Context, name *string, report func(Step)) error {
	ctx, cancel := context.WithTimeout(ctx, backupsWithin)
	defer cancel()
	for idle := 1; ; idle++ {
		_, err := db.Client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: name,
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}})
		if _, unavailable := errors.AsType[*types.ContinuousBackupsUnavailableException](err); !unavailable {
			return err
		}
		if idle == 1 {
			report(Step{*name, "waiting for backups", true})
		}
		if !db.Pause(ctx, idle) {
			return errors.Join(err, ctx.Err())
		}
	}
}

func unsupported(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == "UnknownOperationException"
}
