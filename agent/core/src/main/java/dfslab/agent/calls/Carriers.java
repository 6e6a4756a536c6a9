package dfslab.agent.calls;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * The calling contexts that objects carry from thread to thread, until they are resumed.
 *
 * <p>Resuming removes an entry, because an entry that outlives its carrier burdens the garbage
 * collector. Entries that are never resumed end with their carriers.
 */
public final class Carriers {
  static final int LIMIT = 65_536;
  private static final ConcurrentHashMap<Object, Context> CAUSES = new ConcurrentHashMap<>();
  private static final ReferenceQueue<Object> ENDED = new ReferenceQueue<>();
  private static final LongAdder LOST = new LongAdder();

  private Carriers() {}

  /** Key by identity that holds its object weakly. */
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

  /** Key by identity for look-ups, which saves the garbage collector another weak reference. */
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
   * The number of contexts dropped for lack of room; calls that would resume them have no context.
   */
  public static long lost() {
    return LOST.sum();
  }

  /** Resumes the context of the carrier, once; the result is for {@link Recorder#exit}. */
  public static int resume(Object carrier) {
    return Recorder.resume(carrier == null ? null : CAUSES.remove(new LookupKey(carrier)));
  }
}
