package dfslab.agent.instrument;

import dfslab.agent.text.Log;
import dfslab.agent.text.Pattern;
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
public final class Instrumenter implements ClassFileTransformer {
  private static final String INSTRUMENTED = "instrumented";
  private static final String NOT_LOADED = "not loaded";
  private static final String LIFE = "life/";
  private final Map<String, List<Points.JoinPoint>> byClass = new HashMap<>();
  private final List<Points.JoinPoint> byPattern = new ArrayList<>();
  private final Set<String> replaced;
  private final ThreadLocal<Instrumenter> instrumenting = new ThreadLocal<>();
  private final Map<Points.JoinPoint, String> states = new ConcurrentHashMap<>();
  private final ByteBuddy rewriter =
      new ByteBuddy()
          .with(TypeValidation.DISABLED)
          .with(MethodGraph.Compiler.ForDeclaredMethods.INSTANCE)
          .with(InstrumentedType.Factory.Default.FROZEN)
          .with(Implementation.Context.Disabled.Factory.INSTANCE)
          .ignore(ElementMatchers.none());
  private final BoundAdvice advice = new BoundAdvice(new Life());

  /** Creates an instrumenter for these points. */
  public Instrumenter(Points points) {
    replaced = new HashSet<>(points.replaced);
    for (Points.JoinPoint point : points.joinPoints) {
      if (point.owner().plain()) {
        byClass.computeIfAbsent(point.owner().toString(), name -> new ArrayList<>()).add(point);
      } else {
        byPattern.add(point);
      }
      states.put(point, NOT_LOADED);
    }
  }

  /** The state of a point: "not loaded", "instrumented", or the reason why it is off. */
  public String state(Points.JoinPoint point) {
    return states.get(point);
  }

  /** Whether a point names the class. */
  public boolean concerns(String className) {
    return !joinPoints(className).isEmpty();
  }

  @Override
  public byte[] transform(
      ClassLoader loader,
      String internalName,
      Class<?> loaded,
      ProtectionDomain domain,
      byte[] content) {
    // Classes that the instrumentation itself loads are left unchanged.
    if (internalName == null || instrumenting.get() != null) {
      return null;
    }
    instrumenting.set(this);
    try {
      String name = internalName.replace('/', '.');
      byte[] other = loaded == null && replaced.contains(outermost(name)) ? life(name) : null;
      return other != null ? other : instrument(loader, name, content);
    } catch (Throwable failure) {
      Log.line(internalName + " is left as it is: " + failure);
      return null;
    } finally {
      instrumenting.remove();
    }
  }

  private static String outermost(String name) {
    int inner = name.indexOf('$');
    return inner < 0 ? name : name.substring(0, inner);
  }

  private byte[] instrument(ClassLoader loader, String name, byte[] content) {
    List<Points.JoinPoint> joinPoints = joinPoints(name);
    if (joinPoints.isEmpty()) {
      return null;
    }
    ClassFileLocator locator =
        new ClassFileLocator.Compound(
            ClassFileLocator.Simple.of(name, content), ClassFileLocator.ForClassLoader.of(loader));
    TypeDescription type = TypePool.Default.of(locator).describe(name).resolve();
    List<Points.JoinPoint> fitting = new ArrayList<>(joinPoints);
    fitting.removeIf(point -> !fits(point, type));
    fitting.sort(Comparator.comparing(Points.JoinPoint::action));
    while (!fitting.isEmpty()) {
      try {
        byte[] changed = build(type, locator, fitting);
        fitting.forEach(point -> states.put(point, INSTRUMENTED));
        return changed;
      } catch (RuntimeException | LinkageError failure) {
        fitting.removeIf(point -> !alone(type, locator, point));
      }
    }
    return null;
  }

  private List<Points.JoinPoint> joinPoints(String name) {
    List<Points.JoinPoint> exact = byClass.getOrDefault(name, List.of());
    if (byPattern.isEmpty()) {
      return exact;
    }
    List<Points.JoinPoint> all = new ArrayList<>(exact);
    // A stream would load classes, which this code must not do, because it runs for every loaded
    // class.
    for (Points.JoinPoint point : byPattern) {
      if (point.owner().matches(name)) {
        all.add(point);
      }
    }
    return all;
  }

  private boolean fits(Points.JoinPoint point, TypeDescription type) {
    if (!type.getDeclaredMethods().filter(methods(point)).isEmpty()) {
      return true;
    }
    if (point.owner().plain()) {
      off(point, "there is no such method");
    }
    return false;
  }

  private void off(Points.JoinPoint point, String why) {
    states.put(point, why);
    Log.line(point + " is off: " + why);
  }

  /**
   * Whether a point can be applied without the other points. If not, the point is turned off. This
   * check finds the invalid point when the points of a class cannot be applied together.
   */
  private boolean alone(TypeDescription type, ClassFileLocator locator, Points.JoinPoint point) {
    try {
      build(type, locator, List.of(point));
      return true;
    } catch (RuntimeException | LinkageError failure) {
      off(point, String.valueOf(failure.getMessage()));
      return false;
    }
  }

  private byte[] build(
      TypeDescription type, ClassFileLocator locator, List<Points.JoinPoint> joinPoints) {
    DynamicType.Builder<?> builder = rewriter.redefine(type, locator);
    boolean inField = CarrierFields.has(type);
    for (Points.JoinPoint point : joinPoints) {
      builder = builder.visit(advice.of(point, inField).on(methods(point)));
    }
    return builder.make(TypePool.Default.of(locator)).getBytes();
  }

  private static ElementMatcher.Junction<MethodDescription> methods(Points.JoinPoint point) {
    String method = point.method();
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
    try (InputStream stream = Instrumenter.class.getClassLoader().getResourceAsStream(path)) {
      return stream == null ? null : stream.readAllBytes();
    }
  }

  /**
   * Finds a class in the jar's folder life/ or, if it is not there, among the agent's own classes.
   */
  private static final class Life implements ClassFileLocator {
    private final ClassFileLocator own = ForClassLoader.of(Instrumenter.class.getClassLoader());

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
