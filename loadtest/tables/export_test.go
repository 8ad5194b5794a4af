package tables

import "time"

// Hurry ends every sale of the player that lasts for longer.
func (p *Player) Hurry(longest time.Duration) { p.longest = longest }
