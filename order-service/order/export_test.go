package order

// Hash returns the hash for comparing requests.
func Hash(r Request) [32]byte { return r.hash }
