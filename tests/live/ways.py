#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What makes a packet's way another than its address says: devices, options, broadcast.

As in net.py every attempt is made outside too, where it must get through, or as far as the kernel.
"""

import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from netlab import *  # pylint: disable=wildcard-import,wrong-import-position

GRANT = """profile ways { network {
    allow { tcp, udp } localhost port 7000-7099
    allow { tcp, udp } { 192.0.2.2, 2001:db8:a::2 } port 7000-7099
    allow udp 198.51.100.128/25 port 7100-7109
} }
"""
SINGLE = """profile single { network {
    allow udp 198.51.100.255 port 7110; allow udp 192.0.2.2 port 7110; allow udp localhost port 7000
} }
"""
INET, INET6, STREAM, DGRAM = 2, 10, 1, 2
SOCKET, IP, TCP, UDP, IPV6 = 1, 0, 6, 17, 41
LO = 1  # the index of the loopback device


def number(n):
    return struct.pack("<i", n).hex()


def options(link):
    """Options that choose a device, a route, a header, a source, or another protocol; {what: attempt}."""
    route = "00" + "83" + "07" + "04" + "c0000202"
    padding, rthdr = "0000010400000000", "00" + "04" + "04" + "01" + "01000000" + "00" * 32
    accept = struct.pack("<HxxxxxxQ", 1, 0).hex()
    return {
        "SO_BINDTODEVICE": (INET, DGRAM, SOCKET, 25, b"far".hex()),
        "SO_BINDTOIFINDEX": (INET6, STREAM, SOCKET, 62, number(link)),
        "SO_DONTROUTE": (INET, DGRAM, SOCKET, 5, number(1)),
        "SO_MARK": (INET, DGRAM, SOCKET, 36, number(1)),
        "SO_ATTACH_FILTER": (INET, DGRAM, SOCKET, 26, accept),
        "SO_ATTACH_BPF": (INET, DGRAM, SOCKET, 50, number(0)),
        "SO_ATTACH_REUSEPORT_CBPF": (INET, DGRAM, SOCKET, 51, accept),
        "SO_ATTACH_REUSEPORT_EBPF": (INET, DGRAM, SOCKET, 52, number(0)),
        "SO_TXTIME": (INET, DGRAM, SOCKET, 61, number(1) + number(0)),
        "IP_OPTIONS": (INET, STREAM, IP, 4, route),
        "IP_UNICAST_IF": (INET, DGRAM, IP, 50, struct.pack(">i", link).hex()),
        "IP_MULTICAST_IF": (INET, DGRAM, IP, 32, "c6336401"),
        "IP_TRANSPARENT": (INET, STREAM, IP, 19, number(1)),
        "IP_FREEBIND": (INET, STREAM, IP, 15, number(1)),
        "IP_XFRM_POLICY": (INET, STREAM, IP, 17, "00" * 64),
        "IP_IPSEC_POLICY": (INET, STREAM, IP, 16, "00" * 64),
        "IP_LOCAL_PORT_RANGE": (INET, STREAM, IP, 51, number(0)),
        "IPV6_ADDRFORM": (INET6, STREAM, IPV6, 1, number(2)),
        "IPV6_2292PKTINFO": (INET6, DGRAM, IPV6, 2, number(1)),
        "IPV6_2292PKTOPTIONS": (INET6, DGRAM, IPV6, 6, "00" * 16),
        "IPV6_NEXTHOP": (INET6, DGRAM, IPV6, 9, "00" * 28),
        "IPV6_UNICAST_IF": (INET6, DGRAM, IPV6, 76, struct.pack(">i", link).hex()),
        "IPV6_MULTICAST_IF": (INET6, DGRAM, IPV6, 17, number(link)),
        "IPV6_FLOWLABEL_MGR": (INET6, DGRAM, IPV6, 32, "00" * 32),
        "IPV6_FLOWINFO_SEND": (INET6, DGRAM, IPV6, 33, number(1)),
        "IPV6_XFRM_POLICY": (INET6, DGRAM, IPV6, 35, "00" * 64),
        "IPV6_PKTINFO": (INET6, DGRAM, IPV6, 50, "00" * 16 + number(link)),
        "IPV6_HOPOPTS": (INET6, STREAM, IPV6, 54, padding),
        "IPV6_RTHDRDSTOPTS": (INET6, STREAM, IPV6, 55, padding),
        "IPV6_RTHDR": (INET6, STREAM, IPV6, 57, rthdr),
        "IPV6_DSTOPTS": (INET6, STREAM, IPV6, 59, padding),
        "IPV6_ADDR_PREFERENCES": (INET6, DGRAM, IPV6, 72, number(2)),
        "IPV6_TRANSPARENT": (INET6, STREAM, IPV6, 75, number(1)),
        "IPV6_FREEBIND": (INET6, STREAM, IPV6, 78, number(1)),
        "TCP_MD5SIG": (INET, STREAM, TCP, 14, "00" * 64),
        "TCP_REPAIR": (INET, STREAM, TCP, 19, number(1)),
        "TCP_FASTOPEN": (INET, STREAM, TCP, 23, number(1)),
        "TCP_FASTOPEN_KEY": (INET, STREAM, TCP, 33, "00" * 16),
        "TCP_ULP": (INET, STREAM, TCP, 31, b"tls".hex()),
        "UDP_ENCAP": (INET, DGRAM, UDP, 100, number(2)),
        "UDP_NO_CHECK6_TX": (INET6, DGRAM, UDP, 101, number(1)),
    }


def refused_options(policy, link):
    """As the kernel takes them, or says why not; under a policy none gets that far."""
    rows = {name: f"setsockopt {' '.join(str(word) for word in row)}" for name, row in options(link).items()}
    outside, outcome = attempts(list(rows.values())), attempts(list(rows.values()), policy)
    for name, row in rows.items():
        check(outside[row] != "refused EPERM", f"outside: the kernel is asked for {name}", outside[row])
        check(outcome[row] == "refused EPERM", f"refused: {name}", outcome[row])
    taken = [name for name, row in rows.items() if outside[row] == "allowed"]
    check(len(taken) > 20, "outside: most of these options are taken", " ".join(taken))


def devices(policy, far, link):
    """A datagram's sender may name its device: what is for loopback does not leave by another one."""
    # In the place of an accomplice who says that these addresses are his.
    hardware = inside(FAR, "ip", "-o", "link", "show", "wire").stdout.split("link/ether ")[1].split()[0]
    for address in ("127.0.0.1", "127.1.2.3"):
        sh(f"ip -n {HERE} neigh replace {address} lladdr {hardware} dev far nud permanent")
    by = {4: (0, 8, lambda n: number(n) + "00" * 8), 6: (41, 50, lambda n: "00" * 16 + number(n))}

    def row(address, port, device, info=None):
        level, kind, data = by[6 if ":" in address else 4]
        return f"control {address} {port} {level} {info or kind} {data(device)}"

    astray = [("127.0.0.1", 7010, None), ("127.1.2.3", 7011, None), ("::1", 7012, None), ("::1", 7013, 2)]
    for address, port, info in astray:
        outside, refused = row(address, port, link, info), row(address, port + 10, link, info)
        without, within = attempts([outside])[outside], attempts([refused], policy)[refused]
        settle()
        # The kernel itself keeps ::1 at home.
        if ":" not in address:
            check(without == "allowed" and far.saw(port), f"outside: {address} leaves by a device that is named", without)
        check(within.startswith("refused") and not far.saw(port + 10), f"refused: {address} by a device that is named",
              f"{within}, arrived: {far.saw(port + 10)}")
    for address in ("127.0.0.1", "::1"):
        home = row(address, 7030, LO)
        check(attempts([home], policy)[home] == "allowed", f"granted: {address} by the loopback device that is named")
    fine = row(NEAR4, 7031, 0)
    check(attempts([fine], policy)[fine] == "allowed", "granted: a datagram that leaves the device open")


def broadcast(work, policy, far):
    """A range that is granted may hold the broadcast address of a link, where others are too."""
    rows = ["broadcast 198.51.100.255 7100", "broadcast 198.51.100.255 7101", "broadcast 198.51.100.255 7110"]
    outside, outcome = attempts(rows[:1])[rows[0]], attempts(rows[1:2], policy)[rows[1]]
    settle()
    check(outside == "allowed" and far.saw(7100), "outside: a broadcast reaches every host of the link", outside)
    check(outcome == "refused EACCES" and not far.saw(7101), "refused: a broadcast in a range that is granted",
          f"{outcome}, arrived: {far.saw(7101)}")
    flag = f"setsockopt {INET} {DGRAM} {SOCKET} 6 {number(1)}"
    check(attempts([flag], policy)[flag] == "allowed", "the option itself is taken, since go asks for it")
    row = f"broadcast {NEAR4} 7032"
    check(attempts([row], policy)[row] == "allowed", "granted: with the option, a host")
    single = compile_policy(work, "single", SINGLE)
    outcome = attempts(rows[2:], single)[rows[2]]
    settle()
    check(outcome == "allowed" and far.saw(7110), "granted: a broadcast address that is named alone", outcome)


def main(work, _near, far):
    link = int(inside(HERE, "ip", "-o", "link", "show", "far").stdout.split(":")[0])
    policy = compile_policy(work, "ways", GRANT)
    refused_options(policy, link)
    devices(policy, far, link)
    broadcast(work, policy, far)


laboratory(main)
