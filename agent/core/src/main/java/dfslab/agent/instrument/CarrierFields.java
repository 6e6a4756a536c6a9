package dfslab.agent.instrument;

import dfslab.agent.text.Log;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.HashSet;
import java.util.Set;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.FieldPersistence;
import net.bytebuddy.description.modifier.SyntheticState;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.pool.TypePool;

/**
 * Adds a field for the calling context, at load time, to classes that carry operations between
 * threads.
 *
 * <p>A field costs far less than a look-up in {@code Carriers}. Only classes that both capture and
 * resume a context in their own methods get a field; classes that are already loaded cannot.
 */
public final class CarrierFields implements ClassFileTransformer {
  static final String NAME = "dfslab$cause";
  private final Set<String> owners = new HashSet<>();
  private final ByteBuddy builder =
      new ByteBuddy()
          .with(TypeValidation.DISABLED)
          .with(Implementation.Context.Disabled.Factory.INSTANCE);

  /** Fields for the classes that these points capture and resume. */
  public CarrierFields(Points points) {
    Set<String> resumed = new HashSet<>();
    for (Points.JoinPoint point : points.joinPoints) {
      boolean capture = point.action() == Points.Action.CAPTURE;
      if (!capture && point.action() != Points.Action.RESUME) {
        continue;
      }
      if (!point.owner().plain() || point.source().from() != Points.From.THIS) {
        // Objects captured from arguments may be of any class, so all contexts stay in one table.
        owners.clear();
        return;
      }
      (capture ? owners : resumed).add(point.owner().toString());
    }
    if (!owners.equals(resumed)) {
      owners.clear();
    }
  }

  /** Whether a class has the field. */
  static boolean has(TypeDescription type) {
    return type.getDeclaredFields().stream().anyMatch(field -> field.getName().equals(NAME));
  }

  @Override
  public byte[] transform(
      ClassLoader loader,
      String internalName,
      Class<?> loaded,
      ProtectionDomain domain,
      byte[] content) {
    if (internalName == null || loaded != null) {
      return null;
    }
    String name = internalName.replace('/', '.');
    if (!owners.contains(name)) {
      return null;
    }
    try {
      ClassFileLocator locator =
          new ClassFileLocator.Compound(
              ClassFileLocator.Simple.of(name, content),
              ClassFileLocator.ForClassLoader.of(loader));
      TypeDescription type = TypePool.Default.of(locator).describe(name).resolve();
      return builder
          .redefine(type, locator)
          .defineField(
              NAME, Object.class, Visibility.PRIVATE, FieldPersistence.TRANSIENT,
              SyntheticState.SYNTHETIC)
          .make(TypePool.Default.of(locator))
          .getBytes();
    } catch (Throwable failure) {
      Log.line(internalName + " carries no cause in a field: " + failure);
      return null;
    }
  }
}
