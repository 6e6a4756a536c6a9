package dfslab.agent.calls;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The exemplars of one path: the slowest calls, a uniform random sample of all calls, and the first
 * failed calls, with at most EACH calls of each kind.
 *
 * <p>Each call draws a random number, and the calls with the largest numbers form the sample. Two
 * samples therefore merge without an error: the calls with the largest numbers in both samples are
 * again a random sample of all calls.
 */
final class Exemplars {
  static final int EACH = 2;
  private static final Comparator<Exemplar> BY_TIME = Comparator.comparingLong(Exemplar::tookNs);
  private static final Comparator<Exemplar> BY_LOT = Comparator.comparingLong(Exemplar::lot);
  private final Exemplar[] slowest = new Exemplar[EACH];
  private final Exemplar[] sampled = new Exemplar[EACH];
  private final Exemplar[] failed = new Exemplar[EACH];
  private long slowestFloorNs = -1;
  private long sampledFloor = -1;

  /**
   * Whether a call would be kept as an exemplar. This method runs for every outermost call, so it
   * must be fast.
   */
  boolean wants(long tookNs, long lot, boolean failure) {
    return tookNs > slowestFloorNs || lot > sampledFloor || failure && failed[EACH - 1] == null;
  }

  void keep(Exemplar one) {
    insert(slowest, one, BY_TIME);
    insert(sampled, one, BY_LOT);
    if (one.failed()) {
      insert(failed, one, BY_LOT);
    }
    slowestFloorNs = slowest[EACH - 1] == null ? -1 : slowest[EACH - 1].tookNs();
    sampledFloor = sampled[EACH - 1] == null ? -1 : sampled[EACH - 1].lot();
  }

  void merge(Exemplars other) {
    other.all().forEach(this::keep);
  }

  List<Exemplar> all() {
    List<Exemplar> found = new ArrayList<>();
    for (Exemplar[] kept : List.of(slowest, sampled, failed)) {
      for (Exemplar one : kept) {
        if (one != null && !found.contains(one)) {
          found.add(one);
        }
      }
    }
    return found;
  }

  /** Inserts an exemplar into a list in descending order, if it ranks high enough. */
  private static void insert(Exemplar[] kept, Exemplar one, Comparator<Exemplar> order) {
    for (int at = 0; at < EACH; at++) {
      if (kept[at] == one) {
        return;
      }
      if (kept[at] == null || order.compare(one, kept[at]) > 0) {
        System.arraycopy(kept, at, kept, at + 1, EACH - 1 - at);
        kept[at] = one;
        return;
      }
    }
  }
}
