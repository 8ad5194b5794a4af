// Package mutants proves that the checker can fail. It runs broken variants of
// the services, each under a cell of the fault matrix that exposes it, and
// demands that the invariant which was named beforehand catches it; removes
// each layer of safety alone, and says which other layer absorbs that; and
// changes the checker's input, which must be found as well: by hand, and many
// times at random (package changes).
package mutants
