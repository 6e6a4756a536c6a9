package dfslab.agent.calls;

/**
 * Counts of durations in log-linear buckets, 64 for each octave (from one power of two to the
 * next). The middle of a bucket is within 0.8 % of every duration in the bucket.
 *
 * <p>The buckets of an octave are allocated with its first value, so after some time no value
 * causes an allocation.
 */
public final class Histogram {
  private static final int BITS = 6;
  private static final int WIDTH = 1 << BITS;
  private final long[][] octaves = new long[64 - BITS][];

  void record(long value) {
    int octave = octave(value);
    long[] counts = octaves[octave];
    if (counts == null) {
      counts = octaves[octave] = new long[WIDTH];
    }
    counts[within(value, octave)]++;
  }

  /** Adds another histogram's counts. */
  void add(Histogram other) {
    for (int octave = 0; octave < octaves.length; octave++) {
      long[] theirs = other.octaves[octave];
      if (theirs == null) {
        continue;
      }
      if (octaves[octave] == null) {
        octaves[octave] = new long[WIDTH];
      }
      for (int index = 0; index < WIDTH; index++) {
        octaves[octave][index] += theirs[index];
      }
    }
  }

  /** Receives the lowest value (ns) and the count of every non-empty bucket, in ascending order. */
  public interface Visitor {
    void bucket(long low, long count);
  }

  /** Calls the visitor for every non-empty bucket. */
  public void visit(Visitor visitor) {
    for (int octave = 0; octave < octaves.length; octave++) {
      for (int index = 0; octaves[octave] != null && index < WIDTH; index++) {
        if (octaves[octave][index] != 0) {
          visitor.bucket(low(octave, index), octaves[octave][index]);
        }
      }
    }
  }

  /**
   * The number of the octave to which a value belongs. The leading bit of the value determines the
   * octave. Values below 64 all belong to octave 0, which has one bucket for each value.
   */
  private static int octave(long value) {
    return value < WIDTH ? 0 : 64 - BITS - Long.numberOfLeadingZeros(value);
  }

  private static int within(long value, int octave) {
    return octave == 0 ? (int) value : (int) (value >>> (octave - 1)) - WIDTH;
  }

  private static long low(int octave, int index) {
    return octave == 0 ? index : (long) (WIDTH + index) << (octave - 1);
  }
}
