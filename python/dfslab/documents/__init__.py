"""The types of documents that packages exchange: measured, traced, fitted and predicted data."""
