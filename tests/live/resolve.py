#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cave-resolve by itself, in a network namespace of its own: a scripted name server that also lies, a supervisor that
keeps what is admitted, and questions as a tool would ask them, byte by byte."""

import ipaddress
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
RESOLVE = sys.argv[1] if len(sys.argv) > 1 else f"{TOP}/build/cave-resolve"
A, CNAME, TXT, AAAA, HTTPS = 1, 5, 16, 28, 65
SERVER = "127.0.0.53"
failures = 0


def check(holds, name):
    global failures
    failures += not holds
    print(("ok " if holds else "not ok ") + "resolver: " + name + ("" if holds else ": it is not so"), flush=True)


# --- the record ------------------------------------------------------------------------------------

def pad(data):
    return data + bytes(-len(data) % 4)


def name_bytes(text):
    below = text.startswith("*.")
    raw = text[2 if below else 0:].encode()
    return pad(struct.pack("<HH", below, len(raw)) + raw)


def record():
    """api.test and *.wild.test anywhere public; in.test within 10.0.0.0/8 and fd00::/8; denied: bad.wild.test"""
    def place(flags, v4, v6):
        out = struct.pack("<III", flags, len(v4), len(v6))
        for lo, hi in v4:
            out += struct.pack("<II", int(ipaddress.ip_address(lo)), int(ipaddress.ip_address(hi)))
        for lo, hi in v6:
            for end in (lo, hi):
                out += struct.pack("<IIII", *struct.unpack(">IIII", ipaddress.ip_address(end).packed))
        return out

    out = struct.pack("<IIIII", 2, 2, 4, 1, 0)
    out += struct.pack("<I", 1) + struct.pack("<HHHH", 6, 443, 443, 0)
    out += struct.pack("<I", 1) + struct.pack("<HHHH", 17, 53, 60, 0)
    out += place(1, [("1.0.0.0", "9.255.255.255"), ("11.0.0.0", "99.255.255.255")], [("2600::", "27ff:ffff::")])
    out += place(0, [("10.0.0.0", "10.255.255.255")], [("fd00::", "fdff::")])
    for kind, where, text in ((0, 0, "api.test"), (1, 0, "*.wild.test"), (0, 1, "in.test"), (0, 1, "hosted.test")):
        out += struct.pack("<HHHH", kind, where, 0, 0) + name_bytes(text)
    return out + name_bytes("bad.wild.test")


# --- messages --------------------------------------------------------------------------------------

def wire(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def question(name, kind, ident=0x1234, edns=True):
    raw = name if isinstance(name, bytes) else wire(name)
    out = struct.pack("!HHHHHH", ident, 0x100, 1, 0, 0, 1 if edns else 0) + raw + struct.pack("!HH", kind, 1)
    return out + (b"\0" + struct.pack("!HHIH", 41, 4096, 0, 0) if edns else b"")


def rr(owner, kind, data, ttl=60):
    return (owner if isinstance(owner, bytes) else wire(owner)) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def a(text):
    return ipaddress.ip_address(text).packed


def reply(query, records, rcode=0, flags=0, ident=None, asked=None):
    end = query.index(b"\0", 12) + 5
    head = struct.pack("!HHHHHH", struct.unpack_from("!H", query)[0] if ident is None else ident,
                       0x8180 | flags | rcode, 1, len(records), 0, 0)
    return head + (asked or query[12:end]) + b"".join(records)


times = []  # to live, of the last reply's addresses


def parse(message):
    """(rcode, truncated, [address], extended error or None)"""
    times.clear()
    flags, _, answers, _, extra = struct.unpack_from("!HHHHH", message, 2)
    at, found, ede = 12, [], None
    while message[at]:
        at += 1 + message[at]
    at += 5
    for i in range(answers + extra):
        at += 2 if message[at] & 0xc0 == 0xc0 else 1
        kind, _, ttl, n = struct.unpack_from("!HHIH", message, at)
        data = message[at + 10:at + 10 + n]
        at += 10 + n
        if kind in (A, AAAA):
            times.append(ttl)
            found.append(str(ipaddress.ip_address(data)))
        elif kind == 41 and n >= 6 and struct.unpack_from("!H", data)[0] == 15:
            ede = struct.unpack_from("!H", data, 4)[0]
    return flags & 15, bool(flags & 0x200), found, ede


# --- the name server, which keeps a log and lies where the name says so -----------------------------

log = []


def many(first, n):
    return [f"{first}.0.{i // 250}.{i % 250 + 1}" for i in range(n)]


def pointer(at):
    return struct.pack("!H", 0xc000 | at)


def odd(query):
    """{name: a reply that nobody should take}"""
    end = query.index(b"\0", 12) + 5  # where the first record begins
    good = a("1.9.9.9")
    name = query[12:end - 4]
    long = b"".join(b"\x3f" + b"a" * 63 for _ in range(4)) + b"\0"  # 257 octets

    def with_counts(records, counts):
        message = reply(query, records)
        return message[:6] + struct.pack("!HHH", *counts) + message[12:]

    return {
        "self": reply(query, [rr(pointer(end), A, good)]),
        "mutual": reply(query, [rr(pointer(end + 16), A, good), rr(pointer(end), A, good)]),
        "ahead": reply(query, [rr(pointer(end + 40), A, good)]),
        "beyond": reply(query, [rr(pointer(0x3fff), A, good)]),
        "header": reply(query, [rr(pointer(2), A, good)]),
        "loop": reply(query, [rr(name, CNAME, pointer(end + len(name) + 10))]),
        "long": reply(query, [rr(name, CNAME, long), rr(long, A, good)]),
        "label": reply(query, [rr(b"\x40" + name, A, good)]),
        "more": with_counts([rr(name, A, good)], (65535, 0, 0)),
        "uncut": reply(query, [rr(name, A, good)[:-4]]),
        "big": reply(query, [rr(name, A, good)[:-6] + b"\xff\xff" + good]),
        "none": with_counts([rr(name, A, good)], (0, 1, 0)),
        "extra": with_counts([rr(name, A, good)], (0, 0, 1)),
        "chaos": reply(query, [rr(name, A, good).replace(b"\0\1\0\1\0\0", b"\0\1\0\3\0\0")]),
        "question": with_counts([], (0, 0, 0))[:12] + name + b"\0\x1c\0\1" + rr(name, A, good),
        "unasked": reply(query, [rr("x" + "y" * 9 + ".wild.test", A, good)]),
        "command": reply(query, [rr(name, A, good)], flags=0x2800),
        "ask": reply(query, [rr(name, A, good)])[:2] + b"\1\0" + reply(query, [rr(name, A, good)])[4:],
    }


# Those that are replies to the question, and just say nothing of the name.
EMPTY = ("none", "extra", "chaos", "unasked")


def respond(query, stream):
    """The datagrams, or the one message, that answer a question."""
    end = query.index(b"\0", 12)
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += query[at] + 1
    name, kind = ".".join(labels), struct.unpack_from("!H", query, end + 1)[0]
    log.append((name, kind, "tcp" if stream else "udp"))
    four = kind == A
    if name.endswith(".odd.wild.test"):
        return [odd(query)[labels[0]], reply(query, [rr(name, A, a("1.2.3.4"))])]
    script = {
        "chain.wild.test": [reply(query, [rr("chain.wild.test", CNAME, wire("x.elsewhere.example")),
                                          rr("x.elsewhere.example", CNAME, wire("y.elsewhere.example")),
                                          rr("y.elsewhere.example", A, a("1.2.3.4"))])],
        "loop.wild.test": [reply(query, [rr("loop.wild.test", CNAME, wire("loop.wild.test"))])],
        "extra.wild.test": [reply(query, [rr("extra.wild.test", A, a("1.2.3.4")), rr("other.test", A, a("1.9.9.9"))])],
        "private.wild.test": [reply(query, [rr("private.wild.test", A, a("10.0.0.1"))])],
        "mixed.wild.test": [reply(query, [rr("mixed.wild.test", A, a("127.0.0.1")), rr("mixed.wild.test", A,
              a("169.254.169.254")),
                                          rr("mixed.wild.test", A, a("1.2.3.4"))])],
        "id.wild.test": [reply(query, [rr("id.wild.test", A, a("1.9.9.9"))], ident=struct.unpack_from("!H", query)[0] ^ 1),
                         reply(query, [rr("id.wild.test", A, a("1.2.3.4"))])],
        "asked.wild.test": [reply(query, [rr("asked.wild.test", A, a("1.9.9.9"))], asked=wire("other.wild.test") + b"\0\1\0\1"),
                            reply(query, [rr("asked.wild.test", A, a("1.2.3.4"))])],
        "short.wild.test": [query[:5], b"", reply(query, [rr("short.wild.test", A, a("1.2.3.4"))])],
        "none.wild.test": [reply(query, [], rcode=3)],
        "broken.wild.test": [reply(query, [], rcode=2)],
        "much.wild.test": [reply(query, [rr("much.wild.test", A, a(x)) for x in many(2, 60)])] if stream else
                          [reply(query, [], flags=0x200)],
        "toomuch.wild.test": [reply(query, [rr("toomuch.wild.test", A, a(x)) for x in many(3, 65)])] if stream else
                             [reply(query, [], flags=0x200)],
        "mapped.wild.test": [reply(query, [rr("mapped.wild.test", AAAA, a("::ffff:127.0.0.1"))])],
        "cut.wild.test": [reply(query, [rr("cut.wild.test", A, a("1.2.3.4"))])[:-2], reply(query, [rr("cut.wild.test", A,
              a("1.2.3.4"))])],
        "long.wild.test": [reply(query, [rr("long.wild.test", A, b"\1\2\3\4\5")]), reply(query, [rr("long.wild.test", A,
              a("1.2.3.4"))])],
        "old.wild.test": [reply(query, [rr("old.wild.test", A, a("1.2.3.4"), 864000)])],
        "aged.wild.test": [reply(query, [rr("aged.wild.test", CNAME, wire("x.test"), 7), rr("x.test", A, a("1.2.3.4"), 99)])],
        "negative.wild.test": [reply(query, [rr("negative.wild.test", A, a("1.2.3.4"), 2**31 + 5)])],
        "in.test": [reply(query, [rr("in.test", A if four else AAAA, a("10.1.2.3" if four else "fd00::1"))])],
    }
    return script.get(name, [reply(query, [rr(name, A if four else AAAA, a("1.2.3.4" if four else "2600::1"))])])


def serve_datagrams(sock):
    while True:
        query, who = sock.recvfrom(4096)
        if b"\6source\4wild" in query:
            for address, port in (("127.0.0.52", 53), (SERVER, 5353)):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                    other.bind((address, port))
                    other.sendto(reply(query, [rr("source.wild.test", A, a("1.9.9.9"))]), who)
        for message in respond(query, False):
            sock.sendto(message, who)


def serve_streams(sock):
    while True:
        conn, _ = sock.accept()
        size = struct.unpack("!H", conn.recv(2))[0]
        out = respond(conn.recv(size), True)[-1]
        data = struct.pack("!H", len(out)) + out
        for i in range(0, len(data), 300):
            conn.sendall(data[i:i + 300])
        conn.close()


# --- the run ---------------------------------------------------------------------------------------

class Run:
    def __init__(self, server=SERVER):
        self.admitted, self.refused, self.full = {}, [], False
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.udp, self.tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
        self.udp.bind(("127.0.0.1", 0))
        self.port = self.udp.getsockname()[1]
        self.tcp.bind(("127.0.0.1", self.port))
        self.tcp.listen(8)
        data = tempfile.TemporaryFile()
        data.write(record())
        data.seek(0)
        fds = [data.fileno(), theirs.fileno(), self.udp.fileno(), self.tcp.fileno()]
        self.process = subprocess.Popen([RESOLVE, str(fds[0]), str(fds[1]), str(fds[2]), "-1", str(fds[3]), "-1", server],
                                        pass_fds=fds)
        theirs.close()
        self.supervisor = mine
        threading.Thread(target=self.supervise, daemon=True).start()

    def supervise(self):
        while True:
            try:
                m = self.supervisor.recv(4096)
            except OSError:
                return
            if not m:
                return
            kind, kind_asked, n = struct.unpack_from("=III", m)
            name = m[12:268].split(b"\0")[0].decode()
            check(len(m) == 268 + 20 * n, "a message is as long as it says") if len(m) != 268 + 20 * n else None
            if kind == 1:
                self.supervisor.send(struct.pack("=iIQ", 7 if self.full else 0, 0, self.admit(name, m[268:])))
            else:
                self.refused.append((name, kind_asked))

    def admit(self, name, data):
        """A bit for each address that may be reached: public ones, and any of in.test."""
        bits = 0
        for i, (*words, ttl) in enumerate(struct.iter_unpack("=IIIII", data)):
            address = ipaddress.IPv6Address(struct.pack(">IIII", *words))
            address = address.ipv4_mapped or address
            if not self.full and (address.is_global or name in ("in.test", "hosted.test")):
                self.admitted[str(address)] = (name, ttl)
                bits |= 1 << i
        return bits

    def reported(self, name):
        """The supervisor may be told after the tool."""
        end = time.monotonic() + 5
        while (name, A) not in self.refused and time.monotonic() < end:
            time.sleep(.01)
        return (name, A) in self.refused

    def ask(self, name, kind=A, stream=False, edns=True, wait=8):
        q = name if isinstance(name, bytes) and len(name) > 260 else question(name, kind, edns=edns)
        if stream:
            s = socket.create_connection(("127.0.0.1", self.port), wait)
            s.sendall(struct.pack("!H", len(q)) + q)
            size = struct.unpack("!H", s.recv(2))[0]
            out = b""
            while len(out) < size:
                out += s.recv(size - len(out))
        else:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.settimeout(wait)
            s.connect(("127.0.0.1", self.port))
            s.send(q)
            out = s.recv(65535)
        s.close()
        return parse(out)

    def end(self):
        self.supervisor.shutdown(socket.SHUT_RDWR)
        return self.process.wait(5)


def logged(name):
    return [x for x in log if x[0] == name]


def test_granted(run):
    check(run.ask("api.test") == (0, False, ["1.2.3.4"], None), "a granted name is answered")
    check(run.ask("API.Test", AAAA)[2] == ["2600::1"], "in any case of letters, IPv6 too")
    check(run.admitted["1.2.3.4"] == run.admitted["2600::1"] == ("api.test", 60), "its addresses are admitted, with their time")
    check(run.ask("a.b.wild.test")[2] == ["1.2.3.4"] and run.admitted["1.2.3.4"][0] == "a.b.wild.test",
          "a name below a wildcard")
    check(run.ask("api.test", stream=True)[2] == ["1.2.3.4"], "over a stream")
    check(run.ask("api.test", edns=False)[2] == ["1.2.3.4"], "without EDNS")
    check(run.ask("in.test")[2] == ["10.1.2.3"] and run.ask("in.test", AAAA)[2] == ["fd00::1"],
          "within the places that a rule names")
    check(run.ask("none.wild.test") == (3, False, [], None), "a name that does not exist")
    check(run.ask("api.test", TXT) == (0, False, [], None) and not [x for x in log if x[1] == TXT],
          "other types have no answer, and are not asked")
    check(run.ask("api.test", HTTPS)[2] == [], "nor service bindings")
    check(run.ask("chain.wild.test")[2] == ["1.2.3.4"], "through a chain of names that are not granted")


def test_refused(run):
    for name in ("other.test", "api.test.evil.example", "evilapi.test", "wild.test", "bad.wild.test", "xn--api.test",
          "test", "elsewhere.example"):
        rcode, _, found, ede = run.ask(name)
        check(rcode in (3, 5) and not found and ede == 18 and not logged(name), f"{name} is refused, and nobody is asked")
    check(run.reported("other.test"), "a refusal is reported")
    check(run.ask("other.test", edns=False)[:3] == (3, False, []), "without EDNS as one that does not exist")
    check(run.ask("other.test", edns=False, stream=True)[:3] == (3, False, []), "over a stream too")
    check(run.ask("bad.wild.test", edns=False)[:3] == (3, False, []), "a denied one as well")
    check(run.ask("api.test.corp.example")[0] == 3, "a granted name with a search domain does not exist")
    for raw in (b"\x0eapi.test\0.evil\x04test\0", b"\x08api.test\0", b"\x03a.b\x04wild\x04test\0",
                b"\x03a\0b\x04wild\x04test\0", b"\0"):
        rcode, _, found, ede = run.ask(raw)
        check(rcode == 5 and not found and ede == 18, f"a name with strange bytes {raw!r}")
    before = len(log)
    long = b"".join(b"\x3f" + b"a" * 63 for _ in range(3)) + b"\x3b" + b"a" * 59 + b"\0"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.5)
    s.connect(("127.0.0.1", run.port))
    s.send(question("api.test", A).replace(b"\4test\0\0\1\0\1", b"\4test\0\0\1\0\3"))
    check(parse(s.recv(4096)) == (5, False, [], 18), "a granted name of another class")
    for junk in (b"", b"\0" * 11, question(long, A), question("api.test", A)[:-12], b"\xff" * 600, question(b"\xc0\x0c", A),
                 reply(question("api.test", A), [])):
        s.send(junk)
    try:
        while s.recv(4096):
            pass
    except TimeoutError:
        pass
    check(len(log) == before and run.ask("api.test")[2] == ["1.2.3.4"], "junk is not forwarded, and does no harm")


def test_lies(run):
    check(run.ask("extra.wild.test")[2] == ["1.2.3.4"] and "1.9.9.9" not in run.admitted, "a forged extra record is left out")
    check(run.ask("id.wild.test")[2] == ["1.2.3.4"] and "1.9.9.9" not in run.admitted, "a reply with a wrong id is not taken")
    check(run.ask("asked.wild.test")[2] == ["1.2.3.4"] and "1.9.9.9" not in run.admitted, "nor one to another question")
    check(run.ask("short.wild.test")[2] == ["1.2.3.4"], "nor one that is cut")
    check(run.ask("cut.wild.test")[2] == ["1.2.3.4"], "nor one whose record is cut")
    check(run.ask("long.wild.test")[2] == ["1.2.3.4"] and "1.2.3.4" in run.admitted, "nor one whose record is too long")
    for name, wanted in (("api.test", 60), ("old.wild.test", 86400), ("aged.wild.test", 7), ("negative.wild.test", 0)):
        run.ask(name)
        check(times == [wanted], f"an address of {name} is kept for {wanted} seconds")
    check(run.ask("source.wild.test")[2] == ["1.2.3.4"] and "1.9.9.9" not in run.admitted, "nor one from elsewhere")
    for name in odd(question("x.odd.wild.test", A)):
        found = run.ask(f"{name}.odd.wild.test")[:3]
        check(found == (0, False, [] if name in EMPTY else ["1.2.3.4"]) and "1.9.9.9" not in run.admitted,
              f"a reply that is odd: {name} {'' if name in EMPTY else '(the next one is taken)'}")
    rcode, _, found, ede = run.ask("private.wild.test")
    check(rcode == 0 and not found and ede == 18 and "10.0.0.1" not in run.admitted, "a name that leads to a private address")
    check(run.reported("private.wild.test"), "which is reported")
    check(run.ask("mixed.wild.test")[2] == ["1.2.3.4"] and "127.0.0.1" not in run.admitted
          and "169.254.169.254" not in run.admitted,
          "of mixed addresses only the public one")
    check(run.ask("mapped.wild.test", AAAA)[2] == [] and "127.0.0.1" not in run.admitted, "a mapped loopback address")
    check(run.ask("loop.wild.test")[0] == 2, "a loop of names ends")


def test_bounds(run):
    rcode, cut, found, _ = run.ask("much.wild.test")
    check(rcode == 0 and not cut and len(found) == 60 and logged("much.wild.test")[-1][2] == "tcp",
          "sixty addresses, over a stream upstream")
    rcode, cut, found, _ = run.ask("much.wild.test", edns=False)
    check(rcode == 0 and cut and len(found) < 60, "what does not fit is marked as cut")
    check(len(run.ask("much.wild.test", edns=False, stream=True)[2]) == 60, "and the tool gets it over a stream")
    check(run.ask("toomuch.wild.test")[0] == 2, "more than 64 addresses fail")
    run.full = True
    check(run.ask("api.test")[0] == 2 and run.ask("api.test")[2] == [], "a full map fails the lookup")
    run.full = False
    check(run.ask("api.test")[2] == ["1.2.3.4"], "and the next one is answered")
    start = time.monotonic()
    answers = []
    threads = [threading.Thread(target=lambda i=i: answers.append(run.ask(f"n{i}.wild.test")[2])) for i in range(60)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(answers == [["1.2.3.4"]] * 60, f"sixty questions at once ({time.monotonic() - start:.1f} s)")


def main():
    if os.environ.get("CAVE_RESOLVE_INNER") != "1":
        os.environ["CAVE_RESOLVE_INNER"] = "1"
        os.execvp("unshare", ["unshare", "-n", "-m", "--propagation", "private", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
    udp.bind((SERVER, 53))
    tcp.bind((SERVER, 53))
    tcp.listen(8)
    threading.Thread(target=serve_datagrams, args=(udp,), daemon=True).start()
    threading.Thread(target=serve_streams, args=(tcp,), daemon=True).start()
    run = Run()
    test_granted(run)
    test_refused(run)
    test_lies(run)
    test_bounds(run)
    check(run.process.poll() is None, "it still runs")
    run.end()
    check(run.process.returncode == 0, "and ends with its supervisor")
    dead = Run(server="127.0.0.54")
    start = time.monotonic()
    check(dead.ask("api.test", wait=20)[0] == 2,
          f"a name server that is not there fails the lookup ({time.monotonic() - start:.1f} s)")
    dead.end()
    sys.exit(failures != 0)


main()
