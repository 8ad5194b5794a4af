// Package loadtest holds no code; it describes its folders. A run goes through three of them:
//
//	h, err := fire.Run(ctx, fire.Config{Target: target})                           // send orders
//	err = h.Save("out/history.jsonl")                                              // package history
//	verdict, err := verify.Run(ctx, verify.Config{Databases: databases, History: h}) // settle, read, judge
//	err = history.SaveJSON("out/verdict.json", verdict)
//	err = verdict.Write(os.Stdout, false)
//
// fire and verify import history and not each other. Package trial is the engine of every experiment: it does these
// steps, with acts that break something in the middle, from the table of what can be broken. The rows of package
// tables, custom loads and the rows of ladder are values of trial.Experiment. trial.Suite runs them, also while others
// break things by a page, and the rows of ladder by turns; locks measures locks without orders. Package system runs
// real servers and services for all of them, and if they shall break, with a proxy on every connection and fault points
// in the services.
package loadtest
