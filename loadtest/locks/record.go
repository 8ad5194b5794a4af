package locks

// Moment is a reading of a clock that all processes of a machine share, in nanoseconds: the monotonic one, where there
// is one.
type Moment int64

// Record is one step of an acquisition, or the count of a measured window.
type Record struct {
	Contender int
	Phase     Phase
	Token     string `json:",omitempty"`
	Call      Moment `json:",omitempty"` // before the call; of a loss: when the lock's context ended
	Return    Moment `json:",omitempty"`
	Err       string `json:",omitempty"`
	Window    *count `json:",omitempty"`
}

// Phase is how far an acquisition came.
type Phase string

// The phases.
const (
	Connected Phase = "connected"
	Granted   Phase = "granted"
	Settled   Phase = "settled"  // the holding will be long
	Failed    Phase = "failed"   // the acquisition ended without a grant
	Lost      Phase = "lost"     // the lock's context ended before the release
	Released  Phase = "released" // Err is set when the outcome is unknown
	Counted   Phase = "counted"  // the counter was raised; Err is set when the outcome is unknown
	Measured  Phase = "measured" // the window is over
)
