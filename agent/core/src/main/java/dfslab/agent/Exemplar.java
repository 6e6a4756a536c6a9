package dfslab.agent;

/** One whole call with all timed calls inside it, as it was. */
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
      Step step, int parent, long startNs, long endNs, long bytes, boolean failed, String about) {}
}
