package mysqldb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// dsnOptions are the options that a DSN may have: how to reach the server, and how to authenticate.
var dsnOptions = []string{
	"allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords", "allowOldPasswords",
	"checkConnLiveness", "compress", "connectionAttributes", "interpolateParams", "maxAllowedPacket", "parseTime",
	"readTimeout", "serverPubKey", "timeout", "tls", "writeTimeout",
}

// setByOpen are the options of dsnOptions that Open sets itself. One may be there with the value that it has anyway.
var setByOpen = []string{"interpolateParams=true", "parseTime=true", "readTimeout", "timeout", "writeTimeout"}

// ParseDSN reads a DSN in the driver's form: user:password@tcp(host:port)/database, or
// user:password@group(host:port,host:port,host:port)/database for the members of a group, whose primary is used. It
// refuses every option that could change the meaning of statements or results: clientFoundRows counts unchanged rows as
// changed, sql_mode and other system variables change stored values, loc and charset change how values are read. The
// error never quotes the DSN, which holds the password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil || !strings.Contains(dsn, "/") {
		return nil, errors.New("read DSN: want user:password@tcp(host:port)/database, " +
			"or group(host:port,…) in place of tcp(host:port)")
	}
	if _, err := Addrs(cfg); err != nil {
		return nil, err
	}
	for _, option := range optionsOf(dsn) {
		if name, _, _ := strings.Cut(option, "="); !slices.Contains(dsnOptions, name) {
			return nil, fmt.Errorf("read DSN: option %q could change the meaning of statements or results: "+
				"leave it out (allowed: %s)", name, strings.Join(dsnOptions, ", "))
		}
	}
	return cfg, nil
}

// checkEffect returns an error that names an option whose value Open would replace.
func checkEffect(dsn string) error {
	for _, option := range optionsOf(dsn) {
		name, _, _ := strings.Cut(option, "=")
		fixed := func(set string) bool { return set == name || strings.HasPrefix(set, name+"=") }
		if slices.ContainsFunc(setByOpen, fixed) && !slices.Contains(setByOpen, option) {
			return fmt.Errorf("read DSN: option %q has no effect, as its value is fixed: leave it out", name)
		}
	}
	return nil
}

// optionsOf returns the options of a DSN as name=value.
func optionsOf(dsn string) []string {
	slash := strings.LastIndexByte(dsn, '/') // the database and its options follow, as the driver reads it
	_, options, _ := strings.Cut(dsn[max(slash, 0):], "?")
	return slices.DeleteFunc(strings.Split(options, "&"), func(option string) bool { return option == "" })
}
