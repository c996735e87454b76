package score

// AsOf returns the score with the content of one of its snapshots. Access, version, the number of snapshots and times are those of
// the score as it is. Its texts are in the content: of what it asks for with [Score.Annotation] the store may know nothing.
func (s Score) AsOf(c Content) Score {
	s.Title, s.Pages, s.Annotations, s.DescriptionHash = c.Title, c.Pages, nil, ""
	if c.Description != "" {
		s.DescriptionHash = NewText(DescriptionText, c.Description).Hash
	}
	for _, text := range c.Annotations {
		s.Annotations = append(s.Annotations, NewText(AnnotationText, text).Hash)
	}
	return s.seal()
}

// OfScore returns the score that uses the item, or of which a snapshot does.
func (u Use) OfScore() Ref {
	if u.Kind == UsedBySnapshot {
		return Ref{u.Item.Owner, u.Score}
	}
	return Ref{u.Item.Owner, ID(u.By)}
}

// OfSnapshot returns the snapshot that uses the item.
func (u Use) OfSnapshot() SnapshotID { return SnapshotID{u.OfScore(), u.By} }
