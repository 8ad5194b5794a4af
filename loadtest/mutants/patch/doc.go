// Package patch builds the services with their mutants. Each mutant is a patch
// in the folder patches: a readable diff against the product, which names the
// published fault that it brings back and what must catch it. The product holds
// none of this.
//
// One build holds all mutants. Each is off until its name, that of its file,
// stands in the environment variable MUTANT, a list separated by commas: the
// patches ask mutant(name), a function that the overlay adds to each package
// that they change.
package patch
