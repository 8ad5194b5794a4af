// Package mutants proves that the checker can fail. It runs broken variants of the services, each under a cell of the
// fault matrix that exposes it, and demands that the invariant named beforehand catches it. It removes each layer of
// safety alone, and reports which other layer absorbs the loss. And it changes the input of the checker, by hand and
// many times at random (package changes); every change must be found.
package mutants
