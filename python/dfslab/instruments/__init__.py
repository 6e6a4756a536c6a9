"""The instruments, which run on the real file system: they measure, trace and calibrate."""
