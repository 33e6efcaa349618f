"""A web application that opened its generator, and used it, before gunicorn forked its workers."""

import os
from array import array

import frazil

if os.environ["IDS_BROKEN"]:
    import broken

    getattr(broken, os.environ["IDS_BROKEN"])()
ids = frazil.open(os.environ["IDS_URL"], os.environ["IDS_SCHEME"], lead="20s", timeout="3s")
FIRST = ids.take(int(os.environ["IDS_FIRST"]))


def application(environ, start_response):
    """GET /500 answers 500 IDs as 64-bit words; GET / what the master had made."""
    asked = int(environ["PATH_INFO"].strip("/") or 0)
    try:
        body = array("Q", [ids() for _ in range(asked)] if asked else FIRST).tobytes()
        status = "200 OK"
    except frazil.FrazilError as error:
        body, status = str(error).encode(), "503 Service Unavailable"
    start_response(status, [("Content-Length", str(len(body))), ("X-Worker", str(os.getpid()))])
    return [body]
