#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Grants by host name, end to end: real clients, a scripted name server and web servers in a network of namespaces."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from nameslab import *  # pylint: disable=wildcard-import,wrong-import-position

GO = """package main
import ("fmt"; "io"; "net"; "net/http"; "os"; "time")
func main() {
	if os.Args[1] == "lookup" {
		a, e := net.LookupHost(os.Args[2])
		fmt.Println(a, e)
		return
	}
	c := &http.Client{Timeout: 60 * time.Second}
	r, e := c.Get(os.Args[1])
	if e != nil { fmt.Println("failed:", e); os.Exit(1) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
"""
MUSL = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	int error = getaddrinfo(argv[1], argv[2], &hints, &found), fd;
	char text[4096];
	ssize_t n;

	if (error) {
		printf("failed: %d\n", error);
		return 1;
	}
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	if (connect(fd, found->ai_addr, found->ai_addrlen))
		return perror("failed"), 1;
	dprintf(fd, "GET /hello HTTP/1.0\r\n\r\n");
	while ((n = read(fd, text, sizeof text - 1)) > 0) {
		text[n] = 0;
		if (strstr(text, "hello\n"))
			puts("hello");
	}
	return 0;
}
"""
NODE = """
const dns = require("dns").promises, [, url, name] = process.argv, said = async (what) => {
    try { return await what(); } catch (e) { return (e.cause || e).code; } };
(async () => { console.log(JSON.stringify([await said(async () => (await fetch(url)).text()),
    await said(async () => (await dns.lookup(name, { all: true })).map((x) => x.address)),
    await said(() => dns.resolve4(name)), await said(() => dns.resolveTxt(name))])); })();
"""


# --- clients -----------------------------------------------------------------------------------------

def build(work):
    for name, text in (("client.go", GO), ("client.c", MUSL)):
        with open(f"{work}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    subprocess.run(["musl-gcc", "-static", "-o", f"{work}/muslclient", f"{work}/client.c"], check=True)
    subprocess.run(["go", "build", "-o", f"{work}/goclient", f"{work}/client.go"], check=True,
                   env={**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0"})


def clients(lab):
    def fetch(name, url):
        return {"curl": ["curl", "-sS", "--max-time", "60", url], "go": [f"{lab.work}/goclient", url],
                "musl": [f"{lab.work}/muslclient", url.split("/")[2].split(":")[0], str(PORT)],
                "node": ["node", "-e", NODE, url, url.split("/")[2].split(":")[0]]}[name]

    def served(got):
        return "hello\n" in got[1] or "hello\\n" in got[1]

    where = "other.test"  # outside it is as good a name as any
    for client in ("curl", "go", "musl", "node"):
        good = {h: lab.tool(*fetch(client, f"http://{h}:{PORT}/hello")) for h in ("web.test", "chain.test", "deep.er.wild.test")}
        start = time.monotonic()
        bad = lab.tool(*fetch(client, f"http://{where}:{PORT}/hello"))
        took = time.monotonic() - start
        outside = lab.tool(*fetch(client, f"http://{where}:{PORT}/hello"), policy="none")
        for host, got in good.items():
            check(got[0] == 0 and served(got), f"granted: {client} fetches from {host}", str(got))
        check(served(outside), f"outside: {client} fetches from {where}", str(outside))
        check(not served(bad), f"refused: {client} fetches from {where}", str(bad))
        check(took < 4, f"refused at once: {client} asks for {where} ({took:.1f} s)")
    out = lab.tool("node", "-e", NODE, f"http://web.test:{PORT}/hello", "web.test")[1]
    check(out.strip() == json.dumps(["hello\n", [NEAR4], [NEAR4], "ENODATA"], separators=(",", ":")),
          "node's fetch, lookup, resolve4, and resolveTxt of a granted name", out)
    out = lab.tool(f"{lab.work}/goclient", "lookup", "many.test")[1]
    check("192.0.2.79" in out and "nil" in out, "Go's own resolver, and a reply of 50 addresses", out)
    for host, granted in (("web.test", True), ("other.test", False)):
        got = lab.tool("/usr/lib/git-core/git-remote-http", "origin", f"http://{host}:{PORT}/repository.git", given="list\n\n")
        check((got[0] == 0 and "refs/heads/main" in got[1]) == granted, f"git lists from {host}: {granted}", str(got))


# --- granted, refused ----------------------------------------------------------------------------------

GRANTED = [
    (["lookup", "web.test"], "a name", [NEAR4]), (["connect", "web.test", PORT], "a connection by name", NEAR4),
    (["connect", NEAR4, PORT], "and by the address that was looked up", NEAR4),
    (["lookup", "a.b.wild.test"], "a name below a wildcard", [NEAR4]),
    (["lookup", "WEB.Test"], "in other letters", [NEAR4]), (["lookup", "web.test."], "with a dot at its end", [NEAR4]),
    (["connect", "chain.test", PORT], "by way of names that are not granted", OTHER4),
    (["connect", "rotated.test", PORT], "rotation", tuple(ROTATED)), (["connect", "rotated.test", PORT], "", tuple(ROTATED)),
    (["lookup", "many.test", 4], "a large reply", sorted(MANY + [NEAR4])),
    (["connect", MANY[49], PORT], "its last address", MANY[49]),
    (["lookup", "dual.test"], "IPv4 and IPv6", sorted([FAR4, FAR6])), (["connect", FAR6, PORT], "by IPv6", FAR6),
    (["connect", "::ffff:" + FAR4, PORT], "by mapped IPv4", "::ffff:c633:6402"),
    (["connect", "database.test", RAW], "another port", NEAR4),
    (["connect", "hosted.test", PORT], "a name of /etc/hosts", "192.0.2.7"),
    (["ask", NEAR4, "web.test", 1], "one's own question", [0, [NEAR4], None]),
    (["ask", NEAR4, "web.test", 1, 53, "connect"], "connected", [0, [NEAR4], None]),
    (["ask", NEAR4, "web.test", 1, 53, "sendmsg"], "by sendmsg", [0, [NEAR4], None]),
    (["ask", NEAR4, "web.test", 1, 53, "tcp"], "by TCP", [0, [NEAR4], None]),
    (["ask", "203.0.113.1", "web.test", 1], "of a server that is not there", [0, [NEAR4], None]),
    (["ask", "2001:db8:a::9", "web.test", 1], "of one of IPv6", [0, [NEAR4], None]),
    (["several", [NEAR4, OTHER4, "203.0.113.1"], "web.test"], "of several by one socket", [0, [NEAR4], None]),
    (["reaim", NEAR4, NEAR4, 53], "a second connect", 1),
]
LONG = "hex:" + "".join(f"3f{'61' * 63}" for _ in range(3)) + "3d" + "61" * 61 + "00"  # 255 octets
LOOKALIKE = ["xwild.test", "wild.test", "web.test.example", "web-test", "xweb.test", "wеb.test".encode("idna").decode(),
             "_dns.resolver.arpa"]
REFUSED = [
    (["lookup", "other.test"], "another name", "EAI_NONAME"),
    (["lookup", "bad.wild.test"], "a name that is denied", "EAI_NONAME"),
    *((["ask", NEAR4, x], f"a look-alike, {x}", ([5, [], 18], [3, [], 18])) for x in LOOKALIKE),
    (["ask", NEAR4, LONG], "a name of 255 octets", [5, [], 18]),
    (["ask", NEAR4, "secret.other.test", 1, 53, "tcp"], "another name by TCP", [5, [], 18]),
    (["ask", NEAR4, "secret.other.test", 16], "another record", [5, [], 18]),
    (["ask", NEAR4, "web.test", 16], "another record of a granted name is empty", [0, [], None]),
    *((["ask", NEAR4, "web.test", 1, port, way], f"{way} to port {port}", ("EPERM", "EACCES"))
      for port, way in ((54, "sendto"), (5353, "sendto"), (853, "tcp"), (443, "tcp"), (54, "connect"), (54, "sendmsg"))),
    (["lookup", "moved.test", 4], "a name that is moved to loopback, private and link-local addresses",
     "EAI_NODATA"),
    (["ask", NEAR4, "moved.test", 28], "by IPv6", [0, [], 18]), (["connect", "127.0.0.1", PORT], "127.0.0.1", "EPERM"),
    (["connect", "10.0.0.1", PORT], "10.0.0.1", "EPERM"), (["connect", "169.254.169.254", PORT], "169.254.169.254", "EPERM"),
    (["lookup", "inside.test", 4], "a name outside its place", "EAI_NODATA"),
    (["connect", NEAR4, PORT], "the address of a name that nobody has looked up", "EPERM"),
    (["connect", "database.test", RAW], "a control: the granted port", NEAR4),
    (["connect", NEAR4, PORT], "the port of another name at the same address", "EPERM"),
    (["connect", "web.test", RAW + 1], "a port that no name has", "EPERM"),
    (["ask", NEAR4, "web.test", 1, PORT, "sendto"], "the granted port by UDP", "EPERM"),
    (["lookup", "denied.wild.test", 4], "a control: a name whose address is denied", ["192.0.2.9"]),
    (["connect", "192.0.2.9", PORT], "is not reached", "EPERM"),
    (["connect", "192.0.2.6", PORT], "a name of /etc/hosts that is not granted", "EPERM"),
    (["lookup", "unhosted.test"], "found in the file, as ever", ["192.0.2.6"]),
    (["connect", "unhosted.test", PORT], "but not reached", "EPERM"),
    (["connect", "10.9.9.9", PORT], "a granted name of /etc/hosts that is elsewhere", "EPERM"),
    (["reaim", NEAR4, "198.51.100.9", 53], "a socket that was led to the resolver, sent on elsewhere", 1),
    (["dissolved", NEAR4, FAR4, PORT], "a connection that is taken off and made anew", "EPERM"),
    (["corked", NEAR4, FAR4, RAW], "a corked datagram", "EPERM"),
]


def granted(lab):
    compare(lab.steps(*(x[0] for x in GRANTED)), [x[1:] for x in GRANTED], "granted")
    check(any(x[2] == "tcp" for x in lab.lines("many.test")), "a large reply comes by TCP")
    check(not lab.lines("web.test.corp.test"), "a search domain behind a granted name asks nobody")


def refused(lab):
    compare(lab.steps(*(x[0] for x in REFUSED)), [x[1:] for x in REFUSED], "refused")
    arrived = lab.asked() & {"bad.wild.test", "secret.other.test", *LOOKALIKE}
    check(not arrived and not [x for x in lab.asked() if len(x) > 200], "no such question has left", str(arrived))
    outside = lab.steps(["ask", NEAR4, "secret.other.test"], ["ask", NEAR4, LONG], ["connect", NEAR4, PORT],
                        ["connect", "192.0.2.9", PORT], ["connect", "192.0.2.6", PORT], policy="none")
    compare(outside, [("a question", [3, [], None]), ("a name of 255 octets", [3, [], None]), ("the web server", NEAR4),
                      ("a denied address", "192.0.2.9"), ("one of /etc/hosts", "192.0.2.6")], "outside")
    check("secret.other.test" in lab.asked(), "and the log would show it")


def expiry(lab):
    """A record of one second is kept for thirty; a connection that stands goes on, and a lookup makes it reachable again."""
    steps = (["hold", "short.test", PORT], ["sleep", 3], ["connect", "192.0.2.8", PORT], ["sleep", 29], ["echo", "short.test"],
             ["connect", "192.0.2.8", PORT], ["echo", "short.test"], ["connect", "short.test", PORT])
    return lab.begin(*steps), steps


def expired(process, steps):
    compare(outcome(process, steps), [("a connection", "192.0.2.8"), ("", 3), ("within the grace", "192.0.2.8"), ("", 29),
                                      ("a connection that stands, after it", "HTTP/1.1"), ("a new one to the address", "EPERM"),
                                      ("the old one still", "HTTP/1.1"), ("after another lookup", "192.0.2.8")], "expiry")


# --- other runs, deaths ----------------------------------------------------------------------------------

def resolvers(process):
    """The processes of the name cave-resolve that a runtime has started."""
    done = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(x.split()[0]) for x in done.stdout.splitlines() if x.split()[1] == "cave-resolve"]


def ports(pid):
    done = inside(HERE, "ss", "-Hlnptu")
    return {x.split()[4] for x in done.stdout.splitlines() if f"pid={pid}," in x}


def waiting(lab, *steps):
    """A tool that has made its first steps and waits for a line."""
    process = lab.begin(*steps)
    process.stdout.readline()
    return process


def other_runs(lab):
    steps = [["connect", "web.test", PORT], ["wait"], ["connect", "web.test", PORT]]
    first = waiting(lab, *steps)
    port = int(next(x for x in ports(resolvers(first)[0]) if x.startswith("127.")).split(":")[1])
    got = lab.steps(["connect", NEAR4, PORT], ["ask", "127.0.0.1", "web.test", 1, port], ["connect", "127.0.0.1", port],
                    ["ask", "::1", "web.test", 1, port], ["ask", "127.0.0.1", "web.test", 1, 53], ["sockets", 9000, NEAR4])
    compare(got, [("an address that another run has looked up", "EPERM"), ("another run's resolver, by UDP", "EPERM"),
                  ("by TCP", "EPERM"), ("by IPv6", "EPERM"), ("a control: its own", [0, [NEAR4], None]), ("", 9000)],
            "other runs")
    compare(outcome(first, steps, "go\n"), [("a connection", NEAR4), ("", "go"), ("and another", NEAR4)], "other runs")


def killed_resolver(lab):
    steps = [["connect", "web.test", PORT], ["wait"], ["ask", NEAR4, "web.test"], ["lookup", "rotated.test"],
             ["ask", NEAR4, "web.test", 1, 53, "tcp"], ["ask", NEAR4, "web.test", 1, 53, "connect"]]
    process = waiting(lab, *steps)
    pid = resolvers(process)[0]
    port = next(x for x in ports(pid) if x.startswith("127.")).split(":")[1]
    os.kill(pid, signal.SIGKILL)
    while ports(pid):
        time.sleep(.01)
    time.sleep(.3)
    heard = f"{lab.work}/heard"
    usurper = subprocess.Popen(["nsenter", f"--net=/run/netns/{HERE}", "/usr/bin/python3", "-c", USURPER, port, heard],
                               stdout=subprocess.PIPE, text=True)
    usurper.stdout.readline()
    before = len(lab.lines("rotated.test"))
    got = outcome(process, steps, "go\n")
    usurper.kill()
    usurper.wait()
    compare(got, [("a connection before", NEAR4), ("", "go"), ("a question", "EPERM"), ("a lookup", ("EAI_AGAIN", "EAI_FAIL",
                  "EAI_NONAME", "EAI_SYSTEM")), ("by TCP", "EPERM"), ("connected", "EPERM")], "without its resolver")
    check("the resolver of host names has ended before the tool" in process.said, "which is said", process.said)
    check(os.path.getsize(heard) == 0, "nobody who takes its port hears anything")
    check(len(lab.lines("rotated.test")) == before, "and no question leaves")


def no_resolver(lab):
    """It is started by the first lookup.  One that is not there is found out before the tool starts."""
    folder = f"{lab.work}/without"
    os.makedirs(folder)
    for name in ("caverun", "cave-load"):
        shutil.copy(f"{TOP}/build/{name}", folder)
    got = lab.tool("/bin/true", caverun=f"{folder}/caverun")
    check(got[0] == 125 and "cave_sandbox_os_network_isolation_unavailable" in got[2], "without cave-resolve nothing starts",
          str(got))
    shutil.copy(f"{TOP}/build/cave-resolve.bpf", folder)
    for name, program in (("that ends at once", "/bin/true"), ("that cannot be executed", __file__)):
        shutil.copy(program, f"{folder}/cave-resolve")
        os.chmod(f"{folder}/cave-resolve", 0o755)
        with open(f"{folder}/cave-resolve", "r+b") as f:
            f.write(b"\x7fELF" if program == "/bin/true" else b"\0\0\0\0")
        steps = [["wait"], ["lookup", "web.test", 4], ["ask", NEAR4, "web.test", 1, 53, "tcp"], ["connect", NEAR4, PORT]]
        process = lab.begin(*steps, caverun=f"{folder}/caverun")
        process.stdout.readline()
        check(not resolvers(process), "no resolver is started before it is needed")
        got = outcome(process, steps, "go\n")
        check(got[1] in ("EAI_AGAIN", "EAI_FAIL") and got[2:] == ["EPERM", "EPERM"], f"a cave-resolve {name}: no lookup",
              str(got))
        check("the resolver of host names" in process.said, "which is said", process.said)
    process = waiting(lab, ["wait"], ["lookup", "web.test", 4])
    check(not resolvers(process), "no resolver is started before it is needed")
    check(outcome(process, [[], []], "go\n") == ["go", [NEAR4]], "a control: then it is")


USURPER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", int(sys.argv[1])))
with open(sys.argv[2], "wb", 0) as f:
    print("ready", flush=True)
    while True:
        f.write(s.recv(4096))
"""


def entries(name, run):
    """Of a map of that name, the entries of a run."""
    maps = json.loads(subprocess.run(["bpftool", "-j", "map", "show"], capture_output=True, text=True, check=True).stdout)
    key, n = [f"0x{x:02x}" for x in run.to_bytes(8, "little")], 0
    for m in maps:
        if m.get("name") == name:
            done = subprocess.run(["bpftool", "-j", "map", "dump", "id", str(m["id"])], capture_output=True, text=True,
                                  check=False)
            n += sum(x["key"][:8] == key for x in json.loads(done.stdout or "[]") if isinstance(x.get("key"), list))
    return n


FORGED = [
    ([1, "web.test", [NEAR4]], "a sound message", [0, 1]),
    ([1, "web.test", ["192.0.2.7", "127.0.0.1", "192.0.2.6", "8.8.8.8", "203.0.113.1"]], "of many what is in the place", [0, 5]),
    ([1, "other.test", ["192.0.2.9"]], "a name that is not granted", [errno.EINVAL, 0]),
    ([1, "bad.wild.test", ["192.0.2.9"]], "one that is denied", [errno.EINVAL, 0]),
    ([1, "wild.test", ["192.0.2.9"]], "the base of a wildcard", [errno.EINVAL, 0]),
    ([1, "WEB.test", ["192.0.2.9"]], "in capitals", [errno.EINVAL, 0]),
    ([1, "web.test.", ["192.0.2.9"]], "with a dot", [errno.EINVAL, 0]),
    ([1, "\x1b[2J.wild.test", ["192.0.2.9"]], "with bytes that no name has", [errno.EINVAL, 0]),
    ([1, "", ["192.0.2.9"]], "without a name", [errno.EINVAL, 0]),
    ([1, "moved.test", [NEAR4, "127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1", "0.0.0.0",
                        "64:ff9b::7f00:1", "2002:7f00:1::1", "198.51.100.1"]], "addresses that are not public", [0, 0]),
    ([1, "inside.test", ["127.0.0.1", "11.0.0.1"]], "or not within", [0, 0]),
    ([1, "web.test", ["192.0.2.9"], 2**32 - 1], "for ever", [errno.EINVAL, 0]),
    ([1, "rotated.test", [f"198.51.100.{n}" for n in range(64)]], "sixty-four addresses", [0, 2**64 - 1]),
    ([1, "rotated.test", ["198.51.100.64"]], "and one more", [errno.ENOSPC, 0]),
    ([2, "\x1b[2J", []], "a refusal with bytes that no name has has no answer", "no answer"),
]


def forged(lab):
    """A resolver that somebody has taken over can say what it likes."""
    folder = f"{lab.work}/forged"
    os.makedirs(folder)
    for name in ("caverun", "cave-load", "cave-report", "cave-resolve.bpf"):
        shutil.copy(f"{TOP}/build/{name}", folder)
    shutil.copy(f"{TOP}/build/tests/tools/forger", f"{folder}/cave-resolve")
    steps = [["forge", *x[0]] for x in FORGED]
    connects = [(NEAR4, NEAR4), ("192.0.2.6", "192.0.2.6"), ("192.0.2.9", "EPERM"), ("127.0.0.1", "EPERM"), ("10.0.0.1", "EPERM"),
                ("198.51.100.64", "EPERM"), ("203.0.113.1", "EPERM")]
    got = lab.steps(*steps, *(["connect", x[0], PORT] for x in connects), caverun=f"{folder}/caverun")
    compare(got, [x[1:] for x in FORGED] + [(f"a connection to {x[0]}", x[1]) for x in connects], "a forging resolver")
    many = [["forge", 1, f"n{i}.wild.test", [f"198.51.100.{n}" for n in range(64 - (i == 0))]] for i in range(17)]
    got = lab.steps(*many, caverun=f"{folder}/caverun")
    compare(got, [("names of a run, beside one of /etc/hosts", [0, 2**63 - 1])] + [("more of them", [0, 2**64 - 1])] * 15 +
            [("beyond the bound", [errno.ENOSPC, 0])], "a forging resolver")
    for what, step in (("of the wrong length", ["forge", 1, "web.test", [NEAR4], 60, None, 3]),
                       ("of another length than it says", ["forge", 1, "web.test", [NEAR4], 60, 2]),
                       ("with more addresses than there are", ["forge", 1, "web.test", [NEAR4], 60, 2**31]),
                       ("of no kind", ["forge", 9, "web.test", [NEAR4]])):
        got = lab.steps(["forge", 1, "web.test", [NEAR4]], step, ["sleep", 1], ["forge", 1, "web.test", [OTHER4]],
                        caverun=f"{folder}/caverun")
        check(got[0] == [0, 1] and got[1] in ("no answer", "timeout") and got[3] == "EPERM",
              f"a message {what}: nothing is believed any more", str(got))


def meddling(lab):
    """The resolver is a process of the tool's own user."""
    for options in ((), ("--user", "nobody")):
        steps = [["ask", NEAR4, "web.test"], ["meddle"], ["ask", NEAR4, "web.test"]]
        process = lab.begin(*steps, options=options)
        process.stdout.readline()
        got = outcome(process, steps, f"{resolvers(process)[0]}\n")[1:]
        check(got == [[], [0, [NEAR4], None]], f"a tool does nothing to its resolver {' '.join(options)}", str(got))
    process = lab.begin(["meddle"], policy="none")
    process.stdout.readline()
    victim = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    victim.stdin.write(b"begun\n")
    victim.stdin.flush()
    victim.stdout.readline()
    got = outcome(process, ["meddle"], f"{victim.pid}\n")
    victim.wait()
    check({"kill", "prlimit", "pidfd_open", "read", "nice"} <= set(got[0]), "outside it could", str(got))


def killed_runtime(lab):
    process = waiting(lab, ["connect", "web.test", PORT], ["wait"])
    pid = resolvers(process)[0]
    tool = [int(x) for x in subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True,
                                           check=False).stdout.split() if int(x) != pid]
    with open(f"/proc/{tool[0]}/cgroup", encoding="ascii") as f:
        path = next(x.strip().split("::")[1] for x in f if x.startswith("0::"))
    group = subprocess.run(["findmnt", "-nt", "cgroup2", "-o", "TARGET"], capture_output=True, text=True,
                           check=True).stdout.split()[0] + path
    run = os.stat(group).st_ino
    found = entries("names_run", run), entries("names_live", run)
    check(found == (1, 2), "a run, its address, and that of /etc/hosts are in the maps", f"{found} {run:x} {group}")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(200):
        if not any(os.path.exists(f"/proc/{x}") for x in (pid, *tool)):
            break
        time.sleep(.05)
    check(not os.path.exists(f"/proc/{pid}"), "the resolver ends with a runtime that is killed")
    check(not any(os.path.exists(f"/proc/{x}") for x in tool), "and the tool")
    lab.steps(["lookup", "web.test"])
    check(not os.path.exists(group), "the next start takes its control group away", group)
    check(entries("names_run", run) == 0 and entries("names_live", run) == 0, "and what it had in the maps")


def crowded(lab):
    """What a tool does to its resolver is its own affair, and another run's is answered meanwhile."""
    steps = [["crowd", 40, NEAR4], ["wait"], ["lookup", "web.test"]]
    process = waiting(lab, *steps)
    got = lab.steps(["ask", NEAR4, "web.test", 1, 53, "tcp"])
    check(got == [[0, [NEAR4], None]], "beside a run that holds forty connections to its resolver", str(got))
    compare(outcome(process, steps, "go\n"), [("", 40), ("", "go"), ("it can still ask", [NEAR4])], "forty connections")


def index(name):
    done = subprocess.run(["ip", "-n", HERE, "-j", "link", "show", name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[0]["ifindex"]


REPORTED = ["lookup other.test, 2 times; no rule names it", "lookup bad.wild.test, 2 times; a rule denies it",
            "lookup moved.test; its addresses are not where the rules say", "lookup ?; no rule names it",
            f"connect tcp {NEAR4}:81; no rule; granted names have this address, with other ports",
            f"send udp {NEAR4}:54; no rule; granted names have this address, with other ports",
            "connect tcp 203.0.113.9:8300; no rule; no granted name that was looked up has this address"]


def reported(lab):
    """What was refused is said, and what a lookup of both families tries of its own is told apart."""
    log, strange = f"{lab.work}/log", "hex:05" + b"\x1b[2Jx".hex() + "0474657374" + "00"
    steps = [["lookup", "dual.test"], ["connect", "dual.test", PORT], ["lookup", "other.test"], ["lookup", "bad.wild.test"],
             ["lookup", "moved.test", 4], ["ask", NEAR4, "web.test"], ["ask", NEAR4, "web.test", 1, 54], ["connect", NEAR4, 81],
             ["connect", "203.0.113.9", PORT], ["ask", NEAR4, strange]]
    process = lab.begin(*steps, options=("--report", "--log", log))
    outcome(process, steps)
    for line in REPORTED:
        check(f"caverun: refused by policy: {line}\n" in process.said, f"the report has: {line}", process.said)
    rest = [x for x in process.said.splitlines() if x[len("caverun: refused by policy: "):] not in REPORTED and
            ".corp.test" not in x]
    check(len(rest) == 1 and rest[0].endswith(" address probes, harmless"), "beside these, probes", process.said)
    with open(log, encoding="ascii") as f:
        lines = [json.loads(x) for x in f]
    check({(x["name"], x["reason"]) for x in lines if x["hook"] == "lookup" and "corp" not in x["name"]} ==
          {("other.test", "no rule"), ("bad.wild.test", "denied"), ("moved.test", "place"), ("?", "no rule")}, "and the log")
    check(not [x for x in lines if x["protocol" if "protocol" in x else "hook"] == "udp" and x["port"] != 54 and not x["probe"]],
          "where probes are told apart", str(lines))
    process = lab.begin(["ask", NEAR4, "web.test"], options=("--report",))
    outcome(process, [[]])
    check(process.said == "caverun: nothing was refused by the network's policy\n", "a control: nothing refused", process.said)


def interfaces(lab):
    """A question that is to leave by an interface of the tool's choice: the kernel would send it on to the router there."""
    sh(f"ip -n {HERE} route add default via {NEAR4} dev near; ip -n {HERE} -6 route add default via {NEAR6} dev near")
    capture = subprocess.Popen(["nsenter", f"--net=/run/netns/{NEAR}", "/usr/bin/python3", "-c", WIRE],
                               stdout=subprocess.PIPE, text=True)
    capture.stdout.readline()
    got = lab.steps(["ask", NEAR4, "web.test", 1, 53, f"interface {index('near')}"],
                    ["ask", NEAR4, "web.test", 1, 53, "interface 1"], ["ask", NEAR4, "web.test"],
                    ["ask", NEAR6, "web.test", 1, 53, f"interface {index('near')}"],
                    ["ask", NEAR6, "web.test", 1, 53, "interface 1"])
    settle()
    capture.terminate()
    stray = capture.communicate()[0]
    check(got[2] == [0, [NEAR4], None], "a control: without one", str(got))
    check(got[:2] == got[3:] == ["EPERM", [0, [NEAR4], None]], "by another device than loopback it is refused", str(got))
    check("127." not in stray and "::1 " not in stray.replace(":a::1 ", ""), "nothing that is for loopback is on the wire",
          f"{got} {stray}")
    check("192.0.2.1 " in stray, "a control: the resolver's own question is", stray)


WIRE = """
import ipaddress, socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300)
print("ready", flush=True)
while True:
    p = s.recv(2048)
    if p[0] >> 4 == 4:
        print(ipaddress.ip_address(p[12:16]), ipaddress.ip_address(p[16:20]), p[9], flush=True)
    elif p[0] >> 4 == 6:
        print(ipaddress.ip_address(p[8:24]), ipaddress.ip_address(p[24:40]), p[6], flush=True)
"""


def translated(lab):
    """A network's own prefix for IPv4 in IPv6, which only its operator knows: judged as what it carries."""
    rules = f"{lab.work}/operator.conf"
    with open(rules, "w", encoding="ascii") as f:
        f.write("nat64 2001:db8:a::/96\n")
    for x in (2, 9):
        sh(f"ip -n {NEAR} addr add 2001:db8:a::192.0.2.{x}/64 nodad dev wire")
    inner = {x: f"2001:db8:a::{'c000' if x < 9 else 'a00'}:{'202' if x == 2 else '1'}" for x in (2, 10)}
    steps = [["lookup", "carried.wild.test", 6], ["connect", inner[2], PORT], ["lookup", "shut.wild.test", 6],
             ["connect", "2001:db8:a::c000:209", PORT], ["lookup", "away.wild.test", 6], ["lookup", "broken.wild.test", 6]]
    got = lab.steps(*steps, options=("--config", rules))
    compare(got, [("what carries an address of its place", [inner[2]]), ("is reached", inner[2]),
                  ("what carries one that is denied", "EAI_NODATA"), ("is not", "EPERM"),
                  ("nor one that is elsewhere", "EAI_NODATA"),
                  ("a control: beside the prefix any address of its place", ["2001:db8:a:1::c000:202"])], "an operator's prefix")
    got = lab.steps(*steps)
    compare(got[2:5], [("what carries a denied address is an address", ["2001:db8:a::c000:209"]),
                       ("and reached", "2001:db8:a::c000:209"), ("wherever it leads", [inner[10]])], "without the prefix")


def searched(lab):
    """With many dots wanted, search domains come first: the name itself is found all the same, and at once."""
    before = lab.asked()
    lab.resolv_conf(NEAR4, OTHER4, more="search a.example b.example test\noptions ndots:5")
    for name, command in (("glibc", ("/usr/bin/python3", "-c", LOOKUP, "web.test")),
                          ("Go", (f"{lab.work}/goclient", "lookup", "web.test")),
                          ("musl", (f"{lab.work}/muslclient", "web.test", str(PORT))),
                          ("glibc, a name without its domain", ("/usr/bin/python3", "-c", LOOKUP, "web"))):
        start = time.monotonic()
        got = lab.tool(*command)
        took = time.monotonic() - start
        check(got[0] == 0 and (NEAR4 in got[1] or "hello" in got[1]) and took < 4, f"search domains first: {name} ({took:.1f} s)",
              str(got))
    lab.resolv_conf(NEAR4, OTHER4)
    check(lab.asked() - before <= {"web.test"}, "and none of them is asked for", str(lab.asked() - before))


LOOKUP = "import socket, sys; print(socket.getaddrinfo(sys.argv[1], 80))"
UNBOUND = """server:
    directory: "{work}"
    chroot: ""
    username: ""
    pidfile: ""
    logfile: "{work}/unbound.log"
    use-syslog: no
    log-queries: yes
    do-daemonize: no
    interface: 192.0.2.5
    access-control: 0.0.0.0/0 allow
    do-not-query-localhost: no
    local-zone: "test." nodefault
    module-config: "iterator"
remote-control:
    control-enable: no
auth-zone:
    name: "test"
    zonefile: "{work}/zone.test"
    for-downstream: no
    for-upstream: yes
    fallback-enabled: no
auth-zone:
    name: "elsewhere.example"
    zonefile: "{work}/zone.elsewhere"
    for-downstream: no
    for-upstream: yes
    fallback-enabled: no
"""


def write_zones(work):
    head = "$TTL 60\n@ SOA ns.test. admin.test. 1 3600 600 86400 60\n@ NS ns.test.\n"
    many = "".join(f"many A {x}\n" for x in [*MANY, NEAR4])
    files = {"unbound.conf": UNBOUND.format(work=work),
             "zone.elsewhere": head + f"a CNAME b\nb A {OTHER4}\n",
             "zone.test": head + f"web A {NEAR4}\nchain CNAME a.elsewhere.example.\ndual A {FAR4}\ndual AAAA {FAR6}\n"
                                 f"*.wild A {NEAR4}\n"
                                 f"other A {NEAR4}\nweb TXT text\nweb HTTPS 1 . ipv4hint=192.0.2.9 ipv6hint=2001:db8:a::9\n"
                                 f"_sql._tcp.wild SRV 0 0 {PORT} database.test.\nmoved A 127.0.0.1\nmoved A {NEAR4}\n{many}"}
    for name, text in files.items():
        with open(f"{work}/{name}", "w", encoding="ascii") as f:
            f.write(text)


def real(lab):
    """The name server of a distribution, which has a log of its own."""
    write_zones(lab.work)
    sh(f"ip -n {NEAR} addr add 192.0.2.5/24 dev wire")
    server = subprocess.Popen(["nsenter", f"--net=/run/netns/{NEAR}", "/usr/sbin/unbound", "-c", f"{lab.work}/unbound.conf"],
                              stderr=subprocess.DEVNULL)
    lab.servers.append(server)
    lab.resolv_conf("192.0.2.5")
    for _ in range(100):
        outside = lab.steps(["lookup", "other.test", 4], policy="none")
        if outside != ["EAI_AGAIN"]:
            break
        time.sleep(.1)
    check(outside == [[NEAR4]], "a real name server: outside it answers", str(outside))
    rows = [(["connect", "web.test", PORT], "a name", NEAR4),
            (["connect", "chain.test", PORT], "a chain to another zone", OTHER4),
            (["lookup", "dual.test"], "both families", sorted([FAR4, FAR6])),
            (["lookup", "many.test", 4], "a reply too large for a datagram", sorted(MANY + [NEAR4])),
            (["connect", MANY[30], PORT], "one of its addresses", MANY[30]), (["lookup", "x.y.wild.test"], "a wildcard", [NEAR4]),
            (["ask", "192.0.2.5", "web.test", 16], "texts have no answer", [0, [], None]),
            (["ask", "192.0.2.5", "web.test", 65], "nor service bindings", [0, [], None]),
            (["connect", "192.0.2.9", PORT], "whose hints open nothing", "EPERM"),
            (["ask", "192.0.2.5", "_sql._tcp.wild.test", 33], "nor where services are", [0, [], None]),
            (["ask", "192.0.2.5", "web.test", 255], "nor everything", [0, [], None]),
            (["lookup", "other.test"], "another name", "EAI_NONAME"), (["ask", "192.0.2.5", "_sql._tcp.other.test", 33],
             "and its services", [5, [], 18]),
            (["lookup", "moved.test", 4], "a name that is moved to addresses that are not public", "EAI_NODATA"),
            (["ask", "192.0.2.5", "no.name.test", 1], "a name that is not there", [5, [], 18])]
    with open(f"{lab.work}/unbound.log", encoding="ascii") as log:
        before = {x.split()[4] for x in log if " info: " in x and len(x.split()) == 7}
        compare(lab.steps(*(x[0] for x in rows)), [x[1:] for x in rows], "a real name server")
        asked = {tuple(x.split()[4:6]) for x in log if " info: " in x and len(x.split()) == 7}
    lab.resolv_conf(NEAR4, OTHER4)
    names = {"web.test.", "chain.test.", "dual.test.", "many.test.", "x.y.wild.test.", "moved.test."}
    check(before == {"other.test."} and {x[0] for x in asked} == names, "its log shows granted names, and no other", str(asked))
    check({x[1] for x in asked} == {"A", "AAAA"}, "and no other types", str(asked))


def load(lab):
    """Twenty runs at once."""
    start = time.monotonic()
    runs = [lab.begin(["wait"], ["load", 100 * i, 100, NEAR4]) for i in range(20)]
    for process in runs:
        process.stdout.readline()
    begun = time.monotonic()
    for process in runs:
        process.stdin.write("go\n")
        process.stdin.flush()
    got = [outcome(process, "load") for process in runs]
    end = time.monotonic()
    check(got == [["go", 100]] * 20, f"twenty runs, 2,000 lookups ({2000 / (end - begun):.0f}/s; {begun - start:.1f} s to start)",
          str(got))


def test(work, near, far):  # pylint: disable=unused-argument
    lab = Lab(work)
    try:
        slow = expiry(lab)
        builder = threading.Thread(target=build, args=(work,))
        builder.start()
        for part in (granted, refused, other_runs, killed_resolver, no_resolver, forged, meddling,
                     killed_runtime, crowded, reported, interfaces, load):
            part(lab)
        real(lab)
        builder.join()
        searched(lab)
        translated(lab)
        clients(lab)
        expired(*slow)
    finally:
        for server in lab.servers:
            server.kill()
            server.wait()
        subprocess.run([CAVERUN, "--forget", lab.policy], check=False, capture_output=True)


namespaced(test)
