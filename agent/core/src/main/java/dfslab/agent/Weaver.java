package dfslab.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.InstrumentedType;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/**
 * Instruments classes when they are loaded, at the points of the points file.
 *
 * <p>A class that no point names costs one look-up. A class that cannot be instrumented is left
 * unchanged, with one line in the log.
 */
final class Weaver implements ClassFileTransformer {
  private static final String LIFE = "life/";
  private final Map<String, List<Points.Cut>> byClass = new HashMap<>();
  private final List<Points.Cut> byPattern = new ArrayList<>();
  private final Set<String> replaced;
  private final ThreadLocal<Weaver> weaving = new ThreadLocal<>();
  private final Map<Points.Cut, String> states = new ConcurrentHashMap<>();
  private final ByteBuddy weaver =
      new ByteBuddy()
          .with(TypeValidation.DISABLED)
          .with(MethodGraph.Compiler.ForDeclaredMethods.INSTANCE)
          .with(InstrumentedType.Factory.Default.FROZEN)
          .with(Implementation.Context.Disabled.Factory.INSTANCE)
          .ignore(ElementMatchers.none());
  private final BoundAdvice advice = new BoundAdvice(new Life());

  Weaver(Points points) {
    replaced = new HashSet<>(points.replaced);
    for (Points.Cut cut : points.cuts) {
      if (cut.owner().plain()) {
        byClass.computeIfAbsent(cut.owner().toString(), name -> new ArrayList<>()).add(cut);
      } else {
        byPattern.add(cut);
      }
      states.put(cut, "unseen");
    }
  }

  /** The state of a point: "unseen", "woven" (instrumented), or the reason why it is off. */
  String state(Points.Cut cut) {
    return states.get(cut);
  }

  boolean concerns(String className) {
    return !cuts(className).isEmpty();
  }

  @Override
  public byte[] transform(
      ClassLoader loader,
      String internalName,
      Class<?> loaded,
      ProtectionDomain domain,
      byte[] content) {
    // Classes that instrumentation itself loads are left unchanged.
    if (internalName == null || weaving.get() != null) {
      return null;
    }
    weaving.set(this);
    try {
      String name = internalName.replace('/', '.');
      byte[] other = loaded == null && replaced.contains(outermost(name)) ? life(name) : null;
      return other != null ? other : weave(loader, name, content);
    } catch (Throwable failure) {
      Log.line(internalName + " is left as it is: " + failure);
      return null;
    } finally {
      weaving.remove();
    }
  }

  private static String outermost(String name) {
    int inner = name.indexOf('$');
    return inner < 0 ? name : name.substring(0, inner);
  }

  private byte[] weave(ClassLoader loader, String name, byte[] content) {
    List<Points.Cut> cuts = cuts(name);
    if (cuts.isEmpty()) {
      return null;
    }
    ClassFileLocator locator =
        new ClassFileLocator.Compound(
            ClassFileLocator.Simple.of(name, content), ClassFileLocator.ForClassLoader.of(loader));
    TypeDescription type = TypePool.Default.of(locator).describe(name).resolve();
    List<Points.Cut> fitting = new ArrayList<>(cuts);
    fitting.removeIf(cut -> !fits(cut, type));
    fitting.sort(Comparator.comparing(Points.Cut::action));
    while (!fitting.isEmpty()) {
      try {
        byte[] changed = build(type, locator, fitting);
        fitting.forEach(cut -> states.put(cut, "woven"));
        return changed;
      } catch (RuntimeException | LinkageError failure) {
        fitting.removeIf(cut -> !alone(type, locator, cut));
      }
    }
    return null;
  }

  private List<Points.Cut> cuts(String name) {
    List<Points.Cut> exact = byClass.getOrDefault(name, List.of());
    if (byPattern.isEmpty()) {
      return exact;
    }
    List<Points.Cut> all = new ArrayList<>(exact);
    // A loop instead of a stream, because this runs for every loaded class and must not load a
    // class.
    for (Points.Cut cut : byPattern) {
      if (cut.owner().matches(name)) {
        all.add(cut);
      }
    }
    return all;
  }

  private boolean fits(Points.Cut cut, TypeDescription type) {
    if (!type.getDeclaredMethods().filter(methods(cut)).isEmpty()) {
      return true;
    }
    if (cut.owner().plain()) {
      off(cut, "there is no such method");
    }
    return false;
  }

  private void off(Points.Cut cut, String why) {
    states.put(cut, why);
    Log.line(cut + " is off: " + why);
  }

  /**
   * Whether a point can be applied alone, which finds the wrong one if several points fail
   * together.
   */
  private boolean alone(TypeDescription type, ClassFileLocator locator, Points.Cut cut) {
    try {
      build(type, locator, List.of(cut));
      return true;
    } catch (RuntimeException | LinkageError failure) {
      off(cut, String.valueOf(failure.getMessage()));
      return false;
    }
  }

  private byte[] build(TypeDescription type, ClassFileLocator locator, List<Points.Cut> cuts) {
    DynamicType.Builder<?> builder = weaver.redefine(type, locator);
    boolean inField = CarrierFields.has(type);
    for (Points.Cut cut : cuts) {
      builder = builder.visit(advice.of(cut, inField).on(methods(cut)));
    }
    return builder.make(TypePool.Default.of(locator)).getBytes();
  }

  private static ElementMatcher.Junction<MethodDescription> methods(Points.Cut cut) {
    String method = cut.method();
    int open = method.indexOf('(');
    String name = open < 0 ? method : method.substring(0, open);
    ElementMatcher.Junction<MethodDescription> found =
        name.equals("<init>")
            ? ElementMatchers.isConstructor()
            : ElementMatchers.isMethod().and(described -> new Pattern(name).matches(
                described.getName()));
    found = found.and(ElementMatchers.not(ElementMatchers.isAbstract()));
    found = found.and(ElementMatchers.not(ElementMatchers.isNative()));
    return open < 0 ? found : found.and(described -> types(described).equals(
        method.substring(open)));
  }

  /** The parameter types of a method by their simple names, such as "(String,long)". */
  private static String types(MethodDescription method) {
    StringBuilder text = new StringBuilder("(");
    method.getParameters().asTypeList().asErasures().forEach(
        type -> text.append(text.length() == 1 ? "" : ",").append(type.getSimpleName()));
    return text.append(')').toString();
  }

  private static byte[] life(String name) throws IOException {
    String path = LIFE + name.replace('.', '/') + ".class";
    try (InputStream stream = Weaver.class.getClassLoader().getResourceAsStream(path)) {
      return stream == null ? null : stream.readAllBytes();
    }
  }

  /** Finds the classes of the jar's folder life/, then those of the agent itself. */
  private static final class Life implements ClassFileLocator {
    private final ClassFileLocator own = ForClassLoader.of(Weaver.class.getClassLoader());

    @Override
    public Resolution locate(String name) throws IOException {
      byte[] content = life(name);
      return content != null ? new Resolution.Explicit(content) : own.locate(name);
    }

    @Override
    public void close() throws IOException {
      own.close();
    }
  }
}
