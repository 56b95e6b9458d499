"""Laws L1 and L2 on PTX that others wrote: the corpus, and modules inside published wheels (`nox -s wild`)."""
