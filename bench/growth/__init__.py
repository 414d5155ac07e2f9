"""How the cost of feldspar grows with rows, variables, features and values per variable."""
