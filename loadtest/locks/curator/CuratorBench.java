import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.PredicateResults;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * One process of threads that acquire and release Curator's InterProcessMutex: the Java twin of
 * package locks' own worker, with the same protocol.
 *
 * Arguments: servers, first path's prefix, number of paths, number of the first contender, threads. It
 * prints a record that it is connected; for each line "start-ms warmup-ms window-ms" (start: Unix time) that it
 * reads it runs one window and prints a record of it.
 */
public final class CuratorBench {
    /** Each look at the queue is one call of getsTheLock: the first of an acquisition is its own, the rest are wake-ups. */
    private static final class CountingDriver extends StandardLockInternalsDriver {
        final AtomicLong looks = new AtomicLong();

        @Override
        public PredicateResults getsTheLock(CuratorFramework client, List<String> children, String node, int maxLeases)
                throws Exception {
            looks.incrementAndGet();
            return super.getsTheLock(client, children, node, maxLeases);
        }
    }

    private static final class Contender extends Thread {
        private final InterProcessMutex mutex;
        private final long begin;
        private final long end;
        private final long[] waits;
        private int count;
        private long acquired;
        private Exception failure;

        Contender(InterProcessMutex mutex, long begin, long end, int most) {
            this.mutex = mutex;
            this.begin = begin;
            this.end = end;
            this.waits = new long[most];
        }

        @Override
        public void run() {
            try {
                for (;;) {
                    long start = System.nanoTime();
                    if (start - end >= 0) {
                        return;
                    }
                    mutex.acquire();
                    long granted = System.nanoTime();
                    acquired++;
                    mutex.release();
                    long released = System.nanoTime();
                    if (released - begin >= 0 && released - end < 0 && count < waits.length) {
                        waits[count++] = granted - start;
                    }
                }
            } catch (Exception e) {
                failure = e;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        String prefix = args[1];
        int paths = Integer.parseInt(args[2]);
        int first = Integer.parseInt(args[3]);
        int threads = Integer.parseInt(args[4]);
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(args[0], 30_000, 10_000, new ExponentialBackoffRetry(100, 3));
        client.start();
        if (!client.blockUntilConnected(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + args[0]);
        }
        CountingDriver driver = new CountingDriver();
        System.out.println("{\"Phase\":\"connected\"}");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] command = line.trim().split(" ");
            long delay = Long.parseLong(command[0]) - System.currentTimeMillis();
            long warmup = Long.parseLong(command[1]);
            long window = Long.parseLong(command[2]);
            long start = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delay);
            long begin = start + warmup;
            long end = begin + window;
            List<Contender> contenders = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                InterProcessMutex mutex =
                        new InterProcessMutex(client, prefix + (first + i) % paths, driver);
                contenders.add(new Contender(mutex, begin, end, (int) (window / 50_000)));
            }
            TimeUnit.NANOSECONDS.sleep(Math.max(0, start - System.nanoTime()));
            long before = driver.looks.get();
            Duration used = ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO);
            contenders.forEach(Thread::start);
            StringBuilder waits = new StringBuilder();
            long acquired = 0;
            for (Contender contender : contenders) {
                contender.join();
                if (contender.failure != null) {
                    throw contender.failure;
                }
                for (int i = 0; i < contender.count; i++) {
                    waits.append(waits.length() == 0 ? "" : ",").append(contender.waits[i]);
                }
                acquired += contender.acquired;
            }
            used = ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).minus(used);
            System.out.println("{\"Phase\":\"measured\",\"Window\":{\"acquired\":" + acquired + ",\"wakeups\":" + (driver.looks.get() - before - acquired)
                    + ",\"processor_ns\":" + used.toNanos() + ",\"waits_ns\":[" + waits + "]}}");
        }
        client.close();
        System.exit(0);
    }
}
