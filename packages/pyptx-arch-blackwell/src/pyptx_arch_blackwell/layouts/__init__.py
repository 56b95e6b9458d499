"""Where matrices lie in tensor memory, and how they get there: integers and tuples for the simulator and the DSL."""
