"""Lustre: one metadata server with intents, files striped over object storage servers."""
