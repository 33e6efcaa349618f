"""Code that is shared by the commands about stores and pools."""
