"""What touches the real thing: measuring and tracing."""
