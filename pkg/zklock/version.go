package zklock

// Version is the version of this package, by Semantic Versioning. A copy shows by it which fixes of CHANGES.md it has.
const Version = "0.3.0"
