// Package patch builds the services with their mutants. Each mutant is a patch in the folder patches: a readable diff
// against the product that names the published fault it brings back and the invariant that must catch it. The product
// contains none of this.
//
// One build holds all mutants. A mutant is on if the environment variable MUTANT, a comma-separated list, contains its
// name, the patch's file name. The patches call mutant(name), a function that the overlay adds to each package that
// they change.
package patch
