"""CTA barriers, cluster barriers and mbarriers."""
