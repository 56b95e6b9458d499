"""Race checks of asynchronous operations and mbarriers."""
