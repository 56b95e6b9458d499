"""PTX modules, statement by statement: several entries, device functions, variables, debugging sections."""
