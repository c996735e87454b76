package contents

import (
	"strings"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// What the API calls the values of the domain.
var (
	roles       = map[entity.Role]string{entity.ReaderRole: "READER", entity.WriterRole: "WRITER", entity.OwnerRole: "OWNER"}
	permissions = map[note.Permission]string{note.View: "VIEW", note.Edit: "EDIT"}
	accesses    = map[score.Access]string{score.Private: "PRIVATE", score.Limited: "LIMITED", score.Public: "PUBLIC"}
)

func teamType(t project.TeamType) string { return strings.ToUpper(string(t)) }
