// Package migrations creates and prunes the two databases. It embeds their schemas, one folder for each service.
package migrations

import "embed"

// FS holds order/*.sql and stock/*.sql in goose's format.
//
//go:embed order/*.sql stock/*.sql
var FS embed.FS
