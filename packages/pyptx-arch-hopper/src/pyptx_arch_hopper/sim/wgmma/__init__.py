"""Semantics of wgmma: MMAs, wgmma.fence, wgmma-groups, and checks of accesses to wgmma's registers."""
