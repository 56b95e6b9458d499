"""Reviewed differences between the instruction table and ptxas, each with its reason; a file for each chapter.

Each key of the dictionaries is a regular expression. It is searched in
`INSTRUCTION | MESSAGE OF THE TABLE | MESSAGE OF PTXAS`, where a message is empty if the instruction is accepted.
`STRICTER`: ptxas accepts, the table rejects. `LAXER`: the table accepts, ptxas rejects.
"""
