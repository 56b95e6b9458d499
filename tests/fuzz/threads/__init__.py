"""Random programs of threads: a generator, PTX of them, and a reference that executes thread by thread."""
