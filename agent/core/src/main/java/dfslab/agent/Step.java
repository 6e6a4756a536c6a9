package dfslab.agent;

/** A named step of a call tree; its number is what woven code carries. */
record Step(int number, String name, Kind kind) {}
