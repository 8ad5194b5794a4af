// Package migrations holds the schemas of the two databases, one folder for
// each service, embedded so that the migrate command carries them.
package migrations

import "embed"

// FS holds order/*.sql and stock/*.sql in goose's format.
//
//go:embed order/*.sql stock/*.sql
var FS embed.FS
