"""The documentation site: what `mkdocs build` adds to the pages of docs/.

docs/ can be read in the repository as it is. The site adds what is drawn or written by a program
and so can never be out of date: pictures of layouts and claims, charts of BENCHMARKS.md, the
reference of the command and of the HTTP API, and llms.txt. `hooks` is what MkDocs calls; each other
module makes one thing from the sources.
"""
