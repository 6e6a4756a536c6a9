import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** A Java client of one thread that does parts of a mixed load as told, and says their seconds. */
public final class HdfsMix {
  private static final int BUFFER_BYTES = 64 * 1024;
  private static final int THREADS = 64;

  /** Files written, each on its disks before it is closed. */
  static void write(DistributedFileSystem system, int files, long bytes) throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    for (int file = 0; file < files; file++) {
      Path path = new Path("/mix/data-" + file);
      try (OutputStream out = system.createFile(path).overwrite(true).syncBlock().build()) {
        for (long left = bytes; left > 0; left -= buffer.length) {
          out.write(buffer, 0, (int) Math.min(left, buffer.length));
        }
      }
    }
  }

  /** Small files as anybody writes them. */
  static void small(FileSystem system, int files, int bytes) throws IOException {
    byte[] buffer = new byte[bytes];
    for (int file = 0; file < files; file++) {
      try (OutputStream out = system.create(new Path("/mix/small-" + file), true)) {
        out.write(buffer);
      }
    }
  }

  /** The same files read. */
  static void read(FileSystem system, int files) throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    for (int file = 0; file < files; file++) {
      try (FSDataInputStream in = system.open(new Path("/mix/data-" + file))) {
        while (in.read(buffer) >= 0) {
          // Only the reading counts.
        }
      }
    }
  }

  /** Empty files made, looked at, renamed and deleted. */
  static void metadata(FileSystem system, int files) throws IOException {
    for (int file = 0; file < files; file++) {
      Path path = new Path("/mix/empty-" + file);
      Path other = new Path("/mix/other-" + file);
      system.create(path).close();
      system.getFileStatus(path);
      system.rename(path, other);
      system.delete(other, false);
    }
  }

  /** Files read whole by sessions, each with a file system of its own, that come as they come. */
  static void sessions(Configuration configuration, String[] told) throws Exception {
    int count = Integer.parseInt(told[1]);
    double perSecond = Double.parseDouble(told[2]);
    double sigma = Double.parseDouble(told[3]);
    double requests = Double.parseDouble(told[4]);
    long pauseMs = Math.round(1e3 * Double.parseDouble(told[5]));
    int files = Integer.parseInt(told[6]);
    Random random = new Random(Long.parseLong(told[7]));
    ScheduledExecutorService clock = Executors.newScheduledThreadPool(THREADS);
    List<Future<Void>> all = new ArrayList<>();
    double atS = 0;
    for (int session = 0; session < count; session++) {
      // A lognormal time whose mean is that of the rate.
      atS += Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2) / perSecond;
      int[] wanted = new int[1 + (int) (Math.log1p(-random.nextDouble()) / stop(requests))];
      Arrays.setAll(wanted, request -> random.nextInt(files));
      Callable<Void> work = () -> session(configuration, wanted, pauseMs);
      all.add(clock.schedule(work, Math.round(1e6 * atS), TimeUnit.MICROSECONDS));
    }
    for (Future<Void> one : all) {
      one.get();
    }
    clock.shutdown();
  }

  /** Of a geometric number with that mean: the logarithm of the chance that it goes on. */
  private static double stop(double mean) {
    return mean > 1 ? Math.log(1 - 1 / mean) : Double.NEGATIVE_INFINITY;
  }

  private static Void session(Configuration configuration, int[] wanted, long pauseMs)
      throws Exception {
    byte[] buffer = new byte[BUFFER_BYTES];
    try (FileSystem system = FileSystem.newInstance(configuration)) {
      for (int file : wanted) {
        try (FSDataInputStream in = system.open(new Path("/mix/data-" + file))) {
          while (in.read(buffer) >= 0) {
            // Only the reading counts.
          }
        }
        Thread.sleep(pauseMs);
      }
    }
    return null;
  }

  /**
   * Lines like "write 8 1048576", "read 8", "small 20 4096", "metadata 100" or "sessions COUNT RATE
   * SIGMA REQUESTS PAUSE FILES SEED" in (times in seconds), seconds out; words are settings of the
   * client.
   */
  public static void main(String[] words) throws Exception {
    Configuration configuration = new Configuration();
    for (String word : words) {
      String[] setting = word.split("=", 2);
      configuration.set(setting[0], setting[1]);
    }
    DistributedFileSystem system = (DistributedFileSystem) FileSystem.get(configuration);
    system.mkdirs(new Path("/mix"));
    BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
    for (String line = told.readLine(); line != null; line = told.readLine()) {
      String[] part = line.split(" ");
      int files = Integer.parseInt(part[1]);
      long start = System.nanoTime();
      switch (part[0]) {
        case "write" -> write(system, files, Long.parseLong(part[2]));
        case "read" -> read(system, files);
        case "small" -> small(system, files, Integer.parseInt(part[2]));
        case "sessions" -> sessions(configuration, part);
        case "metadata" -> metadata(system, files);
        default -> throw new IllegalArgumentException(line);
      }
      System.out.println((System.nanoTime() - start) / 1e9);
    }
  }
}
