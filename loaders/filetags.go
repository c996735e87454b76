package loaders

import (
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// fileTagLoaders read tags on items.
type fileTagLoaders struct {
	TagsOn  *Loader[filetag.TagsRequest, page.Slice[filetag.ItemTag]]
	Tagged  *Loader[filetag.TallyKey, bool]
	WithTag *Loader[filetag.WithTag, page.Slice[filetag.ItemTag]]
	Words   *Loader[tag.ID, tag.Tag] // that are on items
}

func newFileTagLoaders(r *response, tags *filetag.Service) fileTagLoaders {
	return fileTagLoaders{
		TagsOn:  register(r, "tagsOn", tags.ListTags),
		Tagged:  register(r, "tagged", tags.Tagged),
		WithTag: registerList(r, "withTag", tags.ListWithTag),
		Words:   registerList(r, "words", tags.FindWord),
	}
}
