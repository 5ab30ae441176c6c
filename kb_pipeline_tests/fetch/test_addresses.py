"""The table of public addresses says the same on every Python: what `ipaddress` calls global differs between them."""

import json
import shutil
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from kb_pipeline.fetch import addresses
from kb_pipeline.fetch.addresses import parse_address, why_not_public

VERSIONS = ("3.11", "3.12", "3.13")
DECIDE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("addresses", sys.argv[1])
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

def decide(text):
    try:
        return table.why_not_public(table.parse_address(text))
    except ValueError:
        return "no address"

print(json.dumps([decide(text) for text in json.load(sys.stdin)]))
"""


def interesting():
    """Both ends of every special network and their neighbours, bare, mapped, and through NAT64 and ISATAP."""
    v4 = {
        int(end) + step
        for network, _ in addresses._SPECIAL_V4
        for end in (network[0], network[-1])
        for step in (-1, 0, 1)
    }
    v6 = {
        int(end) + step
        for network in (*(network for network, _ in addresses._SPECIAL_V6), addresses._GLOBAL_UNICAST, addresses._NAT64)
        for end in (network[0], network[-1])
        for step in (-1, 0, 1)
    }
    bare = [str(ip_address(number)) for number in sorted(v4) if 0 <= number < 2**32]
    wrapped = [
        f"{prefix}{text}" for prefix in ("::ffff:", "64:ff9b::", "::", "2600::5efe:", "64:ff9b:1::") for text in bare
    ]
    six = [str(ip_address(2**128 - 1 & number)) for number in sorted(v6)]
    odd = [
        "1.2.3.08",
        "1.2.3",
        "0x7f.1",
        "1.2.3.4%eth0",
        "fe80::1%eth0",
        "fe80::1%25eth0",
        "[::1]",
        "",
        "::1\n",
        "\uff11.1.1.1",
    ]
    return [*bare, *wrapped, *six, *odd]


def python(version):
    """The interpreter of that version that this machine has, or None."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    found = str(pyenv[-1]) if pyenv else shutil.which(f"python{version}")
    works = found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
    return found if works else None


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_decides_alike(version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} on this machine")
    asked = interesting()
    ran = subprocess.run(
        [interpreter, "-I", "-c", DECIDE, addresses.__file__],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(ran.stdout)
    assert dict(zip(asked, said, strict=True)) == {text: decision(text) for text in asked}
    assert len(asked) > 500


def decision(text):
    try:
        return why_not_public(parse_address(text))
    except ValueError:
        return "no address"
