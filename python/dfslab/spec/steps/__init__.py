"""The step language, in which a file system's description writes each operation as a small tree of
steps.
"""
