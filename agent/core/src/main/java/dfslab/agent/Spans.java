package dfslab.agent;

import java.util.concurrent.ThreadLocalRandom;

/** The calls of one thread's outermost call, kept until it ends: room for so many, used again. */
final class Spans {
  static final int LIMIT = 256;
  static final int ABOUT_LIMIT = 200;

  /** A call as far as it is known; its end is zero until it comes. */
  private static final class Call {
    Step step;
    Object about;
    int parent;
    long startNs;
    long endNs;
    long bytes;
    boolean failed;
  }

  private final Call[] calls = new Call[LIMIT];
  private int count;
  private boolean beyond;
  private boolean failed;
  private long random = ThreadLocalRandom.current().nextLong() | 1;

  /** Forgets the last outermost call. */
  void clear() {
    for (int number = 0; number < count; number++) {
      calls[number].about = null;
    }
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
    Call call = calls[number];
    if (call == null) {
      call = calls[number] = new Call();
    }
    call.step = step;
    call.about = about;
    call.parent = parent;
    call.startNs = startNs;
    call.endNs = 0;
    return number;
  }

  void end(int number, long endNs, long moved, boolean failure) {
    failed |= failure;
    if (number >= 0) {
      Call call = calls[number];
      call.endNs = endNs;
      call.bytes = Math.max(0, moved);
      call.failed = failure;
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
      Call call = calls[number];
      boolean ended = call.endNs != 0;
      spans[number] =
          new Exemplar.Span(
              call.step, call.parent, call.startNs, ended ? call.endNs : call.startNs,
              ended ? call.bytes : 0, ended && call.failed, text(call.about));
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
