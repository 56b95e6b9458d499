"""The lossless PTX syntax tree: parse, inspect, edit, emit."""
