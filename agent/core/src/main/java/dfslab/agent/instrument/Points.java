package dfslab.agent.instrument;

import dfslab.agent.calls.Kind;
import dfslab.agent.calls.Names;
import dfslab.agent.text.Pattern;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A points file, which has one instrumentation point per line.
 *
 * <pre>
 * point   CLASS METHOD STEP KIND [bytes=return|argN|field:NAME] [about=this|argN|field:NAME]
 * capture CLASS METHOD [this|argN]        the object then carries the calling context
 * resume  CLASS METHOD [this|argN]        the method resumes the object's context in its thread
 * scope   NAME STEP KIND                  a call that the program names itself
 * serve   NAME STEP KIND                  such a call on behalf of another process
 * advice  CLASS METHOD ADVICE             advice class from the jar's folder life/
 * replace CLASS                           class body from the jar's folder life/
 * </pre>
 *
 * <p>CLASS and NAME may contain "*" and "?". METHOD is a name, with (types) if overloads differ. A
 * "*" in STEP stands for the text that the last "*" of the name matches. Text after "#" and a blank
 * is a comment.
 */
public final class Points {
  /** An instrumentation point: the advice that is applied to the methods of a class. */
  public record JoinPoint(
      Action action,
      Pattern owner,
      String method,
      String step,
      Kind kind,
      Source source,
      Source about) {
    @Override
    public String toString() {
      return action.name().toLowerCase(Locale.ROOT) + " " + owner + " " + method;
    }
  }

  /**
   * The type of advice. If several points apply to one method, their advice is nested in the order
   * of this list, the first type outermost. The step of an ADVICE point has the name of the advice
   * class.
   */
  public enum Action {
    RESUME,
    CAPTURE,
    ADVICE,
    POINT
  }

  /** The source from which the advice takes a recorded value or an object. */
  public record Source(From from, int argument, String field) {
    static final Source NOWHERE = new Source(From.NOWHERE, 0, "");
    static final Source THIS = new Source(From.THIS, 0, "");
  }

  /** The kinds of sources from which advice can take a value. */
  public enum From {
    NOWHERE,
    THIS,
    RETURN,
    ARGUMENT,
    FIELD
  }

  public final List<JoinPoint> joinPoints = new ArrayList<>();
  public final List<Names.Name> names = new ArrayList<>();
  public final List<String> replaced = new ArrayList<>();

  /** Reads a points file. An IllegalArgumentException names the line that is invalid. */
  public static Points read(Path file) throws IOException {
    Points points = new Points();
    List<String> lines = Files.readAllLines(file);
    for (int number = 1; number <= lines.size(); number++) {
      String line = lines.get(number - 1).replaceFirst("(^|\\s)#\\s.*|^#$", "").strip();
      if (line.isEmpty()) {
        continue;
      }
      try {
        points.add(line.split("\\s+"));
      } catch (RuntimeException wrong) {
        String where = file + ":" + number + ": " + line + ": ";
        throw new IllegalArgumentException(where + wrong.getMessage(), wrong);
      }
    }
    return points;
  }

  private void add(String[] words) {
    switch (words[0]) {
      case "point" -> {
        need(words, 5, 7);
        Source bytes = option(words, "bytes=");
        Source about = option(words, "about=");
        add(Action.POINT, words, step(words[3]), kind(words[4]), bytes, about);
      }
      case "capture", "resume" -> {
        need(words, 3, 4);
        Source carrier = words.length == 4 ? source(words[3]) : Source.THIS;
        Action action = Action.valueOf(words[0].toUpperCase(Locale.ROOT));
        add(action, words, "", Kind.SERVICE, carrier, Source.NOWHERE);
      }
      case "advice" -> {
        need(words, 4, 4);
        add(Action.ADVICE, words, words[3], Kind.SERVICE, Source.NOWHERE, Source.NOWHERE);
      }
      case "scope", "serve" -> {
        need(words, 4, 4);
        boolean served = words[0].equals("serve");
        names.add(new Names.Name(served, new Pattern(words[1]), step(words[2]), kind(words[3])));
      }
      case "replace" -> {
        need(words, 2, 2);
        replaced.add(words[1]);
      }
      default -> throw new IllegalArgumentException(
          "allowed are point, capture, resume, scope, serve, advice and replace");
    }
  }

  private void add(
      Action action, String[] words, String step, Kind kind, Source source, Source about) {
    Pattern owner = new Pattern(words[1]);
    joinPoints.add(new JoinPoint(action, owner, words[2], step, kind, source, about));
  }

  private static void need(String[] words, int least, int most) {
    if (words.length < least || words.length > most) {
      throw new IllegalArgumentException("needs " + (least - 1) + " to " + (most - 1) + " words");
    }
  }

  private static String step(String word) {
    if (word.indexOf('/') >= 0 || word.indexOf(':') >= 0) {
      throw new IllegalArgumentException("a step's name holds no \"/\" and no \":\"");
    }
    return word;
  }

  private static Kind kind(String word) {
    for (Kind kind : Kind.values()) {
      if (kind.word().equals(word)) {
        return kind;
      }
    }
    throw new IllegalArgumentException(
        "kinds are service, disk, queue, lock, blocked, send, receive, sleep and detail");
  }

  /** The source that a point's option names; the source "nowhere" if the option is missing. */
  private static Source option(String[] words, String prefix) {
    Source found = Source.NOWHERE;
    for (int at = 5; at < words.length; at++) {
      if (words[at].startsWith(prefix)) {
        found = source(words[at].substring(prefix.length()));
      } else if (!words[at].startsWith("bytes=") && !words[at].startsWith("about=")) {
        throw new IllegalArgumentException("options are bytes=… and about=…");
      }
    }
    return found;
  }

  private static Source source(String word) {
    if (word.equals("this")) {
      return Source.THIS;
    }
    if (word.equals("return")) {
      return new Source(From.RETURN, 0, "");
    }
    if (word.matches("arg\\d{1,2}")) {
      return new Source(From.ARGUMENT, Integer.parseInt(word.substring(3)), "");
    }
    if (word.startsWith("field:")) {
      return new Source(From.FIELD, 0, word.substring(6));
    }
    throw new IllegalArgumentException("allowed are this, return, argN and field:NAME");
  }
}
