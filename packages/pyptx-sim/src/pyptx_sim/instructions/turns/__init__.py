"""One execution of an instruction, as a step of an extension sees it.

A step never holds the machine's arrays: it reads and writes operands under the mask of the lanes that execute it, and
asks for everything else. A `Turn` is all of it; what it offers lies here by subject.
"""
