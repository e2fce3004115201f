#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes what the IPv4 packets that leave a network device have: packets.py NETDEV udp|tcp, until it is ended.

A line per packet: traffic class, hop limit, bytes of UDP's or TCP's payload. The first line is "ready".
"""
import socket
import struct
import sys

ROCE = 4791
ETH_P_ALL = 3


def main():
    netdev, wanted = sys.argv[1:]
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    sock.bind((netdev, ETH_P_ALL))
    print("ready", flush=True)
    while True:
        packet, address = sock.recvfrom(65536)
        if address[2] != socket.PACKET_OUTGOING or len(packet) < 40 or packet[0] != 0x45:
            continue
        _, tos, total, _, ttl, protocol = struct.unpack("!BBHIBB", packet[:10])
        if wanted == "udp" and protocol == socket.IPPROTO_UDP:
            if struct.unpack("!HH", packet[20:24])[1] == ROCE:
                print(tos, ttl, total - 28, flush=True)
        elif wanted == "tcp" and protocol == socket.IPPROTO_TCP:
            print(tos, ttl, total - 20 - 4 * (packet[32] >> 4), flush=True)


main()
