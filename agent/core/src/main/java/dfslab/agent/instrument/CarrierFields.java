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
 * Adds a field for the calling context to classes whose objects carry operations between threads.
 * The field is added when a class is loaded.
 *
 * <p>Reading a field costs far less than a look-up in {@code Carriers}. Fields are used only if two
 * conditions hold. At every capture and resume point, the carrier is the object whose method runs
 * (this). The classes that capture a context are exactly the classes that resume one. Otherwise no
 * class gets a field. A class that is already loaded cannot get a field.
 */
public final class CarrierFields implements ClassFileTransformer {
  static final String NAME = "dfslab$cause";
  private final Set<String> owners = new HashSet<>();
  private final ByteBuddy builder =
      new ByteBuddy()
          .with(TypeValidation.DISABLED)
          .with(Implementation.Context.Disabled.Factory.INSTANCE);

  /** Determines from the capture and resume points which classes get a field. */
  public CarrierFields(Points points) {
    Set<String> resumed = new HashSet<>();
    for (Points.JoinPoint point : points.joinPoints) {
      boolean capture = point.action() == Points.Action.CAPTURE;
      if (!capture && point.action() != Points.Action.RESUME) {
        continue;
      }
      if (!point.owner().plain() || point.source().from() != Points.From.THIS) {
        // If a point names an argument or a pattern of classes, a carrier may have any class. All
        // contexts are then kept in {@code Carriers}.
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
