"""Walk programs: the text of a module for each, what it takes lots by, and how it is called."""
