"""Laws L1 and L2, and `pyptx check`, on PTX that others wrote: the corpus, and published wheels (`nox -s wild`)."""
