"""Laws L1 and L2 on PTX that nobody wrote for us: the corpus, and the modules inside published wheels (`nox -s wild`)."""
