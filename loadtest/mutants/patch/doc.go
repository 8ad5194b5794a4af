// Package patch builds the services with their mutants. Each mutant is a patch
// in the folder patches: a readable diff against the product, which names the
// published fault that it brings back and what must catch it. The product holds
// none of this.
//
// One build holds all mutants. A mutant is on if the environment variable MUTANT,
// a list separated by commas, has its name, which is that of its file. The patches
// call mutant(name), a function that the overlay adds to each package that they
// change.
package patch
