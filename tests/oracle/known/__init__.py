"""The reviewed list: every known difference between the table and ptxas, with its reason; a file for each chapter.

A key is a regular expression, searched in `INSTRUCTION | WHAT THE TABLE SAYS | WHAT PTXAS SAYS` (nothing
where the one or the other accepts).
`STRICTER`: ptxas accepts, the table refuses. `LAXER`: the table accepts, ptxas refuses.
"""
