"""HDFS: a metadata server and pipelines of replicas."""
