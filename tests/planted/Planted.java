import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.TreeMap;

/**
 * A program with known calls: its argument selects the calls, and its output states what happened.
 */
public final class Planted {
  static long sink;

  /** A call that moves the given number of bytes. */
  static int leaf(int bytes) {
    return bytes;
  }

  static void middle(int leaves) {
    for (int i = 0; i < leaves; i++) {
      sink += leaf(i);
    }
  }

  static void top(int middles, int leaves) {
    for (int i = 0; i < middles; i++) {
      middle(leaves);
    }
  }

  static void fails(int times) {
    if (times % 2 == 0) {
      throw new IllegalStateException("planted");
    }
  }

  static void recurse(int depth) {
    if (depth > 1) {
      recurse(depth - 1);
    }
  }

  static void pause(int ms) throws InterruptedException {
    Thread.sleep(ms);
  }

  static void spin(int ms) {
    long end = System.nanoTime() + ms * 1_000_000L;
    while (System.nanoTime() < end) {
      sink++;
    }
  }

  static void mixed() throws InterruptedException {
    spin(20);
    pause(60);
  }

  /** Work that one thread submits and another thread executes. */
  static final class Job extends Thread {
    Job() {}

    @Override
    public void run() {
      middle(3);
    }
  }

  static Job submit() {
    return new Job();
  }

  /**
   * Makes the calls whose counts the tests know. {@code waves} times, four concurrent threads call
   * {@code top}, which makes 1, 2, 3 and 4 calls of {@code middle}. Each of these makes ten calls
   * of {@code leaf}. Then the calling thread makes one call of {@code named} and ten calls of
   * {@code fails}, of which five throw.
   */
  static void count(int waves) throws InterruptedException {
    for (int wave = 0; wave < waves; wave++) {
      Thread[] threads = new Thread[4];
      for (int i = 0; i < threads.length; i++) {
        int middles = i + 1;
        threads[i] = new Thread(() -> top(middles, 10));
        threads[i].start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    named("file-" + 7);
    for (int i = 0; i < 10; i++) {
      try {
        fails(i);
      } catch (IllegalStateException planted) {
        sink++;
      }
    }
  }

  static void named(String file) {
    sink += file.length();
  }

  static void handOver() throws InterruptedException {
    Job[] jobs = {submit(), submit()};
    for (Job job : jobs) {
      job.start();
      job.join();
    }
  }

  /** Submits {@code count} jobs that never run, so no thread takes their calling contexts. */
  static void waiting(int count) {
    Job[] jobs = new Job[count];
    for (int i = 0; i < count; i++) {
      jobs[i] = submit();
    }
    sink += jobs.length;
  }

  /**
   * Makes 2 + 4 + 8 + ... + 2^{@code depth} calls of {@code left} and {@code right}, each with a
   * different call path.
   */
  static void fork(int depth) {
    if (depth > 0) {
      left(depth - 1);
      right(depth - 1);
    }
  }

  static void left(int depth) {
    fork(depth);
  }

  static void right(int depth) {
    fork(depth);
  }

  /**
   * Returns the bytes that this thread allocates in a million calls of {@code leaf}, after a
   * warm-up.
   */
  static long allocated() {
    ThreadMXBean bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long id = Thread.currentThread().getId();
    for (int i = 0; i < 20; i++) {
      middle(100_000);
    }
    bean.getThreadAllocatedBytes(id);
    long before = bean.getThreadAllocatedBytes(id);
    for (int i = 0; i < 10; i++) {
      middle(100_000);
    }
    return bean.getThreadAllocatedBytes(id) - before;
  }

  /**
   * Returns two times in ns as text: the time of a call of {@code leaf}, and the time of two
   * readings of the clock. Each is the smallest of twelve means over two million repetitions.
   */
  static String speed() {
    double call = Double.MAX_VALUE;
    double clock = Double.MAX_VALUE;
    int calls = 2_000_000;
    for (int round = 0; round < 12; round++) {
      long start = System.nanoTime();
      middle(calls);
      long between = System.nanoTime();
      for (int i = 0; i < calls; i++) {
        sink += System.nanoTime();
        sink ^= System.nanoTime();
      }
      call = Math.min(call, (double) (between - start) / calls);
      clock = Math.min(clock, (double) (System.nanoTime() - between) / calls);
    }
    return call + " " + clock;
  }

  /** Prints {@link #speed} repeatedly until the file exists. */
  static void speeds(Path file) {
    while (!Files.exists(file)) {
      System.out.println(speed());
    }
  }

  static void until(Path file) throws IOException, InterruptedException {
    while (!Files.exists(file)) {
      top(1, 10);
      Thread.sleep(1);
    }
  }

  /**
   * Makes calls of threads that end, and five slow calls of 50 ms. Then it waits until the file
   * exists and makes twenty quick calls of 1 ms.
   */
  static void warmUp(Path file) throws InterruptedException {
    count(2);
    for (int i = 0; i < 5; i++) {
      pause(50);
    }
    while (!Files.exists(file)) {
      Thread.sleep(1);
    }
    for (int i = 0; i < 20; i++) {
      pause(1);
    }
  }

  /** An object whose toString() blocks while another thread holds its lock. */
  static final class Busy {
    @Override
    public synchronized String toString() {
      return "busy";
    }
  }

  static void with(Object busy) {
    sink += busy.hashCode();
  }

  /**
   * Makes calls whose argument this thread keeps locked. After the first call it pauses for 500 ms,
   * in which the agent takes a snapshot.
   */
  static void locked(int calls) throws InterruptedException {
    Busy busy = new Busy();
    synchronized (busy) {
      with(busy);
      Thread.sleep(500);
      for (int i = 1; i < calls; i++) {
        with(busy);
      }
    }
  }

  /** A random walk through call paths that counts its calls by path. */
  static final class Walk {
    final Random random;
    final TreeMap<String, int[]> countsByPath = new TreeMap<>();
    int left;

    Walk(long seed, int calls) {
      random = new Random(seed);
      left = calls;
    }

    /** Counts a call of the path. With a probability of 1/50, the call fails. */
    void on(String path) {
      left--;
      int[] counts = countsByPath.computeIfAbsent(path, absent -> new int[2]);
      counts[0]++;
      if (random.nextInt(50) == 0) {
        counts[1]++;
        throw new IllegalStateException("planted");
      }
    }

    /** Makes random calls below a path. The greater the depth, the fewer calls are made. */
    void below(String path, int depth) {
      while (left > 0 && random.nextInt(2000) > Math.max(0, depth - 1) * 500) {
        try {
          if (random.nextBoolean()) {
            north(this, path, depth + 1);
          } else {
            south(this, path, depth + 1);
          }
        } catch (IllegalStateException planted) {
          sink++;
        }
      }
    }
  }

  static void north(Walk walk, String above, int depth) {
    String path = above + "/north";
    walk.below(path, depth);
    walk.on(path);
  }

  static void south(Walk walk, String above, int depth) {
    String path = above + "/south";
    walk.on(path);
    walk.below(path, depth);
  }

  /**
   * Runs random walks one after the other, each in a new thread, with the seeds 1, 2, and so on.
   * Prints for every path of each walk the numbers of its calls and failures.
   */
  static void wander(int walks, int calls) throws InterruptedException {
    for (int seed = 1; seed <= walks; seed++) {
      Walk walk = new Walk(seed, calls);
      Thread thread =
          new Thread(
              () -> {
                while (walk.left > 0) {
                  walk.below("", 0);
                }
              });
      thread.start();
      thread.join();
      walk.countsByPath.forEach(
          (path, count) -> System.out.println(path + " " + count[0] + " " + count[1]));
    }
  }

  /** Makes the calls that the first argument selects. */
  public static void main(String[] words) throws Exception {
    switch (words[0]) {
      case "count" -> count(Integer.parseInt(words[1]));
      case "recurse" -> recurse(Integer.parseInt(words[1]));
      case "handover" -> handOver();
      case "waiting" -> waiting(Integer.parseInt(words[1]));
      case "fork" -> fork(Integer.parseInt(words[1]));
      case "wander" -> wander(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
      case "locked" -> locked(Integer.parseInt(words[1]));
      case "mixed" -> mixed();
      case "allocated" -> System.out.println(allocated());
      case "speed" -> System.out.println(speed());
      case "speeds" -> speeds(Path.of(words[1]));
      case "until" -> until(Path.of(words[1]));
      case "warm-up" -> warmUp(Path.of(words[1]));
      default -> throw new IllegalArgumentException(words[0]);
    }
    System.out.println("done");
  }
}
