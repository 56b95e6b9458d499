"""What Blackwell adds to `ptx`: the types of its instructions, behind `ptx.inst`."""
