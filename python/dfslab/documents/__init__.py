"""Types of the documents that cross packages: measured, traced, fitted and predicted data."""
