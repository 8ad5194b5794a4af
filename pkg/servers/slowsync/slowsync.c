// slowsync makes fsync and fdatasync of the program that it is loaded into slower: by as many
// milliseconds as SLOWSYNC_MS says.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int later(const char *name, int fd) {
	const char *text = getenv("SLOWSYNC_MS");
	long ms = text ? atol(text) : 0;
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&pause, NULL);
	int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	return sync(fd);
}

int fsync(int fd) { return later("fsync", fd); }
int fdatasync(int fd) { return later("fdatasync", fd); }
