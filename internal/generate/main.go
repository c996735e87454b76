// Command generate writes graph/: it runs gqlgen, and then takes out of the executor what our lists pay for without
// needing it.
//
// It knows the form of what gqlgen writes. A rewriting that does not find all of what it expects fails with its name, so that a new
// version of gqlgen is noticed. It must not know the domain, except which fields never wait. Start reading at [ready], then [rewrite].
package main

import (
	"log"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

// ready lists the resolvers that find their value without waiting, because a list above them has looked ahead
// (resolvers/*ahead*.go) or because they only decide. They run in place; all others run beside one another.
var ready = []string{
	"User.email",
	"Note.owner", "Note.accessList", "Note.latestVersion",
	"NoteAccessEdge.node", "NoteAccessConnection.nodes",
	"SharedNoteConnection.nodes", "TaggedNoteConnection.nodes",
	"Tag.author",
	"Entity.scope", "Entity.relations", "Entity.reverseRelations",
	"EntityRelationEdge.node", "EntityRelationConnection.nodes",
	"ScopeMemberEdge.node", "ScopeMemberConnection.nodes",
	"Category.project", "Category.items", "Subcategory.project", "Subcategory.items",
	"Team.project", "Team.members", "Team.statistics", "UserStatistics.user", "OnlineMember.user",
	"ProjectMember.user", "ProjectMember.team", "ProjectMember.efforts",
	"ProjectItem.project", "ProjectItem.url", "ProjectItem.item", "ProjectItem.category", "ProjectItem.subcategory", "ProjectItem.efforts",
	"ProjectItemEffort.project", "ProjectItemEffort.item", "ProjectItemEffort.user", "ProjectItemEffort.team",
	"ProjectItemEffort.category", "ProjectItemEffort.subcategory",
	"ProjectItem.claim", "ProjectItemClaim.user", "ProjectItemClaim.token", "ProjectItem.returnedTo", "ProjectItemEffort.review", "EffortReview.by",
	"ProjectEvent.item", "ProjectEvent.status", "ProjectEvent.user", "ProjectEvent.author", "ProjectEvent.team",
	"ProjectImport.project", "ProjectImport.message", "ProjectImport.createdBy",
	"ScorePage.item", "Annotation.text", "Item.width", "Item.height", "Item.url", "Item.thumbnailUrl", "Item.thumbnailWidth", "Item.thumbnailHeight",
	"Item.useCount", "Item.set", "ItemTag.author", "TaggedItemConnection.nodes", "TaggedItemEdge.node",
	"ProjectExport.project", "ProjectExport.status", "ProjectExport.message", "ProjectExport.createdBy", "ProjectExport.bytes",
}

func main() {
	cfg, err := config.LoadConfigFromDefaultLocations()
	if err == nil {
		err = write(cfg)
	}
	if err != nil {
		log.Fatal("generate: ", err)
	}
}

// write has gqlgen write the executor, and rewrites it in place.
func write(cfg *config.Config) error {
	if err := api.Generate(cfg); err != nil {
		return err
	}
	path := cfg.Exec.Filename
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	code, err := rewrite(string(text), ready)
	if err != nil {
		return err
	}
	return os.WriteFile(path, code, 0o644)
}
