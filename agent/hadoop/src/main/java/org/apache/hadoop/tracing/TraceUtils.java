package org.apache.hadoop.tracing;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.protobuf.ByteString;

/**
 * Encodes contexts as the bytes that Hadoop's RPC and data transfer headers carry, and decodes
 * them.
 */
public class TraceUtils {
  /** Always null: the agent does not read Hadoop's configuration. */
  public static TraceConfiguration wrapHadoopConf(String prefix, Configuration configuration) {
    return null;
  }

  /** A new tracer with this name. */
  public static Tracer createAndRegisterTracer(String name) {
    return new Tracer(name);
  }

  /** The context in a header; null if the bytes are not in the agent's format. */
  public static SpanContext byteStringToSpanContext(ByteString bytes) {
    return bytes == null ? null : SpanContext.fromBytes(bytes);
  }

  /** The bytes of a context for a header. */
  public static ByteString spanContextToByteString(SpanContext context) {
    return context == null ? null : context.toBytes();
  }
}
