package dfslab.agent;

import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;

/** The calls of one thread's outermost call, kept until it ends: room for so many, made once. */
final class Spans {
  static final int LIMIT = 256;
  static final int ABOUT_LIMIT = 200;
  private final Step[] steps = new Step[LIMIT];
  private final Object[] abouts = new Object[LIMIT];
  private final int[] parents = new int[LIMIT];
  private final long[] startsNs = new long[LIMIT];
  private final long[] endsNs = new long[LIMIT];
  private final long[] bytes = new long[LIMIT];
  private final boolean[] failures = new boolean[LIMIT];
  private int count;
  private boolean beyond;
  private boolean failed;
  private long random = ThreadLocalRandom.current().nextLong() | 1;

  /** Forgets the last outermost call. */
  void clear() {
    Arrays.fill(abouts, 0, count, null);
    count = 0;
    beyond = false;
    failed = false;
  }

  /** A call begins; the answer is its number, or -1 when there is no room. */
  int begin(Step step, int parent, Object about, long startNs) {
    if (count == LIMIT) {
      beyond = true;
      return -1;
    }
    int number = count++;
    steps[number] = step;
    parents[number] = parent;
    abouts[number] = about;
    startsNs[number] = startNs;
    endsNs[number] = 0;
    return number;
  }

  void end(int number, long endNs, long moved, boolean failure) {
    failed |= failure;
    if (number >= 0) {
      endsNs[number] = endNs;
      bytes[number] = Math.max(0, moved);
      failures[number] = failure;
    }
  }

  /** The outermost call has ended: a copy of it is kept if its place wants one. */
  void offer(Node outermost, long tookNs, Context cause) {
    random ^= random << 13;
    random ^= random >>> 7;
    random ^= random << 17;
    long lot = random >>> 1;
    if (!outermost.exemplars().wants(tookNs, lot, failed)) {
      return;
    }
    ThreadLocalRandom ids = ThreadLocalRandom.current();
    Exemplar.Span[] spans = new Exemplar.Span[count];
    for (int number = 0; number < count; number++) {
      long endNs = endsNs[number] == 0 ? startsNs[number] : endsNs[number];
      spans[number] =
          new Exemplar.Span(
              steps[number], parents[number], startsNs[number], endNs, bytes[number],
              failures[number], text(abouts[number]));
    }
    long high = ids.nextLong();
    long low = ids.nextLong() | 1;
    outermost.exemplars().keep(
        new Exemplar(tookNs, lot, failed, beyond, cause, high, low, spans));
  }

  /** What an argument says of itself; the host's code may fail in that. */
  private static String text(Object about) {
    if (about == null) {
      return null;
    }
    try {
      String text = about.toString();
      return text.length() <= ABOUT_LIMIT ? text : text.substring(0, ABOUT_LIMIT);
    } catch (Throwable failure) {
      return "(" + failure.getClass().getSimpleName() + ")";
    }
  }
}
