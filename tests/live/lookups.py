#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Grants by host name, further: names beside children, nested profiles, the host's own addresses, datagrams, a database,
DNS over TLS that is granted, name servers asked in other ways, and maps that are full."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from nameslab import *  # pylint: disable=wildcard-import,wrong-import-position

ECHO, DOT, SQL = 8302, 853, 5432
OWN4, PUBLIC4, OWN6, PUBLIC6 = "11.22.33.1", "11.22.33.2", "2a00:1::1", "2a00:1::2"
MORE = {
    "public.test": {"A": [OWN4, PUBLIC4], "AAAA": [OWN6, PUBLIC6]}, "quic.test": {"A": [NEAR4]}, "dot.test": {"A": [NEAR4]},
    "sql.test": {"A": [OTHER4]}, "churn.test": {"A": [f"192.0.2.{n}" for n in range(100, 200)], "TTL": 60, "window": 25},
    "fleeting.test": {"A": [f"192.0.2.{n}" for n in range(100, 180)], "TTL": 1, "rotate": True},
    "server.test": {"A": [NEAR4], "AAAA": [NEAR6]},
}
HEAD = f"""profile more {{
    network {{
        allow tcp {{ public.test, *.public.test }} port {PORT}
        allow udp quic.test port {ECHO} {PLACE}
        allow tcp sql.test port {SQL} {PLACE}
        allow tcp {{ web.test, churn.test, fleeting.test, server.test }} port {PORT} {PLACE}
        allow tcp localhost port {PORT}
"""
PROFILE = HEAD + f"""    }}
    {FILES}
    profile one {{
        network {{ allow tcp web.test port {PORT} {PLACE}; allow udp quic.test port {ECHO} {PLACE} }}
        {FILES}
    }}
}}
"""
DOTTED = HEAD + f"""        allow tcp dot.test port {DOT} {PLACE}
    }}
    {FILES}
}}
"""
CHILDREN = f"""profile children {{
    network {{ allow tcp {{ web.test, *.wild.test }} port {PORT} {PLACE} }}
    use <git>
    {FILES}
    childProcess {{ max-processes 20; execute "/bin/", "/usr/bin/", "/usr/lib/git-core/" }}
}}
"""

DATAGRAMS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", int(sys.argv[1])))
print("ready", flush=True)
while True:
    data, who = s.recvfrom(2048)
    s.sendto(b"pong" if data == b"ping" else data, who)
"""

# As much of PostgreSQL's protocol (version 3) as one query takes.
DATABASE = """
import socket, struct, sys
def message(kind, data):
    return kind + struct.pack("!I", len(data) + 4) + data
def read(c, n):
    data = b""
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data
def serve(c):
    while True:
        size, code = struct.unpack("!II", read(c, 8))
        read(c, size - 8)
        if code == 196608:
            break
        c.sendall(b"N")
    c.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\\0" b"15.0\\0") + message(b"Z", b"I"))
    while True:
        kind, size = read(c, 1), struct.unpack("!I", read(c, 4))[0]
        read(c, size - 4)
        if kind == b"X":
            return
        row = struct.pack("!H", 1) + b"x\\0" + struct.pack("!IHIhIH", 0, 0, 25, -1, 0xffffffff, 0)
        c.sendall(message(b"T", row) + message(b"D", struct.pack("!HI", 1, 5) + b"found") +
                  message(b"C", b"SELECT 1\\0") + message(b"Z", b"I"))
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", int(sys.argv[1])))
s.listen(8)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    with c:
        try:
            serve(c)
        except OSError:
            pass
"""


def prepare(lab):
    """Addresses that are public, of this host and of NEAR; what is served on HERE, and the other servers."""
    sh(f"""ip -n {HERE} addr add {OWN4}/24 dev near; ip -n {HERE} addr add {OWN6}/64 nodad dev near
        ip -n {NEAR} addr add {PUBLIC4}/24 dev wire; ip -n {NEAR} addr add {PUBLIC6}/64 nodad dev wire""")
    subprocess.run(["ip", "-n", NEAR, "-batch", "-"], check=True, text=True,
                   input="".join(f"addr add 192.0.2.{n}/24 dev wire\n" for n in range(100, 180)))
    for script, host, *arguments in ((SERVER, HERE, PORT, f"{lab.work}/www"), (SERVER, NEAR, DOT, f"{lab.work}/www"),
                                     (DATAGRAMS, NEAR, ECHO), (DATABASE, NEAR, SQL)):
        lab.serve("/usr/bin/python3", "-c", script, *map(str, arguments), host=host)
    lab.policy = compile_policy(lab.work, "more", PROFILE)


def own(lab):
    """The host's own addresses are no answer, however public they are."""
    outside = lab.steps(["connect", OWN4, PORT], ["connect", OWN6, PORT], policy="none")
    compare(outside, [("the host's own address answers", OWN4), ("by IPv6", OWN6)], "outside")
    rows = [(["lookup", "public.test"], "of a name's addresses the host's own are left out", sorted([PUBLIC4, PUBLIC6])),
            (["connect", PUBLIC4, PORT], "a public address", PUBLIC4), (["connect", PUBLIC6, PORT], "by IPv6", PUBLIC6),
            (["connect", OWN4, PORT], "the host's own", "EPERM"), (["connect", OWN6, PORT], "by IPv6", "EPERM")]
    compare(lab.steps(*(x[0] for x in rows)), [x[1:] for x in rows], "own addresses")


def ways(lab):
    """The tool's own name servers, in every way that a datagram or a connection can be sent to one."""
    rows = [(["ask", NEAR6, "web.test", 1, 53, way], f"IPv6, {way}", [0, [NEAR4], None])
            for way in ("sendto", "connect", "sendmsg", "tcp")]
    rows += [(["ask", f"::ffff:{NEAR4}", "web.test", 1, 53, way], f"mapped IPv4, {way}", [0, [NEAR4], None])
             for way in ("sendto", "connect", "sendmsg", "tcp")]
    rows += [(["ask", NEAR6, "other.test", 1, 53, way], f"another name, {way}", [5, [], 18]) for way in ("sendto", "tcp")]
    rows += [(["ask", f"::ffff:{NEAR4}", "other.test", 1, 53, "sendto"], "another name, mapped", [5, [], 18]),
             (["ask", "127.0.0.53", "other.test"], "a name server on the host itself", [5, [], 18]),
             (["ask", "127.0.0.53", "web.test"], "a control", [0, [NEAR4], None]),
             (["ask", "0.0.0.0", "web.test"], "no address at all", [0, [NEAR4], None]),
             (["lookup", "localhost"], "localhost", (["127.0.0.1"], ["127.0.0.1", "::1"])),
             (["ask", NEAR4, "localhost"], "which no name server is asked for", [5, [], 18]),
             (["connect", "localhost", PORT], "granted as an address", ("127.0.0.1", "::1")),
             (["connect", "localhost", RAW], "by that port", "EPERM")]
    compare(lab.steps(*(x[0] for x in rows)), [x[1:] for x in rows], "asked")
    check("localhost" not in lab.asked() and "other.test" not in lab.asked(), "no such question has left", str(lab.asked()))


def services(lab):
    """Datagrams by name; a database's own client; DNS over TLS where it is granted."""
    rows = [(["datagram", "quic.test", ECHO], "a datagram there and back", "pong"),
            (["datagram", "quic.test", ECHO + 1], "to another port", "EPERM"),
            (["datagram", "web.test", ECHO], "to the same address, by another name", "pong"),
            (["connect", "quic.test", ECHO], "by TCP", "EPERM"),
            (["connect", "dot.test", DOT], "DNS over TLS", ("EAI_NONAME", "EPERM")),
            (["connect", NEAR4, DOT], "by address", "EPERM")]
    compare(lab.steps(*(x[0] for x in rows)), [x[1:] for x in rows], "services")
    dotted = compile_policy(lab.work, "dotted", DOTTED)
    compare(lab.steps(["connect", "dot.test", DOT], ["connect", "dot.test", PORT], policy=dotted),
            [("DNS over TLS, granted", NEAR4), ("another port of it", "EPERM")], "services")
    subprocess.run([CAVERUN, "--forget", dotted], check=False, capture_output=True)
    for host, granted in (("sql.test", True), ("web.test", False), ("other.test", False)):
        query = ("psql", "-X", "-A", "-t", "-c", "select x", f"host={host} port={SQL} user=u dbname=d connect_timeout=5")
        outside, got = lab.tool("/usr/lib/postgresql/15/bin/" + query[0], *query[1:], policy="none"), None
        got = lab.tool("/usr/lib/postgresql/15/bin/" + query[0], *query[1:])
        check(outside[1] == "found\n", f"outside: psql asks {host}", str(outside))
        check((got[0] == 0 and got[1] == "found\n") == granted, f"psql asks {host}: {granted}", str(got))


def nested(lab):
    """A profile within the profile, with fewer names."""
    rows = [(["connect", "web.test", PORT], "its name", NEAR4),
            (["lookup", "public.test"], "one of the outer profile's", "EAI_NONAME"),
            (["connect", PUBLIC4, PORT], "its address", "EPERM"), (["connect", "localhost", PORT], "an outer address", "EPERM")]
    got = lab.steps(*(x[0] for x in rows), options=("--profile", "one"))
    compare(got, [x[1:] for x in rows], "a nested profile")


def children(lab):
    """Processes of the tool's own are in the same run."""
    policy = compile_policy(lab.work, "children", CHILDREN)
    script = f"""for host in web.test a.wild.test other.test; do
        curl -sS --max-time 20 http://$host:{PORT}/hello 2>/dev/null || echo $?; done"""
    got = lab.tool("/bin/sh", "-c", script, policy=policy)
    check(got[1].split() == ["hello", "hello", "6"], "children look up and fetch", str(got))
    got = lab.tool("/bin/sh", "-c", f"curl -sS http://web.test:{PORT}/hello; (sleep .1; curl -sS http://{NEAR4}:{PORT}/hello)",
                   policy=policy)
    check(got[1].split() == ["hello", "hello"], "what one has looked up another reaches", str(got))
    for host, granted in (("web.test", True), ("other.test", False)):
        got = lab.tool("/usr/bin/git", "clone", "-q", f"http://{host}:{PORT}/repository.git", "cloned", policy=policy)
        check((got[0] == 0) == granted, f"git clones from {host}: {granted}", str(got))
    subprocess.run([CAVERUN, "--forget", policy], check=False, capture_output=True)


def churn(lab):
    """Answers that change with each question, up to the bound of a name: then the lookup fails, and nothing is widened."""
    got = lab.steps(*[["ask", NEAR4, "churn.test"]] * 3, ["connect", "192.0.2.100", PORT], ["connect", "192.0.2.174", PORT],
                    ["ask", NEAR4, "web.test"])
    window = [[0, sorted(f"192.0.2.{n}" for n in range(a, a + 25)), None] for a in (100, 125)]
    compare(got, [("some addresses", window[0]), ("others", window[1]), ("more than a name may have: SERVFAIL", [2, [], 0]),
                  ("the first ones are reached", "192.0.2.100"), ("the last ones are not", "EPERM"),
                  ("another name is found", [0, [NEAR4], None])], "churn")


def fleeting(lab):
    """A new address for each question, for a second: the grace of the oldest gives way, and its connections do not."""
    steps = [["hold", "fleeting.test", PORT], *[["ask", NEAR4, "fleeting.test"]] * 64, ["sleep", 1.2],
             ["ask", NEAR4, "fleeting.test"], ["connect", "192.0.2.165", PORT], ["connect", "192.0.2.100", PORT],
             ["echo", "fleeting.test"], ["connect", "192.0.2.101", PORT]]
    rows = [("a connection", "192.0.2.100"), *[("others", [0, [f"192.0.2.{n}"], None]) for n in range(101, 164)],
            ("and one too many", [2, [], 0]), ("", 1.2), ("later there is room", [0, ["192.0.2.165"], None]),
            ("for the new one", "192.0.2.165"), ("not for the oldest", "EPERM"), ("whose connection stands", "HTTP/1.1"),
            ("and for the others", "192.0.2.101")]
    compare(lab.steps(*steps), rows, "fleeting addresses")


def full(lab):
    """Sixteen runs of a policy that use up the map: no other gains an address, and it can look up when they have ended."""
    folder = f"{lab.work}/forged"
    os.makedirs(folder)
    for name in ("caverun", "cave-load", "cave-report", "cave-resolve.bpf"):
        shutil.copy(f"{TOP}/build/{name}", folder)
    shutil.copy(f"{TOP}/build/tests/tools/forger", f"{folder}/cave-resolve")
    fill = [["forge", 1, f"n{i}.public.test", [f"11.22.{k}.{n + 1}" for n in range(64)]] for i, k in enumerate(range(100, 116))]
    runs = [lab.begin(*fill, ["wait"], caverun=f"{folder}/caverun") for _ in range(16)]
    for process in runs:
        process.stdout.readline()
    got = lab.steps(["ask", NEAR4, "web.test"], ["connect", NEAR4, PORT], ["connect", "11.22.100.1", PORT])
    compare(got, [("with a full map no lookup", [2, [], 0]), ("and no address", "EPERM"), ("nor another run's", "EPERM")], "full")
    for process in runs:
        filled = outcome(process, [*fill, []], "go\n")
        check(filled == [[0, 2**64 - 1]] * 16 + ["go"], "1,024 addresses of a run", str(filled))
    got = lab.steps(["lookup", "web.test", 4], ["connect", NEAR4, PORT])
    compare(got, [("a control: when they have ended it is found", [NEAR4]), ("and reached", NEAR4)], "full")


def library(lab):
    """Started by a program of one's own, whose thread keeps the run."""
    other = f"{TOP}/build/tests/library/caverun"
    os.environ["CAVE_LOAD"] = f"{TOP}/build/cave-load"
    rows = [(["connect", NEAR4, PORT], "an address that was not looked up", "EPERM"),
            (["connect", "web.test", PORT], "a name", NEAR4),
            (["lookup", "other.test"], "another name", "EAI_NONAME"), (["connect", "dual.test", PORT], "another", "EAI_NONAME")]
    got = lab.steps(*(x[0] for x in rows), caverun=other)
    compare(got, [x[1:] for x in rows], "the library")
    check(lab.tool("/bin/true", caverun=other)[0] == 0, "the library: a tool that looks nothing up")


def test(work, near, far):  # pylint: disable=unused-argument
    lab = Lab(work, MORE)
    try:
        prepare(lab)
        for part in (own, ways, services, nested, children, churn, fleeting, full, library):
            part(lab)
    finally:
        for server in lab.servers:
            server.kill()
            server.wait()
        subprocess.run([CAVERUN, "--forget", lab.policy], check=False, capture_output=True)


namespaced(test)
