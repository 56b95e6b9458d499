"""The typed view of `ptx.inst`: a stub with a class for every way to go on spelling an instruction."""
