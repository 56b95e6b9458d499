"""What Blackwell teaches the transpiler: rules, a file each."""
