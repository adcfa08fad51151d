"""Ansible: runs the play, which tells its steps itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import steps

HERE = Path(__file__).parent


def main() -> None:
    """Write the inventory, run the play, and say that its end closes the session."""
    gateway = steps.gateway()
    variables = {
        "ansible_connection": "ansible.netcommon.netconf",
        "ansible_network_os": "default",
        "ansible_host": gateway.host,
        "ansible_port": gateway.port,
        "ansible_user": gateway.user,
        "ansible_password": gateway.password,
        "ansible_python_interpreter": sys.executable,
    }
    inventory = Path(gateway.folder, "inventory.json")
    inventory.write_text(json.dumps({"all": {"hosts": {"gateway": variables}}}))
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callbacks"),
        "ANSIBLE_STDOUT_CALLBACK": "steps",
        "ANSIBLE_HOST_KEY_CHECKING": "true",
        "ANSIBLE_HOME": gateway.folder,
        "ANSIBLE_PERSISTENT_CONTROL_PATH_DIR": gateway.folder,
    }
    program = Path(sys.executable).with_name("ansible-playbook")
    subprocess.run([program, "-i", inventory, HERE / "play.yml"], env=environment, check=True)
    steps.say("close")


main()
