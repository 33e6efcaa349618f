"""Commands that messages tell a person to run, with the URL, namespace and scheme in use."""

from frazil.layout.layout import Layout
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text

_DEFAULT_SCHEME = "icicle"
_DEFAULT_NAMESPACE = "default"


def init_command(url: str, namespace: str, scheme: Scheme) -> str:
    """``frazil init`` for a namespace, quoted for a shell. url: without its password."""
    from shlex import join  # slow to load, and for messages only

    return join(["frazil", "init", url, *options_of(namespace, scheme)])


def options_of(namespace: str, scheme: Scheme) -> list[str]:
    """The options of the command that name a namespace and a layout; none for the defaults."""
    found = [] if namespace == _DEFAULT_NAMESPACE else ["--namespace", namespace]
    preset = PRESETS.get(scheme.name)
    if preset is None:
        return [*found, "--scheme", str(scheme.layout)]
    if scheme.name != _DEFAULT_SCHEME:
        found += ["--scheme", scheme.name]
    usual = Layout.parse(preset.layout)
    for name, value in scheme.layout.fixed.items():
        if usual.fixed.get(name) != value:
            found += ["--field", f"{name}={value}"]
    epoch_us = scheme.layout.epoch_us
    if epoch_us is not None and epoch_us != usual.epoch_us:
        found += ["--epoch", moment_text(epoch_us)]
    return found
