package dfslab.agent;

/** A named step of a call tree; instrumented code refers to it by its number. */
record Step(int number, String name, Kind kind) {}
