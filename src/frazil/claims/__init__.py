"""Claims: no two members of a namespace ever own one region of its layout.

``record`` holds the only proof of that sentence, as functions from one state of a namespace to the
next. ``claim`` has the requests and replies. A registry (``frazil.registries``) makes each function
one atomic, durable step of a store.
"""
