package dfslab.agent.calls;

/** A named step of a call tree; instrumented code refers to it by its number. */
public record Step(int number, String name, Kind kind) {}
