package org.apache.hadoop.tracing;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.protobuf.ByteString;

/** Causes to the bytes that Hadoop's RPC and data transfer headers have room for, and back. */
public class TraceUtils {
  /** The configuration is not read. */
  public static TraceConfiguration wrapHadoopConf(String prefix, Configuration configuration) {
    return null;
  }

  /** A tracer. */
  public static Tracer createAndRegisterTracer(String name) {
    return new Tracer(name);
  }

  /** The cause in a header; null if the bytes are not ours. */
  public static SpanContext byteStringToSpanContext(ByteString bytes) {
    return bytes == null ? null : SpanContext.fromBytes(bytes);
  }

  /** A cause for a header. */
  public static ByteString spanContextToByteString(SpanContext context) {
    return context == null ? null : context.toBytes();
  }
}
