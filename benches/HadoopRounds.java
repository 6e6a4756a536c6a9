import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.TestDFSIO;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.server.namenode.NNThroughputBenchmark;
import org.apache.hadoop.util.ToolRunner;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** Runs Hadoop's benchmarks, and plain loops with the same calls, one round per line of input. */
public final class HadoopRounds {
  /** Copies the log lines of a benchmark to the output, each with the prefix "said". */
  private static final class LogPrinter extends AppenderSkeleton {
    @Override
    protected void append(LoggingEvent event) {
      System.out.println("said " + event.getRenderedMessage());
    }

    @Override
    public void close() {}

    @Override
    public boolean requiresLayout() {
      return false;
    }
  }

  /**
   * Runs TestDFSIO's write loop without its status texts. Sleeps {@code pauseMs} before each file.
   * Prints the throughput in MiB per second; the sleeps do not count.
   */
  private static void write(int files, long bytes, int transfer, long pauseMs) throws Exception {
    FileSystem system = FileSystem.get(new Configuration());
    Path written = new Path("/written");
    byte[] buffer = new byte[transfer];
    for (int at = 0; at < transfer; at++) {
      buffer[at] = (byte) ('0' + at % 50);
    }
    long spent = 0;
    for (int file = 0; file < files; file++) {
      Thread.sleep(pauseMs);
      OutputStream out = system.create(new Path(written, "f" + file), true, transfer);
      long start = System.nanoTime();
      for (long left = bytes; left > 0; left -= transfer) {
        out.write(buffer, 0, (int) Math.min(transfer, left));
      }
      out.close();
      spent += System.nanoTime() - start;
    }
    system.delete(written, true);
    System.out.println("said plain mb/sec: " + files * bytes / 1048576.0 / (spent / 1e9));
  }

  /**
   * Runs TestDFSIO's read loop without its status texts. Sleeps {@code pauseMs} before each file.
   * Prints the throughput in MiB per second; the sleeps do not count.
   */
  private static void read(int files, int transfer, long pauseMs) throws Exception {
    FileSystem system = FileSystem.get(new Configuration());
    byte[] buffer = new byte[transfer];
    long bytes = 0;
    long spent = 0;
    for (int file = 0; file < files; file++) {
      Thread.sleep(pauseMs);
      FSDataInputStream in = system.open(new Path("/dfsio/io_data/test_io_" + file));
      long start = System.nanoTime();
      for (int got = in.read(buffer, 0, transfer); got >= 0; got = in.read(buffer, 0, transfer)) {
        bytes += got;
      }
      in.close();
      spent += System.nanoTime() - start;
    }
    System.out.println("said plain mb/sec: " + bytes / 1048576.0 / (spent / 1e9));
  }

  /**
   * Opens empty files. If {@code calls} is true, makes only the call to the NameNode that
   * NNThroughputBenchmark makes, else opens and closes the files as an application does.
   */
  private static void open(int threads, int each, boolean calls) throws Exception {
    DistributedFileSystem system = (DistributedFileSystem) FileSystem.get(new Configuration());
    ClientProtocol namenode = system.getClient().getNamenode();
    boolean made = system.exists(new Path("/plain"));
    for (int file = 0; file < each && !made; file++) {
      system.create(new Path("/plain/" + file)).close();
    }
    Work call = (thread, file) -> namenode.getBlockLocations("/plain/" + file, 0L, 1 << 20);
    Work whole = (thread, file) -> system.open(new Path("/plain/" + file)).close();
    timed(threads, each, calls ? call : whole);
  }

  /** Creates empty files by the Java client, as an application does. */
  private static void create(int threads, int each) throws Exception {
    FileSystem system = FileSystem.get(new Configuration());
    Path made = new Path("/created");
    for (int thread = 0; thread < threads; thread++) {
      system.mkdirs(new Path(made, "c" + thread));
    }
    timed(
        threads,
        each,
        (thread, file) -> system.create(new Path(made, "c" + thread + "/f" + file), false).close());
    system.delete(made, true);
  }

  /** The work of one thread on one file. */
  private interface Work {
    void on(int thread, int file) throws java.io.IOException;
  }

  /**
   * Runs the work on {@code each} files in each of {@code threads} concurrent threads, and prints
   * the rate.
   */
  private static void timed(int threads, int each, Work work) throws InterruptedException {
    Thread[] working = new Thread[threads];
    long start = System.nanoTime();
    for (int number = 0; number < threads; number++) {
      int thread = number;
      working[thread] =
          new Thread(
              () -> {
                try {
                  for (int file = 0; file < each; file++) {
                    work.on(thread, file);
                  }
                } catch (java.io.IOException failed) {
                  throw new java.io.UncheckedIOException(failed);
                }
              });
      working[thread].start();
    }
    for (Thread thread : working) {
      thread.join();
    }
    double spent = (System.nanoTime() - start) / 1e9;
    System.out.println("said plain ops per sec: " + threads * each / spent);
  }

  /**
   * Reads lines such as "dfsio -write -nrFiles 4 ..." or "namenode -op create ..."; prints "done
   * CODE" after each.
   *
   * <p>When MapReduce runs in one process, it leaves thread pools whose threads keep the Java
   * machine alive. The program therefore exits explicitly, both after the end of its input and
   * after an error.
   */
  public static void main(String[] words) {
    try {
      rounds();
      System.exit(0);
    } catch (Throwable failed) {
      failed.printStackTrace();
      System.exit(1);
    }
  }

  private static void rounds() throws Exception {
    for (Class<?> benchmark : new Class<?>[] {TestDFSIO.class, NNThroughputBenchmark.class}) {
      Logger logger = Logger.getLogger(benchmark);
      logger.setLevel(Level.INFO);
      logger.setAdditivity(false);
      logger.addAppender(new LogPrinter());
    }
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] round = line.split(" ");
      String[] rest = java.util.Arrays.copyOfRange(round, 1, round.length);
      Configuration conf = new Configuration();
      int code = 0;
      if (round[0].equals("dfsio")) {
        code = ToolRunner.run(conf, new TestDFSIO(), rest);
      } else if (round[0].equals("write")) {
        write(
            Integer.parseInt(rest[0]),
            Long.parseLong(rest[1]),
            Integer.parseInt(rest[2]),
            Long.parseLong(rest[3]));
      } else if (round[0].equals("read")) {
        read(Integer.parseInt(rest[0]), Integer.parseInt(rest[1]), Long.parseLong(rest[2]));
      } else if (round[0].equals("create")) {
        create(Integer.parseInt(rest[0]), Integer.parseInt(rest[1]));
      } else if (round[0].equals("open") || round[0].equals("calls")) {
        boolean calls = round[0].equals("calls");
        open(Integer.parseInt(rest[0]), Integer.parseInt(rest[1]), calls);
      } else {
        // The benchmark's main thread polls its workers without a pause. The processor time of this
        // thread is printed, so that it can be subtracted.
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        long worked = clock.getCurrentThreadCpuTime();
        NNThroughputBenchmark.runBenchmark(conf, rest);
        worked = clock.getCurrentThreadCpuTime() - worked;
        System.out.println("said main thread seconds: " + worked / 1e9);
      }
      System.out.println("done " + code);
    }
  }
}
