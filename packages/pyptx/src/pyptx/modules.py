"""Build PTX modules statement by statement: `module(version=(8, 7), target="sm_90a")`."""

from pyptx_dsl.modules.beginning import module
from pyptx_dsl.modules.builder import FunctionName, ModuleBuilder
from pyptx_dsl.modules.compression import compress, decompress
from pyptx_dsl.modules.pieces import text_body

__all__ = ["FunctionName", "ModuleBuilder", "compress", "decompress", "module", "text_body"]
