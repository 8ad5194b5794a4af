package tables

// Stop is a stop of the tour.
type Stop struct {
	Stop   int    `json:"stop"`
	Title  string `json:"title"`
	Says   string `json:"says"`
	Jargon string `json:"jargon"` // the field's term for it
	// Fault and Variant select the run to play.
	Fault   string `json:"fault"`
	Variant Side   `json:"variant"`
}

// Tour leads a newcomer through the protocol, stop by stop.
var Tour = []Stop{
	{
		1, "The shelf and the two buyers",
		"Two buyers read 7 left; both write 6. One ticket is sold twice.",
		"lost update", "A", Broken,
	},
	{
		2, "The lock",
		"Only one at a time may touch the shelf, and the lock is kept until the sale is written down.",
		"mutual exclusion", "A", Fixed,
	},
	{
		3, "The holder that sleeps",
		"The holder falls asleep, and the lock goes to the next. " +
			"When the first wakes up, its number is old, and its sale is refused.",
		"fencing token", "O", Fixed,
	},
	{
		4, "The answer that got lost",
		"The sale went through, but the answer did not arrive. " +
			"The order service asks again under the same number and gets the same answer.",
		"idempotency key", "E", Fixed,
	},
	{
		5, "The process that dies",
		"A process dies in the middle of a sale. " +
			"The ledger says how far it got, and another process finishes it.",
		"ledger and reconciler", "F", Fixed,
	},
	{
		6, "The crowd",
		"800 buyers come within two seconds. If each took the lock alone, most of the time would be spent passing it on. " +
			"The holder serves all who wait in one go.",
		"batching", "A", Here,
	},
}
