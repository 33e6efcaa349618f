"""What shows that frazil keeps its promises: see the README of this folder."""
