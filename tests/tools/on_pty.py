#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""on_pty.py COMMAND…: runs a command on a terminal of its own, copies what it prints, and ends with its status."""

import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    os.write(1, data.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
