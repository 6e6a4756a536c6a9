package org.apache.hadoop.tracing;

import dfslab.agent.calls.Recorder;
import java.io.Closeable;

/**
 * An open call. If the call has a calling context in another thread or process, it is recorded
 * below this context. Otherwise it is recorded inside the thread's innermost call.
 */
public class TraceScope implements Closeable {
  private int cause = Recorder.NOTHING;
  private int call = Recorder.NOTHING;
  private Span span;

  /** A scope that records nothing. */
  public TraceScope(Span span) {
    this.span = span;
  }

  TraceScope(SpanContext from, int step) {
    cause = Recorder.resume(from == null ? null : from.cause);
    call = Recorder.enterNamed(step);
  }

  /** Does nothing: annotations are discarded. */
  public void addKVAnnotation(String key, String value) {}

  /** Does nothing: annotations are discarded. */
  public void addKVAnnotation(String key, Number value) {}

  /** Does nothing: annotations are discarded. */
  public void addTimelineAnnotation(String text) {}

  /**
   * The span of this scope: the span that was passed to the constructor. If none was passed, the
   * span of the thread's innermost call at the time of the first call of this method.
   */
  public Span span() {
    if (span == null) {
      SpanContext context = SpanContext.of(Recorder.context());
      span = context == null ? Span.NONE : context.span;
    }
    return span;
  }

  /** The same span as {@link #span}, under Hadoop's other name. */
  public Span getSpan() {
    return span();
  }

  /** Does nothing: a scope stays with its thread. */
  public void reattach() {}

  /** Does nothing: a scope stays with its thread. */
  public void detach() {}

  @Override
  public void close() {
    Recorder.exit(call, 0, false);
    Recorder.exit(cause, 0, false);
    call = cause = Recorder.NOTHING;
  }
}
