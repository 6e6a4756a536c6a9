package org.apache.hadoop.tracing;

import dfslab.agent.calls.Recorder;
import java.io.Closeable;

/**
 * A reference to a call, with the type that Hadoop's tracer uses. A program can derive the calling
 * context of other calls from the span. A {@link TraceScope} measures the time of the call.
 */
public class Span implements Closeable {
  static final Span NONE = new Span();

  private final SpanContext context;
  final String name;
  final int step;

  /** A span outside all calls. */
  public Span() {
    this(null, "");
  }

  Span(SpanContext context, String name) {
    this.context = context;
    this.name = name;
    step = name.isEmpty() ? Recorder.NOTHING : Recorder.named(name, served(context));
  }

  private static boolean served(SpanContext from) {
    return from != null && from.served();
  }

  /** Does nothing: annotations are discarded. */
  public Span addKVAnnotation(String key, String value) {
    return this;
  }

  /** Does nothing: annotations are discarded. */
  public Span addTimelineAnnotation(String text) {
    return this;
  }

  /**
   * The path of the call as a context. If {@link Tracer#newSpan} created the span, the call is not
   * yet open: the result is then the context below which the call will be opened. Null outside all
   * calls.
   */
  public SpanContext getContext() {
    return context;
  }

  /** Does nothing: the scope ends the call. */
  public void finish() {}

  @Override
  public void close() {}
}
