// Package procgroup starts a command as the leader of a new process group, and signals the
// whole group by the leader's process id. A Ctrl-C at the terminal does not reach such a group.
//
// It works on Unix. On Windows, [Interrupt] and [Terminate] send a Ctrl-Break, and [Pause] and
// [Resume] return errors.ErrUnsupported.
package procgroup
