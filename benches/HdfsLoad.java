import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A Java client that does rounds as it is told on its input, and answers with their seconds. */
public final class HdfsLoad {
  private static final byte[] BUFFER = new byte[64 * 1024];

  /** Files made, looked at, renamed and deleted. */
  static void metadata(FileSystem system, int files) throws IOException {
    for (int i = 0; i < files; i++) {
      Path file = new Path("/bench/" + i);
      Path other = new Path("/bench/other-" + i);
      system.create(file).close();
      for (int look = 0; look < 4; look++) {
        system.getFileStatus(file);
      }
      system.rename(file, other);
      system.delete(other, false);
    }
  }

  /** A file written and read back, so many times. */
  static void data(FileSystem system, int mebibytes, int times) throws IOException {
    for (int i = 0; i < times; i++) {
      data(system, mebibytes);
    }
  }

  private static void data(FileSystem system, int mebibytes) throws IOException {
    Path file = new Path("/bench/data");
    try (FSDataOutputStream out = system.create(file, true)) {
      for (int i = 0; i < mebibytes * 16; i++) {
        out.write(BUFFER);
      }
    }
    try (FSDataInputStream in = system.open(file)) {
      while (in.read(BUFFER) >= 0) {
        // Only the reading counts.
      }
    }
  }

  /** Lines like "metadata 100" or "data 64 8" in, seconds out. */
  public static void main(String[] words) throws Exception {
    FileSystem system = FileSystem.get(new Configuration());
    system.mkdirs(new Path("/bench"));
    BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
    for (String line = told.readLine(); line != null; line = told.readLine()) {
      String[] round = line.split(" ");
      long start = System.nanoTime();
      if (round[0].equals("metadata")) {
        metadata(system, Integer.parseInt(round[1]), Integer.parseInt(round[2]));
      } else {
        data(system, Integer.parseInt(round[1]), Integer.parseInt(round[2]));
      }
      System.out.println((System.nanoTime() - start) / 1e9);
    }
  }
}
