package dfslab.agent.text;

/** Writes one JSON document without white space. */
public final class Json {
  private final StringBuilder out = new StringBuilder(1 << 16);
  private boolean first = true;

  public Json open(char bracket) {
    comma();
    out.append(bracket);
    first = true;
    return this;
  }

  public Json close(char bracket) {
    out.append(bracket);
    first = false;
    return this;
  }

  public Json key(String key) {
    text(key);
    out.append(':');
    first = true;
    return this;
  }

  public Json number(long value) {
    comma();
    out.append(value);
    return this;
  }

  public Json truth(boolean value) {
    comma();
    out.append(value);
    return this;
  }

  public Json text(String value) {
    comma();
    out.append('"');
    for (int index = 0; index < value.length(); index++) {
      char letter = value.charAt(index);
      if (letter == '"' || letter == '\\') {
        out.append('\\').append(letter);
      } else if (letter < ' ' || Character.isSurrogate(letter)) {
        out.append(String.format("\\u%04x", (int) letter));
      } else {
        out.append(letter);
      }
    }
    out.append('"');
    return this;
  }

  private void comma() {
    if (!first) {
      out.append(',');
    }
    first = false;
  }

  @Override
  public String toString() {
    return out.toString();
  }
}
