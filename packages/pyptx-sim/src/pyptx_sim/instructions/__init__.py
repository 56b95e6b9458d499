"""The instructions that the engine itself executes: whatever touches memory, control flow, barriers or addresses."""
