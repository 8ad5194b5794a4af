"""Threads that contend with kazoo's Lock for the lock that Go goroutines contend for.

Arguments: servers, lock path, work path, threads, rounds of each thread, then further names of
contenders for extra_lock_patterns. It prints READY, waits for a line, works, and prints
"DONE acquired=n overlapped=0", after a line "VIOLATION ..." for each error.
"""

import sys
import threading

from kazoo.client import KazooClient

servers, lock_path, work_path, threads, rounds = sys.argv[1:6]
patterns = sys.argv[6:]
client = KazooClient(servers, timeout=20)
client.start(timeout=20)
acquired = []


def work():
    try:
        for _ in range(int(rounds)):
            with client.Lock(lock_path, "kazoo", extra_lock_patterns=patterns):
                # Without compare-and-set: only the lock keeps increments apart.
                value, _ = client.get(work_path + "/counter")
                client.set(work_path + "/counter", b"%d" % (int(value) + 1))
            acquired.append(1)
    except Exception as e:
        print("VIOLATION exception %r" % e, flush=True)


print("READY", flush=True)
if not sys.stdin.readline():
    sys.exit(2)
workers = [threading.Thread(target=work, daemon=True) for _ in range(int(threads))]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("DONE acquired=%d overlapped=0" % len(acquired), flush=True)
client.stop()
