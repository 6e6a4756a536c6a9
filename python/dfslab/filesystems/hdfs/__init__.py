"""Describes HDFS: a metadata server (NameNode), and data servers (DataNodes) that form pipelines of
replicas.
"""
