#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real clients against real servers: what is granted works, what is not fails at once, and the report says why.

NEAR is granted, by IPv4.  `both.test` has an address of FAR, of IPv6, before that of NEAR; `far.test` has FAR's alone.
A refusal has an errno: no client may wait for anything.  BOUND is far below any time-out of theirs.
"""

import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from netlab import *  # pylint: disable=wildcard-import,wrong-import-position

BOUND = 25
PORT = 8200
PROFILE = f"""profile clients {{
    network {{
        allow tcp {NEAR4} port {PORT}
        allow udp {NEAR4} port 9
    }}
    files {{ read "/usr/lib", "/usr/share", "/usr/local/lib", "/etc/python3.11"; write workspace }}
    env {{ set HOME workspace; set GIT_CONFIG_NOSYSTEM "1"; set no_proxy "*" }}
}}
"""
HOSTS = f"127.0.0.1 localhost\n{FAR6} both.test\n{NEAR4} both.test near.test\n{FAR6} far.test\n{FAR4} far.test\n"
GO = """package main
import ("fmt"; "io"; "net"; "net/http"; "os"; "time")
func main() {
	if os.Args[1] == "interfaces" {
		_, e := net.Interfaces()
		fmt.Println("interfaces:", e)
		return
	}
	c := &http.Client{Timeout: 60 * time.Second}
	r, e := c.Get(os.Args[1])
	if e != nil { fmt.Println("failed:", e); os.Exit(1) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
"""
PYTHON = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode(), end="")
except OSError as e:
    sys.exit(f"failed: {e}")
"""
NODE = """
require("http").get(process.argv[1], { timeout: 60000 }, (r) => { let b = ""; r.on("data", (d) => b += d);
    r.on("end", () => process.stdout.write(b)); })
    .on("error", (e) => { console.error("failed:", e.code, (e.errors || []).map((x) => x.code).join(" ")); process.exit(1); });
"""


def tool(work, policy, *command, options=(), given=""):
    """Runs a command where /etc/hosts is HOSTS; (status, output, errors, whether it was quick)."""
    start = time.monotonic()
    done = inside(HERE, "unshare", "--mount", "sh", "-c",
                  f"mount --bind {work}/hosts /etc/hosts && printf %s \"$0\" | exec \"$@\"", given,
                  *([CAVERUN, *options, policy, "--"] if policy else []), *command)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start < BOUND


def serve(work):
    """A file and a repository by HTTP, at every address of NEAR and FAR."""
    repository = f"{work}/www/repository.git"
    sh(f"""mkdir -p {work}/www && echo hello >{work}/www/hello && git init -q --bare {repository} &&
        git init -q {work}/made && cd {work}/made &&
        git -c user.name=t -c user.email=t@t.test commit -q --allow-empty -m one &&
        git push -q {repository} HEAD:refs/heads/main && git -C {repository} update-server-info""")
    servers = []
    for host in (NEAR, FAR):
        servers.append(subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{host}", "/usr/bin/python3", "-m", "http.server", str(PORT), "--bind", "::",
             "--directory", f"{work}/www"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"}))
    for server in servers:
        server.stdout.readline()
    return servers


def clients(work):
    with open(f"{work}/client.go", "w", encoding="ascii") as f:
        f.write(GO)
    subprocess.run(["go", "build", "-o", f"{work}/goclient", f"{work}/client.go"], check=True,
                   env={**os.environ, "GOCACHE": f"{work}/gocache", "GO111MODULE": "off", "CGO_ENABLED": "0"})
    return {"curl": ["curl", "-sS", "--max-time", "60"], "node": ["node", "-e", NODE],
            "python3": ["/usr/bin/python3", "-c", PYTHON], "go": [f"{work}/goclient"]}


def fetch(work, policy, name, command, far):
    for url, address in ((f"http://{NEAR4}:{PORT}/hello", "address"), (f"http://near.test:{PORT}/hello", "name"),
                         (f"http://both.test:{PORT}/hello", "name whose first address is not granted")):
        outside, inner = tool(work, None, *command, url), tool(work, policy, *command, url)
        check(outside[:2] == (0, "hello\n"), f"outside: {name} fetches from a {address}", str(outside))
        check(inner[:2] == (0, "hello\n") and inner[3], f"granted: {name} fetches from a {address}", str(inner))
    before = len(far.lines())
    for url in (f"http://{FAR4}:{PORT}/hello", f"http://[{FAR6}]:{PORT}/hello", f"http://far.test:{PORT}/hello",
                f"http://{NEAR4}:8000/"):
        status, out, err, quick = tool(work, policy, *command, url, options=("--report",))
        check(status != 0 and not out.startswith("hello") and quick, f"refused at once: {name} {url}",
              f"{status} {out} {err} {quick}")
        check("caverun: refused by policy: connect tcp " in err, f"and reported: {name} {url}", err)
    settle()
    arrived = [line for line in far.lines()[before:] if line.split()[-1] == str(PORT)]
    check(not arrived, f"nothing of {name} arrives at the far host", str(arrived[:3]))
    outside = tool(work, None, *command, f"http://far.test:{PORT}/hello")
    check(outside[:2] == (0, "hello\n"), f"outside: {name} fetches from the far host", str(outside))


def repositories(work, policy):
    """The part of git that speaks HTTP: git starts it as a child."""
    for host, granted in (("both.test", True), ("far.test", False)):
        command = ("/usr/lib/git-core/git-remote-http", "origin", f"http://{host}:{PORT}/repository.git")
        outside = tool(work, None, *command, given="list\n\n")
        status, out, err, quick = tool(work, policy, *command, options=("--report",), given="list\n\n")
        check(outside[0] == 0 and "refs/heads/main" in outside[1], f"outside: git lists from {host}", str(outside))
        check(quick and (status == 0) == granted and ("refs/heads/main" in out) == granted,
              f"{'granted' if granted else 'refused'}: git lists from {host}", f"{status} {out} {err}")
        check(f"refused by policy: connect tcp [{FAR6}]:{PORT}" in err, f"and what was refused is reported: {host}", err)


def lookups(work, policy):
    """Without their grants, looking up names and interfaces fails gently."""
    with open(f"{work}/resolv.conf", "w", encoding="ascii") as f:
        f.write(f"nameserver {FAR4}\noptions timeout:30 attempts:3\n")
    rows = {"python3": ["/usr/bin/python3", "-c", LOOKUP], "node": ["node", "-e", LOOKUP_NODE],
            "go": [f"{work}/goclient", f"http://nowhere.test:{PORT}/"], "curl": ["curl", "-sS", f"http://nowhere.test:{PORT}/"]}
    for name, command in rows.items():
        status, out, err, quick = tool(
            work, None, "sh", "-c", f"mount --bind {work}/resolv.conf $(readlink -f /etc/resolv.conf) && exec \"$@\"", "sh",
            CAVERUN, "--report", policy, "--", *command)
        check(quick and "grant: allow resolver" in err, f"a lookup of {name} fails at once, and the report names the grant",
              f"{status} {out} {err}")
    for name, command, said in (("node", ["node", "-e", "try { require('os').networkInterfaces(); } catch (e) "
                                          "{ console.log('caught', e.code); }"], "caught"),
                                ("go", [f"{work}/goclient", "interfaces"], "interfaces: route"),
                                ("python3", ["/usr/bin/python3", "-c", "import socket\nprint('got', socket.getaddrinfo("
                                             "'near.test', 80, flags=socket.AI_ADDRCONFIG)[0][4][0])"], "got " + NEAR4)):
        status, out, err, quick = tool(work, policy, *command)
        check(quick and status == 0 and out.startswith(said), f"interfaces, of {name}: gently", f"{status} {out} {err}")


LOOKUP = """
import socket
try:
    socket.getaddrinfo("nowhere.test", 80)
except socket.gaierror as e:
    print("failed", e.errno)
"""
LOOKUP_NODE = 'require("dns").lookup("nowhere.test", (e) => console.log("failed", e.code))'


def main(work, _near, far):
    os.chmod(work, 0o755)
    with open(f"{work}/hosts", "w", encoding="ascii") as f:
        f.write(HOSTS)
    policy = compile_policy(work, "clients", PROFILE)
    servers = serve(work)
    try:
        for name, command in clients(work).items():
            fetch(work, policy, name, command, far)
        repositories(work, policy)
        lookups(work, policy)
    finally:
        for server in servers:
            server.kill()
            server.wait()


laboratory(main)
