package project

import "time"

// Ended reports whether nothing changes any more.
func (s TransferState) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// Start queues an import whose file is there; false when it does not await one.
func (i Import) Start() (Import, bool) {
	if i.State != Awaiting {
		return i, false
	}
	i.State = Queued
	i.Version++
	return i, true
}

// Advance returns the import as it is when everything up to p is stored; false when it is not on its way, for example because
// it was cancelled, or is further than p already.
func (i Import) Advance(p Progress) (Import, bool) {
	if i.State != Queued && i.State != Running || p.Read < i.Read || p.Lines < i.Lines {
		return i, false
	}
	if len(p.Faults) > MaxImportFaults {
		p.Faults = p.Faults[:MaxImportFaults]
	}
	i.State, i.Progress = Running, p
	i.Version++
	return i, true
}

// Finish ends an import of which everything is stored; false when it is not on its way.
func (i Import) Finish(at time.Time) (Import, bool) {
	if i.State != Queued && i.State != Running {
		return i, false
	}
	return i.end(Done, "", at), true
}

// Fail ends an import that cannot go on, and says why, for people; false when it is not on its way.
func (i Import) Fail(message string, at time.Time) (Import, bool) {
	if i.State != Queued && i.State != Running {
		return i, false
	}
	return i.end(Failed, message, at), true
}

// Cancel ends an import, wherever it stands; what was imported stays. False when it has ended.
func (i Import) Cancel(at time.Time) (Import, bool) {
	if i.State.Ended() {
		return i, false
	}
	return i.end(Cancelled, "", at), true
}

func (i Import) end(state TransferState, message string, at time.Time) Import {
	i.State, i.Message, i.EndedAt = state, message, at.UTC().Truncate(time.Millisecond)
	i.Version++
	return i
}

// Advance returns the export as it is when so many items are written; false when it is not on its way, or further already.
func (e Export) Advance(items int) (Export, bool) {
	if e.State.Ended() || items < e.Items {
		return e, false
	}
	e.State, e.Items = Running, items
	e.Version++
	return e, true
}

// Finish ends an export whose file is complete; false when it is not on its way.
func (e Export) Finish(items int, bytes int64, at time.Time) (Export, bool) {
	if e.State.Ended() {
		return e, false
	}
	e.Items, e.Bytes = items, bytes
	return e.end(Done, "", at), true
}

// Fail ends an export that cannot go on, and says why, for people; false when it is not on its way.
func (e Export) Fail(message string, at time.Time) (Export, bool) {
	if e.State.Ended() {
		return e, false
	}
	return e.end(Failed, message, at), true
}

func (e Export) end(state TransferState, message string, at time.Time) Export {
	e.State, e.Message, e.EndedAt = state, message, at.UTC().Truncate(time.Millisecond)
	e.Version++
	return e
}
