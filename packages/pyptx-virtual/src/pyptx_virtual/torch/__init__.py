"""The torch door: tensors on device `cuda:0` are plain tensors whose bytes are in the virtual device's memory."""
