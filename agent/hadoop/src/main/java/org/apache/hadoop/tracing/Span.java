package org.apache.hadoop.tracing;

import dfslab.agent.calls.Recorder;
import java.io.Closeable;

/**
 * A call that may be the calling context of others; the scope that is open for the call measures
 * its time.
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

  /** The path of the call as a context; null outside all calls. */
  public SpanContext getContext() {
    return context;
  }

  /** Does nothing: the scope ends the call. */
  public void finish() {}

  @Override
  public void close() {}
}
