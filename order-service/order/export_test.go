package order

// Hash returns the hash by which requests are compared.
func Hash(r Request) [32]byte { return r.hash }
