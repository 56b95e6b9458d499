"""Reviewed differences between the table and ptxas, each with its reason; a file for each chapter.

A key is a regular expression, searched in `INSTRUCTION | MESSAGE OF THE TABLE | MESSAGE OF PTXAS` (empty where one of
them accepts). `STRICTER`: ptxas accepts, the table rejects. `LAXER`: the table accepts, ptxas rejects.
"""
