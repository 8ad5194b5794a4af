//go:build !unix

package fire

// raiseOpenFiles does nothing: there is no limit of open files to raise.
func raiseOpenFiles(Config) {}
