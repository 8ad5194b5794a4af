// Command ladder measures the deduction strategies beside one another.
package main

import "orderstock/pkg/command"

func main() { command.Main(newCommand()) }
