"""An object store that speaks S3: whole objects by name, over HTTP."""
