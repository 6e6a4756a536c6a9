package dfslab.agent;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * The causes that objects carry from thread to thread, until they are taken up.
 *
 * <p>What is taken up is forgotten: an entry that waits for its carrier's end is work for the
 * collector. Those that nobody takes up end with their carriers.
 */
public final class Carriers {
  static final int LIMIT = 65_536;
  private static final ConcurrentHashMap<Object, Context> CAUSES = new ConcurrentHashMap<>();
  private static final ReferenceQueue<Object> ENDED = new ReferenceQueue<>();
  private static final LongAdder LOST = new LongAdder();

  private Carriers() {}

  /** An object by identity, which the key does not keep alive. */
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

  /** The object in a question: not another weak reference for the collector to look at. */
  private static final class Asked {
    private final Object carrier;

    Asked(Object carrier) {
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

  /** The carrier now stands for what this thread is in. */
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

  /** Hand-overs for which there was no room: what follows them has no cause. */
  static long lost() {
    return LOST.sum();
  }

  /** Goes on, once, with what the carrier stands for; the answer goes to {@link Recorder#exit}. */
  public static int resume(Object carrier) {
    return Recorder.resume(carrier == null ? null : CAUSES.remove(new Asked(carrier)));
  }
}
