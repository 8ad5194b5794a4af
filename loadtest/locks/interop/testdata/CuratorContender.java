import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/**
 * The Java side of the wire compatibility test: threads that contend with Apache Curator's recipes
 * for the lock that Go goroutines contend for, and do under it exactly what the Go side does.
 *
 * Argument: servers. Each line of its input is either a job, with tabs between its parts: name, Curator's class,
 * lock path, work path, threads, rounds of each thread, leases; or the name of a job that is to begin. Jobs run side
 * by side. Each line of its output begins with the name of a job and a space: "READY" follows, when the job has a
 * session, and at the end "DONE acquired=n overlapped=n", after a line "VIOLATION ..." for each rule seen broken. It
 * ends with its input.
 */
public final class CuratorContender {
    private static final byte[] EMPTY = new byte[0];

    private final String name;
    private final CountDownLatch begin = new CountDownLatch(1);
    private final CuratorFramework client;
    private final String lockPath;
    private final String workPath;
    private final int leases;
    private final AtomicLong acquired = new AtomicLong();
    private final AtomicLong overlapped = new AtomicLong();

    private CuratorContender(String name, CuratorFramework client, String lockPath, String workPath, int leases) {
        this.name = name;
        this.client = client;
        this.lockPath = lockPath;
        this.workPath = workPath;
        this.leases = leases;
    }

    private interface Turn {
        void run(int thread, int round) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Map<String, CuratorContender> jobs = new HashMap<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] job = line.split("\t");
            if (job.length == 1) {
                jobs.get(job[0]).begin.countDown();
                continue;
            }
            CuratorFramework client =
                    CuratorFrameworkFactory.newClient(args[0], 20_000, 10_000, new ExponentialBackoffRetry(100, 3));
            CuratorContender contender =
                    new CuratorContender(job[0], client, job[2], job[3], Integer.parseInt(job[6]));
            jobs.put(job[0], contender);
            new Thread(() -> contender.run(job[1], Integer.parseInt(job[4]), Integer.parseInt(job[5]))).start();
        }
        System.exit(0);
    }

    private void run(String kind, int threads, int rounds) {
        try {
            client.start();
            if (!client.blockUntilConnected(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException("no connection");
            }
            Turn turn = turn(kind);
            say("READY");
            begin.await();
            work(turn, threads, rounds);
        } catch (Exception e) {
            violation("exception " + e);
        }
        say("DONE acquired=" + acquired + " overlapped=" + overlapped);
        client.close();
    }

    private void say(String what) {
        System.out.println(name + " " + what);
    }

    private Turn turn(String kind) {
        switch (kind) {
            case "InterProcessMutex":
                return (thread, round) -> exclusively(new InterProcessMutex(client, lockPath));
            case "InterProcessMutex, reentered":
                return (thread, round) -> twice(new InterProcessMutex(client, lockPath));
            case "InterProcessSemaphoreMutex":
                return (thread, round) -> exclusively(new InterProcessSemaphoreMutex(client, lockPath));
            case "InterProcessMultiLock":
                return (thread, round) -> exclusively(
                        new InterProcessMultiLock(client, Arrays.asList(lockPath + "/a", lockPath + "/b")), "/a", "/b");
            case "InterProcessReadWriteLock":
                return (thread, round) -> {
                    InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, lockPath);
                    if ((thread + round) % 4 == 0) {
                        write(lock.writeLock());
                    } else {
                        read(lock.readLock());
                    }
                };
            case "InterProcessSemaphoreV2":
                return (thread, round) -> lease(new InterProcessSemaphoreV2(client, lockPath, leases));
            default:
                throw new IllegalArgumentException("unknown kind " + kind);
        }
    }

    private void work(Turn turn, int threads, int rounds) throws Exception {
        CountDownLatch done = new CountDownLatch(threads);
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int thread = i;
            Thread t = new Thread(() -> {
                try {
                    for (int round = 0; round < rounds; round++) {
                        turn.run(thread, round);
                        acquired.incrementAndGet();
                    }
                } catch (Exception e) {
                    violation("exception " + e);
                } finally {
                    done.countDown();
                }
            });
            t.setDaemon(true);
            t.start();
            running.add(t);
        }
        done.await();
    }

    private void violation(String what) {
        say("VIOLATION " + what);
    }

    /** Increments the shared counter without compare-and-set: only the lock keeps increments apart. */
    private void exclusively(InterProcessLock lock) throws Exception {
        exclusively(lock, "/counter");
    }

    private void exclusively(InterProcessLock lock, String... counters) throws Exception {
        lock.acquire();
        try {
            for (String counter : counters) {
                increment(counter);
            }
        } finally {
            lock.release();
        }
    }

    /** Holds the lock until the outer of two acquisitions is released. */
    private void twice(InterProcessLock lock) throws Exception {
        lock.acquire();
        try {
            exclusively(lock);
            increment("/counter");
        } finally {
            lock.release();
        }
    }

    private void increment(String name) throws Exception {
        String counter = workPath + name;
        long value = Long.parseLong(new String(client.getData().forPath(counter)));
        client.setData().forPath(counter, Long.toString(value + 1).getBytes());
    }

    /** A writer sees no reader, and nobody changes what it wrote until it releases. */
    private void write(InterProcessLock lock) throws Exception {
        lock.acquire();
        try {
            int readers = client.getChildren().forPath(workPath + "/readers").size();
            if (readers != 0) {
                violation("a writer of Curator met " + readers + " readers");
            }
            String writer = client.create().withMode(CreateMode.EPHEMERAL).forPath(workPath + "/writer", EMPTY);
            increment("/counter");
            client.delete().forPath(writer);
        } finally {
            lock.release();
        }
    }

    /** A reader sees no writer, and the counter does not move while it reads. */
    private void read(InterProcessLock lock) throws Exception {
        lock.acquire();
        try {
            String me = client.create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                    .forPath(workPath + "/readers/r-", EMPTY);
            Stat before = new Stat();
            client.getData().storingStatIn(before).forPath(workPath + "/counter");
            if (client.checkExists().forPath(workPath + "/writer") != null) {
                violation("a reader of Curator met a writer");
            }
            if (client.getChildren().forPath(workPath + "/readers").size() > 1) {
                overlapped.incrementAndGet();
            }
            Thread.sleep(ThreadLocalRandom.current().nextInt(1, 4));
            Stat after = client.checkExists().forPath(workPath + "/counter");
            if (after.getMzxid() != before.getMzxid()) {
                violation("the counter moved under a reader of Curator");
            }
            client.delete().forPath(me);
        } finally {
            lock.release();
        }
    }

    /** A lease holder counts itself among the holders: never more than there are leases. */
    private void lease(InterProcessSemaphoreV2 semaphore) throws Exception {
        Lease lease = semaphore.acquire();
        try {
            String me = client.create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                    .forPath(workPath + "/holders/h-", EMPTY);
            int holders = client.getChildren().forPath(workPath + "/holders").size();
            if (holders > leases) {
                violation(holders + " holders of " + leases + " leases, seen by Curator");
            }
            if (holders == leases) {
                overlapped.incrementAndGet();
            }
            Thread.sleep(ThreadLocalRandom.current().nextInt(15, 25));
            client.delete().forPath(me);
        } finally {
            semaphore.returnLease(lease);
        }
    }
}
