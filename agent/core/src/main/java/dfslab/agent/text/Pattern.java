package dfslab.agent.text;

/** A pattern of names, in which "*" matches any text and "?" any single character. */
public final class Pattern {
  private final String text;

  /**
   * The literal text before the first wildcard. A name that does not begin with this text cannot
   * match. Most names are rejected in this way, without the regular expression.
   */
  private final String beginning;

  private final java.util.regex.Pattern compiled;

  /** A pattern with this text. */
  public Pattern(String text) {
    this.text = text;
    beginning = text.split("[*?]", 2)[0];
    StringBuilder regex = new StringBuilder();
    for (char letter : text.toCharArray()) {
      switch (letter) {
        case '*' -> regex.append("(.*)");
        case '?' -> regex.append('.');
        default -> regex.append(java.util.regex.Pattern.quote(String.valueOf(letter)));
      }
    }
    compiled = java.util.regex.Pattern.compile(regex.toString(), java.util.regex.Pattern.DOTALL);
  }

  /** Whether the pattern has no wildcard. */
  public boolean plain() {
    return text.indexOf('*') < 0 && text.indexOf('?') < 0;
  }

  /** Whether the pattern matches a name. */
  public boolean matches(String name) {
    return name.startsWith(beginning) && compiled.matcher(name).matches();
  }

  /**
   * The template, with each "*" replaced by the text that this pattern's last "*" matches in {@code
   * name}. If the pattern has no "*", the whole name is the replacement. Null if the pattern does
   * not match the name.
   */
  public String fill(String name, String template) {
    if (!name.startsWith(beginning)) {
      return null;
    }
    java.util.regex.Matcher found = compiled.matcher(name);
    if (!found.matches()) {
      return null;
    }
    String part = found.groupCount() == 0 ? name : found.group(found.groupCount());
    return template.replace("*", part);
  }

  @Override
  public String toString() {
    return text;
  }
}
