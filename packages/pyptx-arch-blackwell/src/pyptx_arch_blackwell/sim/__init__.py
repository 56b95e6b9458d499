"""What the simulator knows of Blackwell, behind `pyptx_sim.extension` alone."""
