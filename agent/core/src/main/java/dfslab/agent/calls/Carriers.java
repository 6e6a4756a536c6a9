package dfslab.agent.calls;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * A table from carriers to calling contexts. A carrier is an object with which an operation goes
 * from one thread to another. The table has the operation's context until a thread resumes it.
 *
 * <p>Resuming a context removes its entry, because an entry that outlives its carrier burdens the
 * garbage collector. If a context is never resumed, its entry is removed after the carrier has been
 * collected.
 */
public final class Carriers {
  static final int LIMIT = 65_536;
  private static final ConcurrentHashMap<Object, Context> CAUSES = new ConcurrentHashMap<>();
  private static final ReferenceQueue<Object> ENDED = new ReferenceQueue<>();
  private static final LongAdder LOST = new LongAdder();

  private Carriers() {}

  /** A key that compares carriers by identity and refers to its carrier weakly. */
  private static final class Key extends WeakReference<Object> {
    private final int hash;

    Key(Object carrier, ReferenceQueue<Object> queue) {
      super(carrier, queue);
      hash = System.identityHashCode(carrier);
    }

    @Override
    public int hashCode() {
      return hash;
    }

    @Override
    public boolean equals(Object other) {
      return this == other
          || other instanceof Key key && hash == key.hash && get() != null && get() == key.get();
    }
  }

  /**
   * A key for look-ups, which compares carriers by identity. The key refers to its carrier
   * strongly: a weak reference for each look-up would burden the garbage collector.
   */
  private static final class LookupKey {
    private final Object carrier;

    LookupKey(Object carrier) {
      this.carrier = carrier;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(carrier);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Key key && key.get() == carrier;
    }
  }

  /** Associates the carrier with this thread's current calling context. */
  public static void put(Object carrier) {
    Context cause = Recorder.context();
    for (Object ended = ENDED.poll(); ended != null; ended = ENDED.poll()) {
      CAUSES.remove(ended);
    }
    if (carrier == null || cause == null) {
      return;
    }
    if (CAUSES.size() >= LIMIT) {
      LOST.increment();
      return;
    }
    CAUSES.put(new Key(carrier, ENDED), cause);
  }

  /**
   * The number of contexts that were dropped because the table was full. The calls that would have
   * resumed these contexts are recorded without a context.
   */
  public static long lost() {
    return LOST.sum();
  }

  /**
   * Resumes the context of the carrier and removes it from the table. Returns the value to pass to
   * {@link Recorder#exit}; {@link Recorder#NOTHING} if the carrier has no context.
   */
  public static int resume(Object carrier) {
    return Recorder.resume(carrier == null ? null : CAUSES.remove(new LookupKey(carrier)));
  }
}
