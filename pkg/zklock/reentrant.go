package zklock

type holdKey struct{ path string }
type hold struct{}
