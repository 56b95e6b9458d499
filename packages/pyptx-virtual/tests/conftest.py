"""Tests in `on_device` need an active virtual GPU, which lasts until the process exits: they run in child processes."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("PYPTX_TEST_ON_DEVICE") else ["on_device"]
