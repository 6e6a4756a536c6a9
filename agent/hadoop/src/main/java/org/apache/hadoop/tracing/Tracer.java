package org.apache.hadoop.tracing;

import dfslab.agent.Recorder;

/** Opens scopes for the calls that Hadoop itself names. */
public class Tracer {
  /** Hadoop's name of a setting; nothing reads it here. */
  public static final String SPAN_RECEIVER_CLASSES_KEY = "span.receiver.classes";

  private static final Tracer ONLY = new Tracer("dfslab");
  private final String name;

  /** A tracer; all tracers are equivalent. */
  public Tracer(String name) {
    this.name = name;
  }

  /** Never null, so that servers and clients always request scopes. */
  public static Tracer curThreadTracer() {
    return ONLY;
  }

  /** The innermost call of this thread; null outside every call. */
  public static Span getCurrentSpan() {
    SpanContext context = SpanContext.of(Recorder.context());
    return context == null ? null : context.span;
  }

  /** A call inside this thread's current call. */
  public TraceScope newScope(String description) {
    return new TraceScope(null, Recorder.named(description, false));
  }

  /** A call whose context is in another process or thread; {@link #activateSpan} opens it. */
  public Span newSpan(String description, SpanContext from) {
    return from == null ? new Span(null, description) : from.caused(description);
  }

  /** A call whose context is in another process or thread. */
  public TraceScope newScope(String description, SpanContext from) {
    return activateSpan(newSpan(description, from));
  }

  /** A call whose context is in another process or thread. */
  public TraceScope newScope(String description, SpanContext from, boolean finishOnClose) {
    return activateSpan(newSpan(description, from));
  }

  /** Opens a span made by {@link #newSpan}. */
  public TraceScope activateSpan(Span span) {
    return span == null ? null : new TraceScope(span.getContext(), span.step);
  }

  /** There is nothing to release. */
  public void close() {}

  /** The tracer's name. */
  public String getName() {
    return name;
  }

  /** Builds tracers. */
  public static class Builder {
    private final String name;

    /** A builder of a tracer with that name. */
    public Builder(String name) {
      this.name = name;
    }

    /** The configuration is not read. */
    public Builder conf(TraceConfiguration configuration) {
      return this;
    }

    /** The tracer. */
    public Tracer build() {
      return new Tracer(name);
    }
  }
}
