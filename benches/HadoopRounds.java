import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.TestDFSIO;
import org.apache.hadoop.hdfs.server.namenode.NNThroughputBenchmark;
import org.apache.hadoop.util.ToolRunner;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** Hadoop's own benchmarks in one Java machine, round by round, as told on its input. */
public final class HadoopRounds {
  /** What a benchmark says of itself goes to the output, marked. */
  private static final class Said extends AppenderSkeleton {
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
   * Lines like "dfsio -write -nrFiles 4 ..." or "namenode -op create ..." in; "done CODE" out.
   *
   * <p>MapReduce in one process leaves pools whose threads wait for work without end, and a machine
   * lives as long as any of them: so it is told to end, after its input as after an error.
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
      logger.addAppender(new Said());
    }
    BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
    for (String line = told.readLine(); line != null; line = told.readLine()) {
      String[] round = line.split(" ");
      String[] rest = java.util.Arrays.copyOfRange(round, 1, round.length);
      Configuration conf = new Configuration();
      int code = 0;
      if (round[0].equals("dfsio")) {
        code = ToolRunner.run(conf, new TestDFSIO(), rest);
      } else {
        NNThroughputBenchmark.runBenchmark(conf, rest);
      }
      System.out.println("done " + code);
    }
  }
}
