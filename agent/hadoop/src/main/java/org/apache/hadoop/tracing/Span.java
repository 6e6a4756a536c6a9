package org.apache.hadoop.tracing;

import dfslab.agent.Recorder;
import java.io.Closeable;

/** A call that can be the context of others; the scope that is open for it measures its time. */
public class Span implements Closeable {
  static final Span NONE = new Span();

  private final SpanContext context;
  final String name;
  final int step;

  /** A span outside every call. */
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

  /** Annotations are discarded. */
  public Span addKVAnnotation(String key, String value) {
    return this;
  }

  /** Annotations are discarded. */
  public Span addTimelineAnnotation(String text) {
    return this;
  }

  /** The call's path as a context; null outside every call. */
  public SpanContext getContext() {
    return context;
  }

  /** The scope ends the call. */
  public void finish() {}

  @Override
  public void close() {}
}
