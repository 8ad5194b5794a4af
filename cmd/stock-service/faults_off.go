//go:build !faults

package main

import (
	"database/sql/driver"
	"net/http"

	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
)

// faults puts nothing between the service and its ports, except in a build with the tag "faults".
var faults struct {
	connector func(driver.Connector) driver.Connector
	lock      func(deduct.Acquire) deduct.Acquire
	noFaults
}

type noFaults struct{}

func (noFaults) deducter(name string, cfg compared.Config) (deduct.Strategy, error) {
	return compared.New(name, cfg)
}
func (noFaults) flags(f stock.Flags) stock.Flags     { return f }
func (noFaults) ledger(l stock.Ledger) stock.Ledger  { return l }
func (noFaults) handler(h http.Handler) http.Handler { return h }
