"""Certificates for servers of tests that speak TLS, made by openssl where they are needed."""

import subprocess


def make_certificates(place):
    """An authority and a certificate for ``localhost``, as strict as Python 3.13 requires."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True)

    new = ["req", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(
        *new,
        "-x509",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-subj",
        "/CN=test authority",
        "-addext",
        "keyUsage=critical,keyCertSign,cRLSign",
    )
    openssl(*new, "-keyout", "server.key", "-out", "request", "-subj", "/CN=localhost")
    (place / "names").write_text("subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n")
    sign = ["x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key"]
    openssl(*sign, "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem")
