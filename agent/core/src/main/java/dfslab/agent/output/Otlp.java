package dfslab.agent.output;

import dfslab.agent.calls.Exemplar;
import dfslab.agent.text.Json;
import java.util.List;

/** Writes exemplars as one OTLP trace document in JSON. */
final class Otlp {
  private static final long CLOCK_OFFSET_NS =
      System.currentTimeMillis() * 1_000_000 - System.nanoTime();

  private Otlp() {}

  static String document(String service, String instance, List<Exemplar> exemplars) {
    Json json = new Json().open('{');
    json.key("resourceSpans").open('[').open('{');
    json.key("resource").open('{').key("attributes").open('[');
    attribute(json, "service.name", service);
    attribute(json, "service.instance.id", instance);
    json.close(']').close('}');
    json.key("scopeSpans").open('[').open('{');
    json.key("scope").open('{').key("name").text("dfslab").close('}');
    json.key("spans").open('[');
    for (Exemplar one : exemplars) {
      String trace = String.format("%016x%016x", one.traceHigh(), one.traceLow());
      for (int number = 0; number < one.spans().length; number++) {
        span(json, one, trace, number);
      }
    }
    return json.close(']').close('}').close(']').close('}').close(']').close('}').toString();
  }

  private static void span(Json json, Exemplar one, String trace, int number) {
    Exemplar.Span span = one.spans()[number];
    json.open('{').key("traceId").text(trace).key("spanId").text(id(one, number));
    if (span.parent() >= 0) {
      json.key("parentSpanId").text(id(one, span.parent()));
    }
    json.key("name").text(span.step().name()).key("kind").number(1);
    json.key("startTimeUnixNano").text(String.valueOf(span.startNs() + CLOCK_OFFSET_NS));
    json.key("endTimeUnixNano").text(String.valueOf(span.endNs() + CLOCK_OFFSET_NS));
    json.key("attributes").open('[');
    attribute(json, "dfslab.kind", span.step().kind().word());
    if (span.about() != null) {
      attribute(json, "dfslab.about", span.aboutText());
    }
    if (number == 0 && one.cause() != null) {
      attribute(json, "dfslab.cause", one.cause().path);
    }
    if (number == 0 && one.cut()) {
      attribute(json, "dfslab.cut", "further calls are not shown");
    }
    if (span.bytes() > 0) {
      json.open('{').key("key").text("bytes").key("value").open('{');
      json.key("intValue").text(String.valueOf(span.bytes())).close('}').close('}');
    }
    json.close(']');
    if (span.failed()) {
      json.key("status").open('{').key("code").number(2).close('}');
    }
    json.close('}');
  }

  private static String id(Exemplar one, int number) {
    return String.format("%016x", (one.traceLow() << 9) + number + 1);
  }

  private static void attribute(Json json, String key, String value) {
    json.open('{').key("key").text(key).key("value").open('{');
    json.key("stringValue").text(value).close('}').close('}');
  }
}
