package dfslab.agent;

/**
 * One whole call with all timed calls inside it, as it was.
 *
 * <p>What a call was about is a text, or an object that is still to be asked for one.
 */
record Exemplar(
    long tookNs,
    long lot,
    boolean failed,
    boolean cut,
    Context cause,
    long traceHigh,
    long traceLow,
    Span[] spans) {
  /** A call of an exemplar; parent is its number among the spans, or -1. */
  record Span(
      Step step, int parent, long startNs, long endNs, long bytes, boolean failed, Object about) {}
}
