package project

import "github.com/taggie/taggie/internal/page"

// proof is what the viewer is in the project of something that the viewer was shown; "" proves nothing. Only [Service] gives
// it, so that what hangs on something shown needs no second look at who is a member.
type proof TeamType

// Ref names something of a project. One that was made from something that the viewer was shown, by a method of it, carries
// the proof; any other costs a look-up of the membership.
type Ref[K key] struct {
	ID K
	as proof
}

// key is the id of something of a project.
type key interface {
	comparable
	project() ID
}

func (id ID) project() ID         { return id }
func (id TeamID) project() ID     { return id.Project }
func (id LabelID) project() ID    { return id.Project }
func (id ItemID) project() ID     { return id.Project }
func (id EffortID) project() ID   { return id.Project }
func (id TransferID) project() ID { return id.Project }

// Ref names the project, to ask for its lists and teams.
func (p Project) Ref() Ref[ID] { return Ref[ID]{ID: p.ID, as: proof(p.Member.Type)} }

// MembersRequest asks for one page of the members of a project; see [Project.Members] and [Team.Members].
type MembersRequest struct {
	Project ID
	Team    string // of this team only, unless ""
	Window  page.Window
	as      proof
}

// Members asks for a page of the members.
func (p Project) Members(w page.Window) MembersRequest {
	return MembersRequest{Project: p.ID, Window: w, as: proof(p.Member.Type)}
}

// Members asks for a page of the members of the team.
func (t Team) Members(w page.Window) MembersRequest {
	return MembersRequest{Project: t.Project, Team: t.ID, Window: w, as: t.as}
}

// ItemsRequest asks for one page of the items of a project; see [Project.Items].
type ItemsRequest struct {
	Project    ID
	Status     Status // "" for all
	Named      bool   // only those whose names begin with NamePrefix
	NamePrefix string // as a client gives it
	Window     page.Window
	as         proof
}

// Items asks for a page of the items of a status, "" for all.
func (p Project) Items(status Status, w page.Window) ItemsRequest {
	return ItemsRequest{Project: p.ID, Status: status, Window: w, as: proof(p.Member.Type)}
}

// ItemsNamed asks for a page of the items of a status, "" for all, whose names begin with a text.
func (p Project) ItemsNamed(prefix string, status Status, w page.Window) ItemsRequest {
	r := p.Items(status, w)
	r.Named, r.NamePrefix = true, prefix
	return r
}

// LabelRef names a category or subcategory of the project.
func (p Project) LabelRef(kind Kind, id string) Ref[LabelID] {
	return Ref[LabelID]{ID: LabelID{Project: p.ID, Kind: kind, ID: id}, as: proof(p.Member.Type)}
}

// ItemCalled names the item that its import called so.
func (p Project) ItemCalled(externalID string) Ref[ItemID] {
	return Ref[ItemID]{ID: ItemIDOf(p.ID, externalID), as: proof(p.Member.Type)}
}

// TransfersRequest asks for one page of the imports or exports of a project; see [Project.Transfers].
type TransfersRequest struct {
	Project ID
	Window  page.Window
	as      proof
}

// Transfers asks for a page of the imports or of the exports.
func (p Project) Transfers(w page.Window) TransfersRequest {
	return TransfersRequest{Project: p.ID, Window: w, as: proof(p.Member.Type)}
}

// AwaitingReview asks for a page of the efforts that the viewer may review: of an author and a category, "" for all of them.
func (p Project) AwaitingReview(author UserID, category string, w page.Window) ReviewsRequest {
	return ReviewsRequest{Project: p.ID, Author: author, Category: category, Except: p.Member.User, Window: w, as: proof(p.Member.Type)}
}

// TeamRef names the team of the member.
func (m Member) TeamRef() Ref[TeamID] {
	return Ref[TeamID]{ID: TeamID{Project: m.Project, ID: m.Team}, as: m.as}
}

// Efforts asks for a page of what the member finished.
func (m Member) Efforts(w page.Window) MemberEffortsRequest {
	return MemberEffortsRequest{Project: m.Project, User: m.User, Window: w, as: m.as}
}

// Items asks for a page of the items that were found to be this.
func (l Label) Items(w page.Window) LabelItemsRequest {
	return LabelItemsRequest{Label: l.LabelID, Window: w, as: l.as}
}

// IntoRef names the label that took its place; false when none did.
func (l Label) IntoRef() (Ref[LabelID], bool) { return labelRef(l.Project, l.Kind, l.Into, l.as) }

// CategoryRef names what the item was found to be; false when it was not.
func (i Item) CategoryRef() (Ref[LabelID], bool) {
	return labelRef(i.Project, Category, i.Category, i.as)
}

// SubcategoryRef names what else the item was found to be; false when nothing.
func (i Item) SubcategoryRef() (Ref[LabelID], bool) {
	return labelRef(i.Project, Subcategory, i.Subcategory, i.as)
}

// History asks for a page of the efforts.
func (i Item) History(w page.Window) ItemEffortsRequest {
	return ItemEffortsRequest{Item: i.ItemID, Window: w, as: i.as}
}

// ItemRef names the item that was finished.
func (e Effort) ItemRef() Ref[ItemID] {
	return Ref[ItemID]{ID: ItemID{Project: e.Project, ID: e.Item}, as: e.as}
}

// TeamRef names the team in which the user was.
func (e Effort) TeamRef() Ref[TeamID] {
	return Ref[TeamID]{ID: TeamID{Project: e.Project, ID: e.Team}, as: e.as}
}

// CategoryRef names what the item was found to be.
func (e Effort) CategoryRef() (Ref[LabelID], bool) {
	return labelRef(e.Project, Category, e.Category, e.as)
}

// SubcategoryRef names what else the item was found to be; false when nothing.
func (e Effort) SubcategoryRef() (Ref[LabelID], bool) {
	return labelRef(e.Project, Subcategory, e.Subcategory, e.as)
}

func labelRef(project ID, kind Kind, id string, as proof) (Ref[LabelID], bool) {
	return Ref[LabelID]{ID: LabelID{Project: project, Kind: kind, ID: id}, as: as}, id != ""
}
