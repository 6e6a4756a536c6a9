package dfslab.agent.output;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Processor time and run-queue wait time of this process's threads, in ns.
 *
 * <p>Linux reports both times for every living thread; the wait time includes throttling by control
 * groups. When a thread has ended, the last values that were read for it remain in the sums. On
 * systems other than Linux, both times stay zero. The JVM's compiler threads are excluded, because
 * no call waits for them.
 */
final class Processor {
  private static final Pattern COMPILER = Pattern.compile("^C[12] Compiler");
  private static final Path THREADS = Path.of("/proc/self/task");
  private Map<String, long[]> living = new HashMap<>();
  private long endedRanNs;
  private long endedStarvedNs;

  long ranNs() {
    return endedRanNs + living.values().stream().mapToLong(one -> one[0]).sum();
  }

  long starvedNs() {
    return endedStarvedNs + living.values().stream().mapToLong(one -> one[1]).sum();
  }

  /** Reads the current values of all threads. */
  void look() {
    Map<String, long[]> found = new HashMap<>();
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
      for (Path thread : threads) {
        long[] times = times(thread.resolve("schedstat"));
        if (times != null && !COMPILER.matcher(name(thread)).find()) {
          found.put(thread.getFileName().toString(), times);
        }
      }
    } catch (IOException | UncheckedIOException unknown) {
      // The operating system is not Linux, or its kernel does not report these values. The values
      // that were read last are kept.
      return;
    }
    living.forEach(
        (number, before) -> {
          long[] now = found.get(number);
          // A value that has decreased belongs to a new thread with a reused id.
          if (now == null || now[0] < before[0] || now[1] < before[1]) {
            endedRanNs += before[0];
            endedStarvedNs += before[1];
          }
        });
    living = found;
  }

  private static String name(Path thread) {
    try {
      return Files.readString(thread.resolve("comm"));
    } catch (IOException ended) {
      return "";
    }
  }

  private static long[] times(Path file) {
    try {
      String[] words = Files.readString(file).strip().split(" ");
      return new long[] {Long.parseLong(words[0]), Long.parseLong(words[1])};
    } catch (IOException | RuntimeException ended) {
      return null;
    }
  }
}
