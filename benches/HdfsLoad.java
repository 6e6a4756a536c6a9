import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A Java client of HDFS that runs one round for each line of its input and prints the time taken.
 */
public final class HdfsLoad {
  private static final byte[] BUFFER = new byte[64 * 1024];
  private static final int MEBIBYTES = 16;

  /** The metadata round: creates a file, reads its status, renames and deletes it. */
  static void metadata(FileSystem system, int number) throws IOException {
    Path file = new Path("/bench/" + number % 100);
    Path other = new Path("/bench/other-" + number % 100);
    system.create(file).close();
    for (int look = 0; look < 4; look++) {
      system.getFileStatus(file);
    }
    system.rename(file, other);
    system.delete(other, false);
  }

  /** Writes a file and reads it back. */
  static void data(FileSystem system) throws IOException {
    Path file = new Path("/bench/data");
    try (FSDataOutputStream out = system.create(file, true)) {
      for (int i = 0; i < MEBIBYTES * 16; i++) {
        out.write(BUFFER);
      }
    }
    try (FSDataInputStream in = system.open(file)) {
      while (in.read(BUFFER) >= 0) {
        // Only the time of the reads matters, so the data is not used.
      }
    }
  }

  /**
   * Reads lines such as "metadata 1.5" (run for 1.5 seconds); prints the seconds taken and the
   * number of files.
   */
  public static void main(String[] words) throws Exception {
    FileSystem system = FileSystem.get(new Configuration());
    system.mkdirs(new Path("/bench"));
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] round = line.split(" ");
      long start = System.nanoTime();
      long end = start + (long) (Double.parseDouble(round[1]) * 1e9);
      int files = 0;
      do {
        if (round[0].equals("metadata")) {
          metadata(system, files);
        } else {
          data(system);
        }
        files++;
      } while (System.nanoTime() < end);
      System.out.println((System.nanoTime() - start) / 1e9 + " " + files);
    }
  }
}
