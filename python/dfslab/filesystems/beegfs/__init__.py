"""BeeGFS: chunks over storage targets, metadata servers, mirrors in pairs of buddies."""
