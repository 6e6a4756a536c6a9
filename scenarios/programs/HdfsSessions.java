import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

/**
 * Sessions of read requests that arrive as an open workload. Each session opens a separate HDFS
 * client.
 *
 * <p>The workload has the form of AliCloud's (Ren and others 2017): sessions arrive at a rate of
 * {@code sessions_per_s} times {@code rate_factor}, the times between their arrivals are lognormal,
 * the number of requests of a session is geometric, and the sizes of reads are lognormal.
 *
 * <p>The arguments are settings of the form {@code key=value}. The program writes its files, warms
 * up and prints "ready". It begins the sessions when it reads a line from its standard input.
 */
public final class HdfsSessions {
  private static final int BUFFER_BYTES = 64 * 1024;
  private static final int THREADS = 64;
  private static final int MOST_FILES = 16;
  private static final long ALL_BYTES = 256L << 20;
  private static final double WARM_UP_PER_S = 5;

  private final Map<String, String> settings = new HashMap<>();
  private final Configuration configuration = new Configuration();
  private final String folder;
  private final long fileBytes;
  private final int files;
  private final Random random;

  private HdfsSessions(String[] words) {
    for (String word : words) {
      String[] setting = word.split("=", 2);
      settings.put(setting[0], setting[1]);
    }
    folder = settings.get("folder");
    fileBytes = (long) number("file_size");
    files = (int) Math.max(2, Math.min(MOST_FILES, ALL_BYTES / fileBytes));
    random = new Random((long) number("seed"));
  }

  private double number(String key) {
    return Double.parseDouble(settings.get(key));
  }

  private void write() throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    try (FileSystem system = FileSystem.newInstance(configuration)) {
      for (int file = 0; file < files; file++) {
        try (OutputStream out = system.create(path(file))) {
          for (long left = fileBytes; left > 0; left -= buffer.length) {
            out.write(buffer, 0, (int) Math.min(left, buffer.length));
          }
        }
      }
    }
  }

  private Path path(int file) {
    return new Path(folder + "/data-" + file);
  }

  /**
   * A request to read {@code bytes} bytes of a file from the offset {@code from}. If the setting
   * {@code read_size} is 0, it reads the whole file.
   */
  private record Request(int file, long from, long bytes) {}

  private Request request() {
    double median = number("read_size");
    double wanted = median * Math.exp(number("read_sigma") * random.nextGaussian());
    long bytes = median > 0 ? Math.max(1, Math.min(fileBytes, Math.round(wanted))) : fileBytes;
    long from = (long) (random.nextDouble() * (fileBytes - bytes + 1));
    return new Request(random.nextInt(files), from, bytes);
  }

  private void sessions(int count, double perSecond) throws Exception {
    double sigma = number("sigma");
    double goesOn = 1 - 1 / number("requests");
    ScheduledExecutorService clock = Executors.newScheduledThreadPool(THREADS);
    List<Future<Void>> all = new ArrayList<>();
    double atS = 0;
    for (int session = 0; session < count; session++) {
      // A lognormal time with the mean 1 / perSecond.
      atS += Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2) / perSecond;
      List<Request> wanted = new ArrayList<>();
      do {
        wanted.add(request());
      } while (random.nextDouble() < goesOn);
      Callable<Void> work = () -> session(wanted);
      all.add(clock.schedule(work, Math.round(1e6 * atS), TimeUnit.MICROSECONDS));
    }
    for (Future<Void> one : all) {
      one.get();
    }
    clock.shutdown();
  }

  private Void session(List<Request> wanted) throws Exception {
    long pauseMs = Math.round(1e3 * number("pause_s"));
    byte[] buffer = new byte[BUFFER_BYTES];
    try (FileSystem system = FileSystem.newInstance(configuration)) {
      for (Request one : wanted) {
        try (FSDataInputStream in = system.open(path(one.file()))) {
          if (one.bytes() == fileBytes) {
            while (in.read(buffer) >= 0) {
              // The content is not used.
            }
          } else {
            in.readFully(one.from(), new byte[(int) one.bytes()]);
          }
        }
        Thread.sleep(pauseMs);
      }
    }
    return null;
  }

  /** Writes the files, warms up, waits for a line on the standard input, and runs the sessions. */
  public static void main(String[] words) throws Exception {
    HdfsSessions load = new HdfsSessions(words);
    load.write();
    load.sessions((int) load.number("warm_up_sessions"), WARM_UP_PER_S);
    System.out.println("ready");
    new BufferedReader(new InputStreamReader(System.in)).readLine();
    double perSecond = load.number("sessions_per_s") * load.number("rate_factor");
    long count = Math.round(perSecond * load.number("length_s"));
    load.sessions((int) Math.max(load.number("least_sessions"), count), perSecond);
  }
}
