package zklock

type cohort struct{}
