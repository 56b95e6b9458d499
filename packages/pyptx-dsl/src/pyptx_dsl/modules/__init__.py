"""Builder of PTX modules, statement by statement: entries, device functions, variables, debugging sections."""
