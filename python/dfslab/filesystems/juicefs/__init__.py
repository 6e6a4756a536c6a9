"""JuiceFS: names in a database, data as blocks in an object store."""
