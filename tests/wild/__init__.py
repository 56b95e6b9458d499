"""Laws L1 and L2 on PTX that nobody wrote for us: the modules inside published wheels (`nox -s wild`)."""
