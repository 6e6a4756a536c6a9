"""Describes Lustre: one metadata server, whose lock requests carry intents, and files striped over
object storage servers.
"""
