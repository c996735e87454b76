package httpapi

// empty is whether nobody has room.
func (a *answers) empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.callers) == 0 && a.all.TryAcquire(a.most) && func() bool { a.all.Release(a.most); return true }()
}
