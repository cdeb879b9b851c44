#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What leaves the sandbox, on a network of namespaces.

A host of ours (HERE) and two remote ones, NEAR and FAR, each on a link of its own.  Policies grant NEAR.  Every
attempt is made three times: outside the sandbox to FAR, where it must get through (so the attempt is a real one);
under a policy to NEAR, where it must get through; under it to FAR, where it must be refused and nothing may arrive.
What arrives is read off the wire by the remote hosts.  Every attempt has a port of its own to be known by.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from netlab import *  # pylint: disable=wildcard-import,wrong-import-position

GRANT = f"""profile net {{
    network {{
        allow tcp 192.0.2.2/31 port 7000-7399
        allow udp 192.0.2.2/31 port 7000-7299
        allow {{ tcp, udp }} 2001:db8:a::2/127 port 7000-7399
        allow tcp localhost port 7000-7399
    }}
}}
"""
TCP_ONLY = "profile tcp { network { allow tcp 192.0.2.0/24 port 7000-7399 } }\n"
MIXED = """profile mixed {
    network {
        allow udp 192.0.2.2 port 7500-7509; allow udp 192.0.2.3 port 7601; allow udp 2001:db8:a::2 port 7500-7519
        allow udp 2001:db8:c::2 port 7500-7509
        allow tcp 192.0.2.2 port 7380; allow tcp 2001:db8:a::2 port 7381
        allow udp 192.0.2.77 port 7530-7539; allow udp 2001:db8:a::77 port 7530-7539; allow udp 127.0.0.11 port 53
    }
}
"""
ELSEWHERE = "profile elsewhere { network { allow tcp 192.0.2.9 port 1 } }\n"

# An attempt of the probe and the family of its peers; {to} is the peer, {near} a granted one, {port} the port.
REACH = [
    ("tcp {to} {port}", 4), ("tcp {to} {port}", 6), ("tcp-mapped {to} {port}", 4),
    ("tcp-fastopen-flag {to} {port}", 4), ("tcp-fastopen-flag {to} {port}", 6),
    ("tcp-fastopen-msg {to} {port}", 4), ("tcp-fastopen-msg {to} {port}", 6),
    ("tcp-fastopen-option {to} {port}", 4), ("tcp-fastopen-option {to} {port}", 6),
    ("tcp-reconnect {near} {to} {port}", 4), ("tcp-reconnect {near} {to} {port}", 6),
    ("udp-sendto {to} {port}", 4), ("udp-sendto {to} {port}", 6),
    ("udp-mapped {to} {port}", 4), ("udp-v4-on-v6 {to} {port}", 4),
    ("udp-sendmsg {to} {port}", 4), ("udp-sendmsg {to} {port}", 6),
    ("udp-sendmmsg {to} {port}", 4), ("udp-sendmmsg {to} {port}", 6),
    ("udp-connect {to} {port}", 4), ("udp-connect {to} {port}", 6),
    ("udp-connect-mapped {to} {port}", 4), ("udp-connect-v4-on-v6 {to} {port}", 4),
    ("udp-unspec {to} {port}", 4),
    ("udp-second-message {near} {to} {port}", 4), ("udp-second-message {near} {to} {port}", 6),
    ("udp-reaim {near} {to} {port}", 4), ("udp-reaim {near} {to} {port}", 6),
    ("udp-reconnect {near} {to} {port}", 4), ("udp-reconnect {near} {to} {port}", 6),
]

# Refused whatever is granted; outside the attempt gets through and something arrives at FAR.
DETOURS = [
    ("mptcp {far} {port}", 4), ("mptcp {far} {port}", 6),
    ("rthdr-udp {far} {near} {port}", 6), ("rthdr-cmsg {far} {near} {port}", 6),
    ("rthdr-tcp {far} {near} {port}", 6), ("rthdr-late {far} {near} {port}", 6),
    ("udp-addrform {near} {far} {port}", 4), ("rthdr-high {far} {near} {port}", 6),
    ("rthdr-type2 {far} {near} {port}", 6), ("rthdr-2292 {far} {near} {port}", 6), ("rthdr-pktoptions {far} {near} {port}", 6),
    ("source-route {far} {near} {port}", 4), ("source-route-cmsg {far} {near} {port}", 4),
    ("source-route-tcp {far} {near} {port}", 4),
    ("multicast-send 239.1.2.3 {port} {link}", 4), ("multicast-send ff05::123 {port} {link}", 6),
    ("broadcast 198.51.100.255 {port}", 4),
]

# Refused under every policy; allowed outside.
LOCAL = [
    "join4 239.1.2.3 198.51.100.1", "join6 ff05::124 {link}", "join-group 239.1.2.4 {link}",
    "join-group ff05::125 {link}", "join-anycast 2001:db8:b::77 {link}",
    "join-source4 232.1.2.5 198.51.100.1", "join-source-group 232.1.2.6 198.51.100.2 {link}",
    "join-source-group ff35::126 2001:db8:b::2 {link}",
    "hop-options {near6} 7000", "destination-options {near6} 7000", "destination-options-cmsg {near6} 7000",
    "listen-tcp 0.0.0.0 9000", "listen-tcp 127.0.0.1 9001", "listen-tcp :: 9002", "listen-tcp 0.0.0.0 0",
    "listen-unbound 4", "listen-unbound 6",
    "bind-tcp 127.0.0.1 9003", "bind-udp 192.0.2.1 9004",
]

# Families and types beside those that a network grant brings: socket numbers, and whether this kernel has them.
SOCKETS = {
    "raw ICMP": (2, 3, 1), "raw IP": (2, 3, 255), "raw ICMPv6": (10, 3, 58), "ping": (2, 2, 1),
    "ping6": (10, 2, 58), "UDP-Lite": (2, 2, 136), "MPTCP": (2, 1, 262), "SCTP": (2, 1, 132),
    "DCCP": (2, 6, 33), "packet": (17, 3, 0x300), "packet datagram": (17, 2, 0x300), "vsock": (40, 1, 0),
    "route netlink": (16, 3, 0), "audit netlink": (16, 3, 9), "alg": (38, 5, 0), "XDP": (44, 3, 0),
    "unix stream": (1, 1, 0), "unix datagram": (1, 2, 0), "packet by inet": (2, 10, 0x300),
}
ABSENT = {"SCTP", "DCCP", "alg"}  # often not built in: no control for these
MOBILE = ("rthdr-cmsg", "rthdr-type2", "rthdr-2292", "rthdr-pktoptions")  # need mobile IPv6, often not built in


def numbered(rows, first, **words):
    """The rows as attempts, each with its own port from `first` on; [(label, port, attempt)]."""
    made = []
    for i, (form, family) in enumerate(rows):
        host = {key: value[family] for key, value in words.items()}
        label = f"{form.split()[0]} over IPv{family}"
        made.append((label, first + i, form.format(port=first + i, **host)))
    return made


def by_family(v4, v6):
    return {4: v4, 6: v6}


def reach(policy, near, far):
    """Every call that names a peer."""
    peers = {"near": by_family(NEAR4, NEAR6)}
    outside = numbered(REACH, 7000, to=by_family(FAR4, FAR6), **peers)
    granted = numbered(REACH, 7050, to=by_family(OTHER4, OTHER6), **peers)
    refused = numbered(REACH, 7100, to=by_family(FAR4, FAR6), **peers)
    without = attempts([a for _, _, a in outside])
    within = attempts([a for _, _, a in granted + refused], policy)
    settle()
    for label, port, attempt in outside:
        check(without[attempt] == "allowed" and far.saw(port), f"outside: {label} reaches the far host",
              without[attempt])
    for label, port, attempt in granted:
        check(within[attempt] == "allowed" and near.saw(port), f"granted: {label} reaches the near host",
              within[attempt])
    for label, port, attempt in refused:
        check(within[attempt] == "refused EPERM" and not far.saw(port), f"refused: {label} to the far host",
              f"{within[attempt]}, arrived: {far.saw(port)}")


def ports_and_protocols(policy, near):
    """The granted host by what is not granted: a port beyond the range, the other protocol."""
    rows = [f"tcp {NEAR4} 8001", f"tcp {NEAR4} 6999", f"tcp {NEAR4} 7400", f"udp-sendto {NEAR4} 8002",
            f"udp-sendto {NEAR4} 7300", f"udp-connect {NEAR4} 7301", f"tcp 192.0.2.1 7002", f"tcp 192.0.2.4 7003",
            f"udp-sendto {NEAR6} 8003", f"tcp {NEAR6} 8004", f"udp-cork {NEAR4} {FAR4} 7302",
            f"udplite {NEAR4} 7020"]
    outcome = attempts(rows, policy)
    settle()
    for row in rows:
        check(outcome[row] == "refused EPERM", f"refused: {row}", outcome[row])
    for port in (8001, 8002, 8003, 8004, 7300, 7301):
        check(not near.saw(port), f"nothing arrives at port {port}")
    edges = [f"tcp {NEAR4} 7399", f"udp-sendto {NEAR4} 7299", f"tcp {OTHER6} 7398"]
    outcome = attempts(edges, policy)
    for row in edges:
        check(outcome[row] == "allowed", f"granted: {row}", outcome[row])


def detours(policy, far):
    """Packets that would go elsewhere than the address that was judged."""
    index = link_index()
    words = {"near": by_family(NEAR4, NEAR6), "far": by_family(FAR4, FAR6), "link": by_family(index, index)}
    outside, refused = numbered(DETOURS, 7310, **words), numbered(DETOURS, 7340, **words)
    without = attempts([a for _, _, a in outside])
    within = attempts([a for _, _, a in refused], policy)
    settle()
    for label, port, attempt in outside:
        if not attempt.startswith(MOBILE):
            check(far.saw(port), f"outside: {label} arrives at the far host", without[attempt])
    for label, port, attempt in refused:
        check(within[attempt].startswith("refused") and not far.saw(port), f"refused: {label}",
              f"{within[attempt]}, arrived: {far.saw(port)}")


def link_index():
    return inside(HERE, "ip", "-o", "link", "show", "far").stdout.split(":")[0]


def locally(policy, far):
    """Listening, joining, options, and sockets of other kinds."""
    rows = [row.format(link=link_index(), near6=NEAR6) for row in LOCAL]
    sockets = {name: f"socket {family} {kind} {protocol}" for name, (family, kind, protocol) in SOCKETS.items()}
    without = attempts(rows + list(sockets.values()))
    settle()
    seen = [line for line in far.lines() if line.startswith(("igmp", "icmp6", "routed icmp6"))]
    within = attempts(rows + list(sockets.values()), policy)
    settle()
    after = [line for line in far.lines() if line.startswith(("igmp", "icmp6", "routed icmp6"))]
    for row in rows:
        check(without[row] == "allowed", f"outside: {row}", without[row])
        check(within[row].startswith("refused"), f"refused: {row}", within[row])
    check(len(seen) > 0, "outside: joining a group emits packets")
    joined = [line for line in after[len(seen):] if "ff05" in line]
    check(not joined, "refused: joining a group emits nothing", str(joined))
    for name, row in sockets.items():
        if name not in ABSENT:
            check(without[row] == "allowed", f"outside: socket {name}", without[row])
        check(within[row].startswith("refused"), f"refused: socket {name}", within[row])
    for row in ("socket 2 1 0", "socket 2 1 6", "socket 2 2 17", "socket 10 0x80801 0", "socket 10 2 0"):
        outcome = attempts([row], policy)[row]
        check(outcome == "allowed", f"granted: {row}", outcome)
    for row in ("socket-high 1 1 0", "socket-high 2 3 1", "socket-high 16 3 0", "socket-high 2 2 1"):
        check(attempts([row])[row] == "allowed", f"outside: {row}")
        outcome = attempts([row], policy)[row]
        check(outcome.startswith("refused"), f"refused: {row}", outcome)


def carriers(policy):
    """IPv6 addresses that carry the IPv4 address of the near host are not the near host."""
    rows = ["::192.0.2.2", "64:ff9b::192.0.2.2", "2002:c000:202::1", "2001:0:c000:202::", "::ffff:0:192.0.2.2"]
    rows = [f"{call} {address} 7008" for address in rows for call in ("tcp", "udp-sendto")]
    outcome = attempts(rows, policy)
    for row in rows:
        check(outcome[row] == "refused EPERM", f"refused: {row}", outcome[row])


def every_family(policy):
    """No family, type or protocol gets through that the grant does not bring."""
    fine = {(f, t, p) for f in (2, 10) for t, protocols in ((1, (0, 6)), (2, (0, 17))) for p in protocols}
    rows = {f"socket {f} {t} {p}": (f, t, p) for f in range(47) for t in (1, 2, 3, 4, 5, 6, 10)
            for p in (0, 1, 6, 17, 255) if (f, t, p) not in fine}
    outcome = attempts(list(rows), policy)
    wrong = [row for row in rows if outcome[row] == "allowed"]
    check(not wrong, "refused: every other family, type and protocol", ", ".join(wrong[:8]))


def loopback(policy, work):
    """What localhost covers (127.0.0.0/8 and ::1), and connect(0.0.0.0)."""
    local = Remote(HERE, f"{work}/here.log")
    own = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{HERE}", "/usr/bin/python3", "-c",
         "import socket,time\ns=socket.create_server(('192.0.2.1',7777))\nprint(flush=True)\ntime.sleep(60)"],
        stdout=subprocess.PIPE)
    own.stdout.readline()
    try:
        rows = ["tcp 127.0.0.1 7001", "tcp 127.0.0.2 7001", "tcp ::1 7001", "tcp-mapped 127.0.0.1 7001",
                "tcp 0.0.0.0 7001", "tcp :: 7001", "tcp-mapped 0.0.0.0 7001"]
        outcome = attempts(rows, policy)
        for row in rows:
            check(outcome[row] == "allowed", f"localhost: {row}", outcome[row])
        rows = ["tcp 127.0.0.1 8001", "tcp ::1 8001", "tcp 0.0.0.0 8001", "tcp-mapped 127.0.0.1 8001",
                "tcp 192.0.2.1 7001", "udp-sendto 127.0.0.1 7001", "udp-sendto 0.0.0.0 7001"]
        outside = attempts(rows)
        outcome = attempts(rows, policy)
        for row in rows:
            check(outside[row] == "allowed", f"outside: {row}", outside[row])
            check(outcome[row] == "refused EPERM", f"refused: {row}", outcome[row])
        row = "tcp-bound-zero 192.0.2.1 0.0.0.0 7777"
        check(attempts([row])[row] == "allowed", "outside: 0.0.0.0 from a bound source reaches that address")
        outcome = attempts([row], policy)[row]
        check(outcome.startswith("refused"), "refused: 0.0.0.0 from a bound source", outcome)
    finally:
        for process in (own, local.process):
            process.kill()
            process.wait()


def counted(attempt, policy, address, port):
    """How many datagrams arrive at NEAR for an address and port; the log would miss some of many."""
    rules = f"""add table ip cave
        add chain ip cave in {{ type filter hook prerouting priority 0; }}
        add rule ip cave in ip daddr {address} udp dport {port} counter"""
    inside(NEAR, "nft", rules, check=True)
    attempts([attempt], policy)
    settle()
    listing = inside(NEAR, "nft", "list", "chain", "ip", "cave", "in", check=True).stdout
    inside(NEAR, "nft", "delete", "table", "ip", "cave", check=True)
    return int(listing.split("packets ")[1].split()[0])


def mixed(policy, near, far):
    """What leaves goes where it was aimed, however the kernel mixes a socket's peers up."""
    sh(f"ip -n {HERE} route add default via {FAR4}; ip -n {HERE} -6 route add default via {FAR6}")
    strays = {
        f"mixed-unspec {NEAR4} 7501": (far, "7501"),
        f"mixed-cork {AWAY6} {NEAR4} 7502": (far, "7502"),
        f"mixed-cork-disconnect {AWAY6} {NEAR4} 7503": (far, "7503"),
        f"mixed-cork-splice {AWAY6} {NEAR4} 7504": (far, "7504"),
        f"mixed-tcp {NEAR4} 7380 {NEAR6} 7381": (near, f"tcp {NEAR4} 7381"),
    }
    for name, where in (("outside", None), ("refused", policy)):
        before = {host: len(host.lines()) for host in (near, far)}
        outcome = attempts(list(strays), where)
        settle()
        for row, (host, stray) in strays.items():
            seen = [line for line in host.lines()[before[host]:]
                    if f" {line}".endswith(f" {stray}") and AWAY6 not in line]
            check(bool(seen) == (where is None), f"{name}: what {row} sends astray", f"{outcome[row]}; {seen[:3]}")
    races = {f"mixed-race {NEAR4} 7505 {OTHER4} 7601": 7601, f"mixed-race6 {NEAR4} 7506 {NEAR6} 7512": 7512}
    for race, port in races.items():
        # On a busy machine the two threads may not run at the same time.
        check(any(counted(race, None, NEAR4, port) for _ in range(5)), f"outside: what {race} sends astray")
        stray = counted(race, policy, NEAR4, port)
        check(stray == 0, f"refused: what {race} sends astray", f"{stray} datagrams")
    check(counted(f"mixed-race {NEAR4} 7505 {OTHER4} 7601", policy, NEAR4, 7505) > 0, "granted: a peer of mixed-race")
    rows = [f"tcp-mapped {NEAR4} 7380", f"tcp {NEAR6} 7381", f"udp-connect-mapped {NEAR4} 7507",
            f"udp-connect {NEAR6} 7508", f"udp-connect {OTHER4} 7601", f"udp-connect {AWAY6} 7509"]
    outcome = attempts(rows, policy)
    for row in rows:
        check(outcome[row] == "allowed", f"granted: {row}", outcome[row])
    sh(f"ip -n {HERE} route del default; ip -n {HERE} -6 route del default")


TRANSLATION = """
add table ip cave
add chain ip cave out { type nat hook output priority -100; }
add rule ip cave out ip daddr 192.0.2.77 udp dport 7530-7539 dnat to 192.0.2.3:7700
add rule ip cave out ip daddr 127.0.0.11 udp dport 53 dnat to 127.0.0.11:41053
add table ip6 cave
add chain ip6 cave out { type nat hook output priority -100; }
add rule ip6 cave out ip6 daddr 2001:db8:a::77 udp dport 7530-7539 dnat to [2001:db8:a::3]:7701
"""


def translated(policy, near):
    """Granted UDP whose destination the host's firewall changes: of IPv4 sockets only."""
    subprocess.run(["nsenter", f"--net=/run/netns/{HERE}", "nft", "-f", "-"], input=TRANSLATION, text=True,
                   check=True)
    rows = {"udp-sendto 192.0.2.77 7530": True, "udp-connect 192.0.2.77 7531": True,
            "udp-sendto 127.0.0.11 53": True, "udp-connect 127.0.0.11 53": True,
            "udp-v4-on-v6 192.0.2.77 7532": False, "udp-connect-mapped 192.0.2.77 7533": False,
            "udp-sendto 2001:db8:a::77 7534": False, "udp-connect 2001:db8:a::77 7535": False}
    try:
        outside = attempts(list(rows))
        settle()
        before = len(near.lines())
        outcome = attempts(list(rows), policy)
        settle()
        for row, granted in rows.items():
            check(outside[row] == "allowed", f"outside, translated: {row}", outside[row])
            check(outcome[row] == ("allowed" if granted else "refused EPERM"),
                  f"{'granted' if granted else 'refused'}, translated: {row}", outcome[row])
        arrived = [line for line in near.lines()[before:] if line.split()[-1] in ("7700", "7701")]
        check(arrived == [f"udp {OTHER4} 7700"] * 2, "what is translated arrives", str(arrived))
    finally:
        inside(HERE, "nft", "flush", "ruleset")


def receiving(policy):
    """A datagram from a host that is not granted does not arrive."""
    sender = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{FAR}", "/usr/bin/python3", "-c",
         "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nwhile True:\n"
         " s.sendto(b'x',('192.0.2.1',9100))\n time.sleep(.1)"])
    row = "receive-udp 0.0.0.0 9100"
    try:
        outcome = attempts([row])[row]
        check(outcome == "allowed", "outside: a datagram from the far host is received", outcome)
        outcome = attempts([row], policy)[row]
        check(outcome.startswith("refused"), "refused: a datagram from the far host", outcome)
    finally:
        sender.kill()
        sender.wait()


def beneath_the_caller(policy, work):
    """What binds the caller's cgroup binds the tool too."""
    narrow = compile_policy(work, "elsewhere", ELSEWHERE)
    mount = next(line.split()[4] for line in open("/proc/self/mountinfo", encoding="utf-8") if " - cgroup2 " in line)
    cgroup, pins = f"{mount}/{ID}", f"/sys/fs/bpf/{ID}"
    row = f"tcp {NEAR4} 7005"
    os.mkdir(cgroup)
    try:
        for attached in (False, True):
            if attached:
                sh(f"bpftool prog loadall {narrow} {pins} >/dev/null 2>&1")
                pin = next(p for p in sorted(os.listdir(pins)) if "connect4" in p)
                sh(f"bpftool cgroup attach {cgroup} connect4 pinned {pins}/{pin} multi")
            done = inside(HERE, "sh", "-c", f"echo $$ >{cgroup}/cgroup.procs && exec {CAVERUN} {policy} -- {PROBE} {row}")
            want = "refused EPERM" if attached else "allowed"
            check(done.stdout.strip().endswith(want), f"a caller {'bound' if attached else 'free'}: {want}",
                  done.stdout + done.stderr)
        # What is kept of the policy for later starts is kept on purpose.
        inside(HERE, "sh", "-c", f"echo $$ >{cgroup}/cgroup.procs && exec {CAVERUN} --forget --all")
        left = [d.name for d in os.scandir(cgroup) if d.is_dir()]
        check(not left, "no cgroup is left beneath the caller's", str(left))
    finally:
        sh(f"rm -rf {pins}; rmdir {cgroup}")


def without_privilege(policy, work):
    """Bounded egress that cannot be enforced is refused before the tool starts."""
    code = "cave_sandbox_os_network_isolation_unavailable"
    os.chmod(work, 0o755)
    sh(f"cp {CAVERUN} {TOP}/build/cave-load {PROBE} {work}")
    for name, prefix in (("an ordinary user", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]),
                         ("root of a user namespace", ["unshare", "--user", "--map-root-user"])):
        done = inside(HERE, *prefix, f"{work}/caverun", policy, "--", f"{work}/cave-probe", "tcp", NEAR4, "7006")
        check(done.returncode == 125 and code in done.stderr and not done.stdout,
              f"refused to start: a network grant as {name}", f"status {done.returncode}; {done.stderr}")


def lists(work, near, far):
    """A grant from a file of prefixes, less another."""
    with open(f"{work}/granted.txt", "w", encoding="ascii") as f:
        f.write(f"# the near network\n192.0.2.0/24\n{NEAR6}\n")
    with open(f"{work}/denied.txt", "w", encoding="ascii") as f:
        f.write(f"{OTHER4}  # its second address\n")
    policy = compile_policy(work, "list", 'profile list { network { allow tcp list "granted.txt" '
                            'except list "denied.txt" port 7000-7399 } }\n')
    granted, refused = (f"tcp {NEAR4} 7390", f"tcp {NEAR6} 7391"), (f"tcp {OTHER4} 7392", f"tcp {FAR4} 7393")
    outside, outcome = attempts(list(refused)), attempts([*granted, *refused], policy)
    settle()
    for row in granted:
        check(outcome[row] == "allowed" and near.saw(row.split()[-1]), f"granted by a list: {row}", outcome[row])
    for row in refused:
        check(outside[row] == "allowed", f"outside: {row}", outside[row])
        check(outcome[row] == "refused EPERM", f"refused beside a list: {row}", outcome[row])


def main(work, near, far):
    policy = compile_policy(work, "net", GRANT)
    tcp_only = compile_policy(work, "tcp", TCP_ONLY)
    reach(policy, near, far)
    ports_and_protocols(policy, near)
    detours(policy, far)
    locally(policy, far)
    carriers(policy)
    every_family(policy)
    loopback(policy, work)
    receiving(policy)
    lists(work, near, far)
    row = f"udp-sendto {NEAR4} 7007"
    outcome = attempts([row], tcp_only)[row]
    check(outcome.startswith("refused") and not near.saw(7007), "a TCP grant carries no UDP", outcome)
    other = compile_policy(work, "mixed", MIXED)
    mixed(other, near, far)
    translated(other, near)
    beneath_the_caller(policy, work)
    without_privilege(policy, work)


laboratory(main)
