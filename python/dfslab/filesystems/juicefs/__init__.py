"""Describes JuiceFS: metadata in a database, data as objects in a store."""
