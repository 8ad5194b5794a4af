package order

// Hash returns the hash for comparing requests.
func Hash(r Request) string { return r.hash }
