"""The methods of this package, one a module."""
