//! The operation vocabulary, and seeded operation streams.
