#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What comes in at the endpoints of a `listen` and what leaves from them, and the host's name servers."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from netlab import *  # pylint: disable=wildcard-import,wrong-import-position


def listening(work, near):
    """Connections come in at the granted endpoints, and at no other."""
    policy = compile_policy(work, "listen", """profile listen { network {
        listen tcp 192.0.2.1 port 9300-9301
        listen tcp :: port 9302
        listen tcp localhost port 9303
        listen tcp any port 9305
        listen tcp { ::, 192.0.2.1 } port 9306
        allow tcp 192.0.2.2 port 7394
    } }
""")
    granted = [("accept-tcp 192.0.2.1 9300", NEAR, "192.0.2.1", "9300"),
               ("accept-tcp ::ffff:192.0.2.1 9301", NEAR, "192.0.2.1", "9301"),
               ("accept-tcp :: 9302", NEAR, "2001:db8:a::1", "9302"),
               ("accept-tcp 2001:db8:b::1 9302", FAR, "2001:db8:b::1", "9302"),
               ("accept-tcp 192.0.2.1 9300", FAR, "192.0.2.1", "9300"),
               ("accept-tcp 127.0.0.1 9303", HERE, "127.0.0.1", "9303"),
               ("accept-tcp 127.9.9.9 9303", HERE, "127.9.9.9", "9303"),
               ("accept-tcp ::1 9303", HERE, "::1", "9303"),
               # A socket of IPv6 that takes IPv4 as well: its answer to the SYN is in the listening socket's name.
               ("accept-tcp :: 9305", NEAR, "192.0.2.1", "9305"),
               ("accept-tcp :: 9305", NEAR, "2001:db8:a::1", "9305"),
               ("accept-tcp 0.0.0.0 9305", NEAR, "192.0.2.1", "9305"),
               ("accept-tcp :: 9306", NEAR, "192.0.2.1", "9306")]
    silent = [("accept-tcp :: 9302", NEAR, "192.0.2.1", "9302"), ("accept-unbound 4", NEAR, "192.0.2.1", AUTOMATIC),
              ("accept-unbound 6", NEAR, "2001:db8:a::1", AUTOMATIC),
              ("accept-tcp 192.0.2.1 0", NEAR, "192.0.2.1", AUTOMATIC)]
    refused = [("accept-tcp 192.0.2.1 9304", NEAR, "192.0.2.1", "9304"),
               ("accept-tcp 192.0.2.1 9302", NEAR, "192.0.2.1", "9302"),
               ("accept-tcp 198.51.100.1 9300", FAR, "198.51.100.1", "9300"),
               ("accept-tcp 0.0.0.0 9300", NEAR, "192.0.2.1", "9300"),
               ("accept-tcp :: 9300", NEAR, "192.0.2.1", "9300"), ("accept-tcp ::1 9300", HERE, "::1", "9300"),
               ("accept-tcp 0.0.0.0 9303", HERE, "127.0.0.1", "9303")]
    for case in granted:
        check(visit(*case, policy) == ("allowed", "echo"), f"granted: {case[0]} from {case[1][-1]}")
    for case in refused:
        check(visit(*case) == ("allowed", "echo"), f"outside: {case[0]} at {case[2]}")
    inside(HERE, "sysctl", "-qw", "net.ipv4.ip_local_port_range=45000 45007")
    for case in silent:
        check(visit(*case) == ("allowed", "echo"), f"outside: {case[0]} at {case[2]}")
        outcome, got = visit(*case, policy)
        check(outcome == "refused EAGAIN" and not got, f"nobody comes in: {case[0]} at {case[2]}", f"{outcome} {got}")
    inside(HERE, "sysctl", "-qw", "net.ipv4.ip_local_port_range=32768 60999")
    for case in refused:
        outcome, got = visit(*case, policy)
        check(outcome == "refused EPERM" and not got, f"refused: {case[0]}", f"{outcome} {got}")
    rows = [f"tcp {FAR4} 7395", f"tcp {NEAR4} 7396", "bind-udp 192.0.2.1 9300", "unix-listen @cave-net", "socket 2 2 0",
            f"tcp-bound-zero 192.0.2.1 {FAR4} 7395"]
    outcome = attempts([*rows, f"tcp {NEAR4} 7394"], policy)
    for row in rows:
        check(outcome[row].startswith("refused"), f"refused beside a listen: {row}", outcome[row])
    check(outcome[f"tcp {NEAR4} 7394"] == "allowed", "granted beside a listen: a connection out")


ENDPOINTS = """profile endpoints { network {
    listen tcp { 192.0.2.1, 198.51.100.1 } port 9310-9319
    listen tcp any port 9320-9329
    allow tcp 192.0.2.2 port 7340-7389
    allow tcp 2001:db8:a::2 port 7340-7389
} }
"""


def from_endpoints(work, near, far):
    """From a granted endpoint nobody is reached who is not granted, by whatever way its socket got there."""
    policy = compile_policy(work, "endpoints", ENDPOINTS)
    calls = [f"{call} {at} {{}} {{}}" for call in ("connect-bound", "fastopen-bound", "connect-listening")
             for at in ("192.0.2.1 9310", "0.0.0.0 9320")]
    for port, call in enumerate(calls, 7340):
        out, to_near, to_far = call.format(FAR4, port), call.format(NEAR4, port), call.format(FAR4, port + 10)
        outside, granted, refused = attempts([out])[out], attempts([to_near], policy), attempts([to_far], policy)
        settle()
        check(outside == "allowed" and far.saw(port), f"outside: {out}", outside)
        check(granted[to_near] == "allowed" and near.saw(port), f"granted: {to_near}", granted[to_near])
        check(refused[to_far] == "refused EPERM" and not far.saw(port + 10), f"refused: {to_far}", refused[to_far])
    for port, call in enumerate(("connect-accepted", "fastopen-accepted"), 7360):
        for peer, remote, where, wanted in ((FAR4, far, None, "allowed"), (NEAR4, near, policy, "allowed"),
                                            (FAR4, far, policy, "refused EPERM")):
            name = port + (10 if where else 0)
            outcome, _ = visit(f"{call} 192.0.2.1 9311 {peer} {name}", NEAR, "192.0.2.1", "9311", where)
            settle()
            check(outcome == wanted and remote.saw(name) == (wanted == "allowed"),
                  f"{'under the policy' if where else 'outside'}, {wanted}: {call} {peer}", outcome)
    outcome, _ = visit(f"send-accepted 192.0.2.1 9312 {FAR4} 7375", NEAR, "192.0.2.1", "9312", policy)
    settle()
    check(outcome == "allowed" and not far.saw(7375), "a peer that is named to a connection is passed over", outcome)


def at_endpoints(work, near, far):
    """What comes in where it should not, however the socket was made to listen."""
    policy = compile_policy(work, "at", ENDPOINTS)
    inside(HERE, "sysctl", "-qw", "net.ipv4.tcp_fastopen=3")
    for where, wanted in ((None, ("allowed", "echo")), (policy, ("refused EPERM", ""))):
        got = visit("accept-fastopen 192.0.2.1 9313", NEAR, "192.0.2.1", "9313", where)
        check(got == wanted, f"{'under the policy' if where else 'outside'}: an option for data in the first packet", str(got))
    inside(HERE, "sysctl", "-qw", "net.ipv4.tcp_fastopen=1")
    # A socket that was aimed at a mapped address before it listened to IPv6.
    row = f"accept-mapped :: 9322 {NEAR4} 7341"
    before = {host: len(host.lines()) for host in (near, far)}
    for where in (None, policy):
        outcome, _ = visit(row, NEAR, "2001:db8:a::1", "9322", where)
        check(outcome != "refused EPERM", f"{'under the policy' if where else 'outside'}: {row} gets as far as to listen",
              outcome)
    settle()
    stray = [line for line in far.lines()[before[far]:] if line.startswith("tcp")]
    check(not stray, "what came in at it sends nothing elsewhere", str(stray))
    row = "bind-foreign 203.0.113.7 9310"
    check(attempts([row])[row] == "allowed", f"outside: {row}")
    check(attempts([row], policy)[row] == "refused EPERM", f"refused: {row}")
    rows = ["dual-late :: 9323", "bind-tcp 127.0.0.1 9310", "bind-tcp ::ffff:127.0.0.1 9310", "bind-tcp ::192.0.2.1 9310"]
    outcome = attempts(rows, policy)
    for row in rows:
        check(outcome[row].startswith("refused"), f"refused: {row}", outcome[row])
    rows = ["bind-tcp ::ffff:192.0.2.1 9319", "bind-tcp 192.0.2.1 0", "bind-tcp :: 0"]
    outcome = attempts(rows, policy)
    for row in rows:
        check(outcome[row] == "allowed", f"granted: {row}", outcome[row])


def denied_guests(work):
    """A denial holds for who comes in."""
    policy = compile_policy(work, "guests", f"""profile guests {{ network {{
        listen tcp any port 9340-9349
        deny tcp {FAR4}; deny {FAR6}; deny tcp {NEAR4} port 1-65535
        deny tcp {OTHER4} port 6001
    }} }}
""")
    for at, host, address, got in (("0.0.0.0 9340", FAR, "198.51.100.1", ""), (":: 9341", FAR, "198.51.100.1", ""),
                                   (":: 9342", FAR, "2001:db8:b::1", ""), ("192.0.2.1 9343", NEAR, "192.0.2.1", ""),
                                   (":: 9344", NEAR, "2001:db8:a::1", "echo"), ("0.0.0.0 9345", HERE, "127.0.0.1", "echo")):
        row = f"accept-tcp {at}"
        check(visit(row, host, address, at.split()[1]) == ("allowed", "echo"), f"outside: {row} from {host[-1]}")
        check(visit(row, host, address, at.split()[1], policy)[1] == got,
              f"{'not denied' if got else 'denied'}: {row} from {host[-1]}")
    for port, got in (("6001", ""), ("6002", "echo")):
        outcome = visit("accept-tcp 192.0.2.1 9346", NEAR, "192.0.2.1", "9346", policy, OTHER4, port)
        check(outcome[1] == got, f"{'not denied' if got else 'denied'}: from port {port}", str(outcome))


DATAGRAMS = f"""profile datagrams {{ network {{
    listen udp 192.0.2.1 port 9400-9409
    listen udp :: port 9400-9411
    listen udp localhost port 9410
    listen udp any port 9420-9429
    deny udp {FAR4}
    allow udp {NEAR4} port 7000
}} }}
"""


def datagrams(work, far):
    """Datagrams come in at the granted endpoints; who sent one may be answered by the socket that got it."""
    policy = compile_policy(work, "datagrams", DATAGRAMS)
    echo = [("answer 192.0.2.1 9400", NEAR, "192.0.2.1"), ("answer-connected 192.0.2.1 9401", NEAR, "192.0.2.1"),
            ("answer :: 9402", NEAR, "2001:db8:a::1"), ("answer-connected :: 9403", FAR, "2001:db8:b::1"),
            ("answer 127.0.0.1 9410", HERE, "127.0.0.1"), ("answer ::1 9410", HERE, "::1"),
            ("answer :: 9420", NEAR, "192.0.2.1"), ("answer-connected :: 9421", NEAR, "192.0.2.1"),
            ("answer 0.0.0.0 9422", NEAR, "192.0.2.1")]
    silent = [("answer :: 9411", NEAR, "192.0.2.1", "refused EAGAIN"),
              ("answer 0.0.0.0 9423", FAR, "198.51.100.1", "refused EAGAIN"),
              ("answer 192.0.2.1 9430", NEAR, "192.0.2.1", "refused EPERM"),
              ("answer 198.51.100.1 9400", FAR, "198.51.100.1", "refused EPERM"),
              ("answer-from-another 192.0.2.1 9405", NEAR, "192.0.2.1", "refused EPERM"),
              (f"answer-stranger 192.0.2.1 9406 {FAR4} 7376", NEAR, "192.0.2.1", "refused EPERM"),
              (f"answer-stranger 192.0.2.1 9406 {NEAR4} 7376", NEAR, "192.0.2.1", "refused EPERM"),
              ("answer-next-port 192.0.2.1 9407", NEAR, "192.0.2.1", "refused EPERM"),
              ("answer-next-port :: 9407", NEAR, "2001:db8:a::1", "refused EPERM")]
    for row, host, address in echo:
        outcome = send_to(row, host, address, row.split()[2], policy)
        check(outcome == ("allowed", "echo"), f"granted: {row} from {host[-1]} at {address}", str(outcome))
    for row, host, address, wanted in silent:
        outside = send_to(row, host, address, row.split()[2])
        check(outside[0] == "allowed", f"outside: {row} from {host[-1]} at {address}", str(outside))
        outcome = send_to(row, host, address, row.split()[2], policy)
        check(outcome == (wanted, ""), f"{wanted}: {row} from {host[-1]} at {address}", str(outcome))
    settle()
    with open(far.path, encoding="ascii") as log:
        check(log.read().count(f" {FAR4} 7376\n") == 1, "what is refused does not arrive")
    for mode, row in (("two", "answer-mixed 192.0.2.1 9408"), ("many", "answer-late 192.0.2.1 9409")):
        outside, outcome = (send_to(row, NEAR, "192.0.2.1", row.split()[2], where, mode) for where in (None, policy))
        check(outside[0] == "allowed", f"outside: {row}", str(outside))
        check(outcome[0] == "refused EPERM", f"refused: {row}", str(outcome))
    rows = [f"udp-sendto {NEAR4} 7000", f"udp-connect {NEAR4} 7000", "bind-udp 192.0.2.1 9400"]
    outcome = attempts([*rows, f"udp-sendto {NEAR4} 7001", f"tcp {NEAR4} 7000", "listen-tcp 192.0.2.1 9400"], policy)
    check([outcome[row] for row in rows] == ["allowed"] * 3, "granted beside a listen for datagrams", str(outcome))
    check(list(outcome.values())[3:] == ["refused EPERM"] * 3, "refused beside a listen for datagrams", str(outcome))


LOOKUP = """
import socket
try:
    print(socket.getaddrinfo("host.test", 443, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
except OSError as e:
    print("failed")
"""


def resolver(work):
    """The host's name servers, as they are when the tool starts, and nobody else."""
    files = 'files { read "/usr/lib" }'
    policy = compile_policy(work, "resolver", f"profile r {{ network {{ allow resolver }}; {files} }}\n")
    without = compile_policy(work, "none", f"profile r {{ network {{ allow tcp 192.0.2.9 port 1 }}; {files} }}\n")
    servers = [subprocess.Popen(["nsenter", f"--net=/run/netns/{ns}", "/usr/bin/python3",
                                 f"{TOP}/tests/tools/nameserver.py", address], stdout=subprocess.PIPE, text=True)
               for ns, address in ((NEAR, NEAR4), (NEAR, NEAR6), (FAR, FAR4))]
    for server in servers:
        server.stdout.readline()
    python = ["/usr/bin/python3", "-c", LOOKUP]
    reach = [PROBE, *f"udp-sendto {NEAR4} 53 , tcp {NEAR4} 53 , udp-mapped {NEAR4} 53 , udp-sendto {FAR4} 53 , "
             f"tcp {FAR4} 53 , udp-sendto {NEAR4} 54 , tcp {NEAR4} 443 , tcp {NEAR6} 53".split()]
    try:
        for name, conf in (("over IPv4", f"nameserver {NEAR4}\n"), ("over IPv6", f"nameserver {NEAR6}\n"),
                           ("by TCP", f"options use-vc\nnameserver\t{NEAR4}  # near\n"),
                           ("in third place", f"; none\nnameserver 127.0.0.9\nnameserver ::1\nnameserver {NEAR4}\n")):
            done = with_resolv_conf(work, f"options timeout:1 attempts:1\n{conf}", policy, *python)
            check(done.stdout.strip() == "192.0.2.2", f"a name is found {name}", done.stdout + done.stderr)
        done = with_resolv_conf(work, f"nameserver {NEAR4}\n", without, *python)
        check(done.stdout.strip() == "failed", "without the grant the lookup fails", done.stdout + done.stderr)
        rows = with_resolv_conf(work, f"nameserver {NEAR4}\n", policy, *reach).stdout.splitlines()
        check([row.rsplit(": ", 1)[1] for row in rows] == ["allowed"] * 3 + ["refused EPERM"] * 5,
              "of the name servers port 53, of others nothing", str(rows))
        rows = with_resolv_conf(work, f"nameserver ::ffff:{FAR4}\nnameserver {NEAR6}\n", policy, *reach).stdout.splitlines()
        check([row.rsplit(": ", 1)[1] for row in rows] ==
              ["refused EPERM"] * 3 + ["allowed"] * 2 + ["refused EPERM"] * 2 + ["allowed"],
              "another host, other name servers", str(rows))
        four = "".join(f"nameserver {address}\n" for address in (NEAR4, "0.0.0.0", "::ffff:127.0.0.9", FAR4))
        rows = with_resolv_conf(work, four, policy, *reach).stdout.splitlines()
        check([row.rsplit(": ", 1)[1] for row in rows] == ["allowed"] * 3 + ["refused EPERM"] * 5,
              "the fourth is none", str(rows))
        rows = with_resolv_conf(work, f" nameserver {FAR4}\n#nameserver {FAR4}\nnameservers {FAR4}\nNameserver {FAR4}\n"
                                f"sortlist {FAR4}\nnameserver \t {NEAR4};{FAR4}\n", policy, *reach).stdout.splitlines()
        check([row.rsplit(": ", 1)[1] for row in rows] == ["allowed"] * 3 + ["refused EPERM"] * 5,
              "nor are other lines", str(rows))
        for rule, wanted in ((f"deny {NEAR4}", [0] * 7 + [1]), ("deny udp 192.0.2.0/24 port 50-60", [0, 1, 0, 0, 0, 0, 0, 1]),
                             (f"deny {NEAR6} port 53; deny udp {NEAR4} port 54", [1, 1, 1, 0, 0, 0, 0, 0])):
            denied = compile_policy(work, "denied", f"profile d {{ network {{ allow resolver; {rule} }}; {files} }}\n")
            rows = with_resolv_conf(work, f"nameserver {NEAR4}\nnameserver {NEAR6}\n", denied, *reach).stdout.splitlines()
            check([row.endswith(": allowed") for row in rows] == [bool(w) for w in wanted], f"beside: {rule}", str(rows))
        for name, conf in (("none", "search example.org\n"), ("a link-local one", "nameserver fe80::1%near\n"),
                           ("no address", "nameserver 127.1\n"), ("a name", "nameserver dns.test\n"),
                           ("half a line", "nameserver\t\n"), ("an empty file", ""),
                           # Cut at 16 KiB, the second address would be another one.
                           ("a file that is too long", f"nameserver {NEAR4}\n".ljust(16363, "#") + "\nnameserver 10.0.0.53\n")):
            done = with_resolv_conf(work, conf, policy, *python)
            check(done.returncode == 125 and "[cave_sandbox_failed]" in done.stderr and not done.stdout,
                  f"refused to start with {name}", f"{done.returncode} {done.stdout} {done.stderr}")
    finally:
        for server in servers:
            server.kill()
            server.wait()


def main(work, near, far):
    listening(work, near)
    from_endpoints(work, near, far)
    at_endpoints(work, near, far)
    denied_guests(work)
    datagrams(work, far)
    resolver(work)


laboratory(main)
