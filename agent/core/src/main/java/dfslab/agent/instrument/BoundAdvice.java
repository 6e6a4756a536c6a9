package dfslab.agent.instrument;

import dfslab.agent.calls.Recorder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.description.method.ParameterDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.pool.TypePool;

/**
 * The advice (the code to insert) of a point, bound to the point's step number and to the sources
 * of its recorded values.
 */
final class BoundAdvice {
  private final ClassFileLocator locator;
  private final TypePool types;

  BoundAdvice(ClassFileLocator locator) {
    this.locator = locator;
    types = TypePool.Default.of(locator);
  }

  /**
   * Returns the advice of a point. {@code inField} says whether the class has a field for the
   * context.
   */
  Advice of(Points.JoinPoint point, boolean inField) {
    return switch (point.action()) {
      case POINT -> Advice.withCustomMapping()
          .bind(Timing.StepNumber.class, Recorder.define(point.step(), point.kind()).number())
          .bind(new Place<>(Timing.Moved.class, point.source()))
          .bind(new Place<>(Timing.About.class, point.about()))
          .to(type("dfslab.agent.instrument.Timing"), locator);
      case CAPTURE -> propagation(point, inField ? "CaptureInField" : "Capture");
      case RESUME -> propagation(point, inField ? "ResumeFromField" : "Resume");
      case ADVICE -> Advice.to(type(point.step()), locator);
    };
  }

  private Advice propagation(Points.JoinPoint point, String how) {
    return Advice.withCustomMapping()
        .bind(new Place<>(Propagation.Carrier.class, point.source()))
        .to(type("dfslab.agent.instrument.Propagation$" + how), locator);
  }

  private TypeDescription type(String name) {
    return types.describe(name).resolve();
  }

  /** Binds an annotated parameter of advice to the source that a point specifies. */
  private record Place<T extends java.lang.annotation.Annotation>(
      Class<T> annotation, Points.Source source) implements Advice.OffsetMapping.Factory<T> {
    @Override
    public Class<T> getAnnotationType() {
      return annotation;
    }

    @Override
    public Advice.OffsetMapping make(
        ParameterDescription.InDefinedShape target,
        AnnotationDescription.Loadable<T> loadable,
        AdviceType adviceType) {
      TypeDescription.Generic type = target.getType();
      Assigner.Typing typing = Assigner.Typing.STATIC;
      return switch (source.from()) {
        case NOWHERE -> new Advice.OffsetMapping.ForStackManipulation.OfDefaultValue<>(annotation)
            .make(target, loadable, adviceType);
        case THIS -> new Advice.OffsetMapping.ForThisReference(type, true, typing, false);
        case RETURN -> new Advice.OffsetMapping.ForReturnValue(type, true, typing);
        case ARGUMENT ->
            new Advice.OffsetMapping.ForArgument.Unresolved(
                type, true, typing, source.argument(), false);
        case FIELD ->
            new Advice.OffsetMapping.ForField.Unresolved.WithImplicitType(
                type, true, typing, source.field());
      };
    }
  }
}
