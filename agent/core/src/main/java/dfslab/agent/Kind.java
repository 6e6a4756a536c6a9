package dfslab.agent;

import java.util.Locale;

/** What the time of a step is: work, or which wait. */
enum Kind {
  /** The step works. */
  SERVICE,
  /** It works with a disk, or with what the kernel keeps of one. */
  DISK,
  /** It waits in a queue. */
  QUEUE,
  /** It waits for a lock. */
  LOCK,
  /** It waits for another process, thread or device. */
  BLOCKED,
  /** It sends, and is held up when the network or whoever receives does not take it. */
  SEND,
  /** It waits for what somebody sends. */
  RECEIVE,
  /** It lets time pass and waits for nobody. */
  SLEEP,
  /** A figure beside the tree, which overlaps other steps and belongs in no sum. */
  DETAIL;

  static Kind of(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
