"""The tests; a package, so that no ``tests`` of an installed package is taken for it."""

from tests.tools.torture import provide

provide()
