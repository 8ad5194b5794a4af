package contract

import "github.com/go-json-experiment/json"

// Strict reads an answer as the documents describe it: it rejects fields that they do not name. Names in other case and
// duplicate names are rejected by the package json itself.
var Strict = json.RejectUnknownMembers(true)
