//! The load generator: targets, capabilities, runner.
