"""Design of experiments: which configurations are legal, which effects a designed sweep shows, and
which runs come next."""
