package deduct

// Waiting returns how many operations wait for the next group.
func Waiting(s Strategy) int { return s.(*grouped).calls.Waiting() }
