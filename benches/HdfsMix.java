import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * A Java client of one thread that runs one part of a mixed workload for each line of its input,
 * and prints the seconds taken.
 */
public final class HdfsMix {
  private static final int BUFFER_BYTES = 64 * 1024;
  private static final int THREADS = 64;

  /** Writes files; each is synced to disk before it is closed. */
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

  /** Writes small files without a sync. */
  static void small(FileSystem system, int files, int bytes) throws IOException {
    byte[] buffer = new byte[bytes];
    for (int file = 0; file < files; file++) {
      try (OutputStream out = system.create(new Path("/mix/small-" + file), true)) {
        out.write(buffer);
      }
    }
  }

  /** Reads the files that {@code write} has written. */
  static void read(FileSystem system, int files) throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    for (int file = 0; file < files; file++) {
      try (FSDataInputStream in = system.open(new Path("/mix/data-" + file))) {
        while (in.read(buffer) >= 0) {
          // Only the time of the reads matters, so the data is not used.
        }
      }
    }
  }

  /** Creates empty files, reads their status, renames and deletes them. */
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

  /**
   * Reads lines such as "write 8 1048576", "read 8", "small 20 4096" or "metadata 100", and prints
   * the seconds that each command took. The program's arguments are settings of the client.
   */
  public static void main(String[] words) throws Exception {
    Configuration configuration = new Configuration();
    for (String word : words) {
      String[] setting = word.split("=", 2);
      configuration.set(setting[0], setting[1]);
    }
    DistributedFileSystem system = (DistributedFileSystem) FileSystem.get(configuration);
    system.mkdirs(new Path("/mix"));
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] part = line.split(" ");
      int files = Integer.parseInt(part[1]);
      long start = System.nanoTime();
      switch (part[0]) {
        case "write" -> write(system, files, Long.parseLong(part[2]));
        case "read" -> read(system, files);
        case "small" -> small(system, files, Integer.parseInt(part[2]));
        case "metadata" -> metadata(system, files);
        default -> throw new IllegalArgumentException(line);
      }
      System.out.println((System.nanoTime() - start) / 1e9);
    }
  }
}
