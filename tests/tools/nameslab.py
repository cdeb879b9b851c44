# SPDX-License-Identifier: MIT
"""What the live tests of grants by host name have in common: name servers and web servers in a network of namespaces.

NEAR serves names at its two addresses and keeps a log of the questions; NEAR and FAR answer HTTP at every address.
Addresses of documentation are not globally reachable, so the rules say `within`.
"""

import json
import os
import subprocess
import sys

from netlab import *  # pylint: disable=wildcard-import

PORT, RAW = 8300, 8301
ROTATED = [f"192.0.2.{n}" for n in range(20, 24)]
MANY = [f"192.0.2.{n}" for n in range(30, 80)]
PLACE = "within { 192.0.2.0/24, 198.51.100.0/24, 2001:db8::/32 }"
FILES = """files { read "/usr/lib", "/usr/share", "/usr/local/lib", "/etc/python3.11", "/etc/hosts", "/etc/resolv.conf",
        "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"; write workspace }
    env { set HOME workspace; set GIT_CONFIG_NOSYSTEM "1"; set no_proxy "*" }"""
PROFILE = f"""profile names {{
    network {{
        allow tcp {{ web.test, chain.test, rotated.test, many.test, dual.test, short.test, hosted.test, private.test,
            *.wild.test }} port {PORT} {PLACE}
        allow tcp database.test port {RAW} {PLACE}
        allow tcp moved.test port {PORT}
        allow tcp inside.test port {PORT} within 10.0.0.0/8
        deny bad.wild.test; deny 192.0.2.9
    }}
    {FILES}
}}
"""
ZONE = {
    "web.test": {"A": [NEAR4]}, "chain.test": {"CNAME": "a.elsewhere.example"},
    "a.elsewhere.example": {"CNAME": "b.elsewhere.example"}, "b.elsewhere.example": {"A": [OTHER4]},
    "rotated.test": {"A": ROTATED, "rotate": True}, "many.test": {"A": MANY + [NEAR4]},
    "dual.test": {"A": [FAR4], "AAAA": [FAR6]}, "short.test": {"A": ["192.0.2.8"], "TTL": 1},
    "database.test": {"A": [NEAR4]}, "*.wild.test": {"A": [NEAR4]}, "denied.wild.test": {"A": ["192.0.2.9"]},
    "moved.test": {"A": ["127.0.0.1", "10.0.0.1", "169.254.169.254", NEAR4], "AAAA": ["::1", "fe80::1", "::ffff:127.0.0.1"]},
    "inside.test": {"A": [NEAR4]}, "other.test": {"A": [NEAR4]}, "web.test.corp.test": {"A": [FAR4]},
    "bad.wild.test": {"A": [NEAR4]},
    "carried.wild.test": {"AAAA": ["2001:db8:a::192.0.2.2"]}, "shut.wild.test": {"AAAA": ["2001:db8:a::192.0.2.9"]},
    "away.wild.test": {"AAAA": ["2001:db8:a::10.0.0.1"]}, "broken.wild.test": {"AAAA": ["2001:db8:a:1::192.0.2.2"]},
}
HOSTS = "127.0.0.1 localhost\n192.0.2.7 hosted.test\n192.0.2.6 unhosted.test\n10.9.9.9 away.wild.test\n"
ASKER = f"{TOP}/tests/tools/asker.py"


class Lab:
    """The servers, the policies, and how a tool is started."""

    def __init__(self, work, zone=None):
        self.work, self.log, self.servers = work, f"{work}/questions", []
        with open(ASKER, encoding="ascii") as f:
            self.asker = f.read()
        with open(f"{work}/zone", "w", encoding="ascii") as f:
            json.dump({**ZONE, **(zone or {})}, f)
        with open(f"{work}/hosts", "w", encoding="ascii") as f:
            f.write(HOSTS)
        self.resolv_conf(NEAR4, OTHER4)
        sh(f"mount --bind {work}/hosts /etc/hosts; mount --bind {work}/resolv.conf $(readlink -f /etc/resolv.conf)")
        addresses = [*ROTATED, *MANY, *(f"192.0.2.{n}" for n in range(6, 10))]
        subprocess.run(["ip", "-n", NEAR, "-batch", "-"], check=True, text=True,
                       input="".join(f"addr add {x}/24 dev wire\n" for x in addresses))
        self.serve("/usr/bin/python3", f"{TOP}/tests/tools/zone.py", f"{work}/zone", self.log, NEAR4, OTHER4, NEAR6)
        self.web()
        self.policy = compile_policy(work, "names", PROFILE)

    def resolv_conf(self, *servers, more="search corp.test"):
        with open(f"{self.work}/resolv.conf", "w", encoding="ascii") as f:
            f.writelines([*(f"nameserver {x}\n" for x in servers), more, "\n"])

    def serve(self, *command, host=NEAR):
        server = subprocess.Popen(["nsenter", f"--net=/run/netns/{host}", *command], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        self.servers.append(server)
        server.stdout.readline()

    def web(self):
        repository = f"{self.work}/www/repository.git"
        sh(f"""mkdir -p {self.work}/www && echo hello >{self.work}/www/hello && git init -q --bare {repository} &&
            git init -q {self.work}/made && cd {self.work}/made &&
            git -c user.name=t -c user.email=t@t.test commit -q --allow-empty -m one &&
            git push -q {repository} HEAD:refs/heads/main && git -C {repository} update-server-info""")
        for host, port in ((NEAR, PORT), (NEAR, RAW), (FAR, PORT)):
            self.serve("/usr/bin/python3", "-c", SERVER, str(port), f"{self.work}/www", host=host)

    def asked(self):
        """What has reached the name servers: {name}."""
        with open(self.log, encoding="ascii") as f:
            return {line.split()[0] for line in f}

    def lines(self, name):
        with open(self.log, encoding="ascii") as f:
            return [line.split() for line in f if line.split()[0] == name]

    def start(self, *command, policy=None, options=(), caverun=CAVERUN):
        prefix = [caverun, *options, policy or self.policy, "--"] if policy != "none" else []
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{HERE}", *prefix, *command], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def tool(self, *command, given="", **how):
        """(status, output, errors) of a command."""
        process = self.start(*command, **how)
        out, err = process.communicate(given, timeout=100)
        return process.returncode, out, err

    def begin(self, *steps, **how):
        return self.start("/usr/bin/python3", "-c", self.asker, json.dumps(steps), **how)

    def steps(self, *steps, **how):
        """The outcome of each step of the asker."""
        return outcome(self.begin(*steps, **how), steps)


SERVER = """
import functools, http.server, socket, sys
class Server(http.server.ThreadingHTTPServer):
    address_family, request_queue_size = socket.AF_INET6, 64
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        self.send_response(204)
        self.end_headers()
socket.getfqdn = str  # which would ask a name server for its own name
server = Server(("::", int(sys.argv[1])), functools.partial(Handler, directory=sys.argv[2]))
print("ready", flush=True)
server.serve_forever()
"""


def outcome(process, steps, given=""):
    out, err = process.communicate(given, timeout=100)
    process.said = err
    try:
        return json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        check(False, f"steps {steps}", f"status {process.returncode}; {out} {err}")
        return ["nothing"] * len(steps)


def compare(got, expected, kind):
    """`expected` is [(what is shown, the outcome)], of the steps in order."""
    for (name, wanted), value in zip(expected, got):
        check(value in wanted if isinstance(wanted, tuple) else value == wanted, f"{kind}: {name}", str(value))


def namespaced(test):
    """Runs a test of the laboratory where it may mount."""
    if os.environ.get("CAVE_NAMES_INNER") != "1" and os.getuid() == 0:
        os.environ["CAVE_NAMES_INNER"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    laboratory(test)
