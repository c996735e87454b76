package campaign

import "time"

// Stored is what is there in the end, when nobody works and nothing is on its way any more.
type Stored struct {
	Items   []Item   `json:"items"`
	Notes   []Note   `json:"notes"`
	Answers []Answer `json:"answers"`
	// Collections are what was made in each, and Copies what collections were at some time.
	Collections []Collection `json:"collections,omitempty"`
	Copies      []Copy       `json:"copies,omitempty"`
	// Left are rows that nobody needs any more, by their kind; Measured is what servers used while they ran.
	Left     map[string]int `json:"left,omitempty"`
	Measured []Series       `json:"measured,omitempty"`
}

// Item is an item of the project, as DynamoDB has it.
type Item struct {
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Version int      `json:"version"`
	Holder  string   `json:"holder,omitempty"` // who has it
	Token   string   `json:"token,omitempty"`  // of the claim
	Efforts []Effort `json:"efforts,omitempty"`
}

// Effort is that somebody finished an item.
type Effort struct {
	ID     string    `json:"id"`
	User   string    `json:"user"`
	Undone bool      `json:"undone,omitempty"`
	At     time.Time `json:"at"`
}

// Note is a note with all that was ever in it, by version.
type Note struct {
	ID       string         `json:"id"`
	Version  int            `json:"version"`
	Contents map[int]string `json:"contents"`
}

// Answer is what one server tells of the project in the end.
type Answer struct {
	Server   string         `json:"server"`
	Counts   Counts         `json:"counts"`
	Finished map[string]int `json:"finished"` // by user
	Efforts  map[string]int `json:"efforts"`  // of items: how many are listed
}

// counts are what the stored items add up to.
func (s Stored) counts() Counts {
	c := Counts{Total: len(s.Items)}
	for _, i := range s.Items {
		switch i.Status {
		case "NEW":
			c.New++
		case "CLAIMED":
			c.Claimed++
		case "FINISHED":
			c.Finished++
		case "SKIPPED":
			c.Skipped++
		}
	}
	return c
}

// counting are the efforts of an item that were not taken back.
func (i Item) counting() (n int) {
	for _, e := range i.Efforts {
		if !e.Undone {
			n++
		}
	}
	return n
}

// Collection is what is in a place, by name: the annotations of a score, or the files of a user.
type Collection struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
}

// Copy is what a collection was when a member of another collection was made: the annotations of a score in a snapshot.
type Copy struct {
	Of      string   `json:"of"`   // the collection
	In      string   `json:"in"`   // the collection that the copy is in
	Name    string   `json:"name"` // by which it is there
	Members []string `json:"members"`
}
