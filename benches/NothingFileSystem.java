import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A Hadoop file system that does nothing. The time of a call is therefore only the time of passing
 * the call from the load generator to Java.
 */
public final class NothingFileSystem extends FileSystem {
  private static final long DIRECTORY = -1;
  /** Size in bytes of every file, by its path; DIRECTORY for a directory. */
  private static final Map<String, Long> KNOWN = new ConcurrentHashMap<>(Map.of("/", DIRECTORY));

  @Override
  public URI getUri() {
    return URI.create("nothing:///");
  }

  @Override
  public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
    long length = getFileStatus(path).getLen();
    return new FSDataInputStream(new Unread(length));
  }

  /** A file of a given length. Reads count its bytes, but write nothing to the caller's buffer. */
  private static final class Unread extends FSInputStream {
    private final long length;
    private long at;

    Unread(long length) {
      this.length = length;
    }

    @Override
    public int read(byte[] into, int from, int most) {
      int got = (int) Math.min(most, length - at);
      at += got;
      return got == 0 ? -1 : got;
    }

    @Override
    public int read() {
      return at == length ? -1 : (int) (at++ & 1);
    }

    @Override
    public void seek(long place) {
      at = place;
    }

    @Override
    public long getPos() {
      return at;
    }

    @Override
    public boolean seekToNewSource(long place) {
      return false;
    }
  }

  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int bufferBytes, short replication,
      long blockBytes, Progressable progress) throws IOException {
    String name = path.toUri().getPath();
    OutputStream counted =
        new OutputStream() {
          private long bytes;

          @Override
          public void write(byte[] from, int start, int count) {
            bytes += count;
          }

          @Override
          public void write(int one) {
            bytes++;
          }

          @Override
          public void close() {
            KNOWN.put(name, bytes);
          }
        };
    KNOWN.put(name, 0L);
    return new FSDataOutputStream(counted, null);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress) {
    throw new UnsupportedOperationException("append");
  }

  @Override
  public boolean rename(Path from, Path to) {
    throw new UnsupportedOperationException("rename");
  }

  @Override
  public boolean delete(Path path, boolean recursive) {
    return KNOWN.remove(path.toUri().getPath()) != null;
  }

  @Override
  public FileStatus[] listStatus(Path path) {
    return new FileStatus[0];
  }

  @Override
  public void setWorkingDirectory(Path path) {}

  @Override
  public Path getWorkingDirectory() {
    return new Path("nothing:///");
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    KNOWN.put(path.toUri().getPath(), DIRECTORY);
    return true;
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    Long known = KNOWN.get(path.toUri().getPath());
    if (known == null) {
      throw new FileNotFoundException(path.toString());
    }
    return new FileStatus(Math.max(known, 0), known == DIRECTORY, 1, 1 << 20, 0, path);
  }
}
