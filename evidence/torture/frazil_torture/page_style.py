"""The style of the page: light or dark as the reader prefers, narrow or wide."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --pale: #d5dde8; --line: #e3e7ed;
  --bad: #c62828; --good: #1b7a3d; --dim: #667180; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --paper: #14181e; --pale: #2e3a49;
  --line: #2a313b; --bad: #ff6b6b; --good: #5fd38a; --dim: #8b96a5; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1000px; margin: 2rem auto; padding: 0 1rem; }
h1.bad { color: var(--bad); } h1.good { color: var(--good); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1.2rem; font-size: 13px; }
dt { color: var(--dim); } dd { margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
a { color: inherit; } small { color: var(--dim); font-weight: normal; }
tr.repeated td { color: var(--bad); font-weight: bold; }
tr.unavailable td, tr.silent td, tr.unseen td { color: var(--dim); font-style: italic; }
svg { width: 100%; height: auto; font: 10px system-ui, sans-serif; }
svg text { fill: var(--dim); } svg text.fault { fill: var(--bad); }
.claim { fill: var(--pale); } .ids { opacity: .85; } .rate { fill: var(--dim); opacity: .45; }
.mark { fill: var(--bad); opacity: .22; }
.c0 { fill: #3f7fd1; } .c1 { fill: #e08b2d; } .c2 { fill: #2fa36b; } .c3 { fill: #9a5fc4; }
.c4 { fill: #c9a227; } .c5 { fill: #2aa5b3; } .c6 { fill: #d1598e; } .c7 { fill: #7d8b39; }
"""
"""The page's stylesheet."""
