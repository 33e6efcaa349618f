"""An app for the tests of frazil.django."""
