"""Ways of saying PTX in better Python, one file for each kind; `table` has their order."""
