package mysqldb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// dsnOptions are the options that a DSN may have: how to reach the server, and how to authenticate. Open always sets
// parseTime and interpolateParams.
var dsnOptions = []string{
	"allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords", "allowOldPasswords",
	"checkConnLiveness", "compress", "connectionAttributes", "interpolateParams", "maxAllowedPacket", "parseTime",
	"readTimeout", "serverPubKey", "timeout", "tls", "writeTimeout",
}

// ParseDSN reads a DSN in the driver's form: user:password@tcp(host:port)/database, or
// user:password@group(host:port,host:port,host:port)/database for the members of a group, whose primary is used. It
// refuses every option that could change the meaning of statements or results: clientFoundRows counts unchanged rows as
// changed, sql_mode and other system variables change stored values, loc and charset change how values are read. The
// error never quotes the DSN, which holds the password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	slash := strings.LastIndexByte(dsn, '/') // the database and its options follow, as the driver reads it
	if err != nil || slash < 0 {
		return nil, errors.New("read DSN: want user:password@tcp(host:port)/database, " +
			"or group(host:port,…) in place of tcp(host:port)")
	}
	if _, err := Addrs(cfg); err != nil {
		return nil, err
	}
	_, options, _ := strings.Cut(dsn[slash:], "?")
	for option := range strings.SplitSeq(options, "&") {
		name, _, _ := strings.Cut(option, "=")
		if name != "" && !slices.Contains(dsnOptions, name) {
			return nil, fmt.Errorf("read DSN: option %q could change the meaning of statements or results: "+
				"leave it out (allowed: %s)", name, strings.Join(dsnOptions, ", "))
		}
	}
	return cfg, nil
}
