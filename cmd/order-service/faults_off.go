//go:build !faults

package main

import (
	"database/sql/driver"
	"net/http"

	"orderstock/order-service/order"
)

// faults puts nothing between the service and its ports, except in a build with the tag "faults".
var faults struct {
	connector func(driver.Connector) driver.Connector
	noFaults
}

type noFaults struct{}

func (noFaults) spread() bool                        { return false }
func (noFaults) store(s order.Store) order.Store     { return s }
func (noFaults) stock(s order.Stock) order.Stock     { return s }
func (noFaults) flags(f order.Flags) order.Flags     { return f }
func (noFaults) handler(h http.Handler) http.Handler { return h }
