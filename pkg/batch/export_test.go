package batch

// WithMaxQueue bounds the calls that wait for a batch.
func WithMaxQueue(n int) Option { return func(o *options) { o.maxQueue = n } }
