package dfslab.agent.calls;

import java.util.Locale;

/** The cost class of a step's time: work, or a type of wait. */
public enum Kind {
  /** The step computes. */
  SERVICE,
  /** The step accesses a disk or the kernel's page cache. */
  DISK,
  /** The step waits in a queue. */
  QUEUE,
  /** The step waits for a lock. */
  LOCK,
  /** The step waits for another process, thread or device. */
  BLOCKED,
  /** The step sends data; it blocks while the network or the receiver accepts none. */
  SEND,
  /** The step waits for data to arrive. */
  RECEIVE,
  /** The step sleeps for a given time. */
  SLEEP,
  /** The time overlaps other steps and is not part of any sum. */
  DETAIL;

  static Kind of(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }

  /** The word for this kind in points files and profiles. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
