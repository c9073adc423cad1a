#!/usr/bin/env python3
"""NCCL's socket transport between two ranks on one GPU, as a peer to compare with.

The parent starts both ranks with different NCCL_HOSTID, so that NCCL takes them for two hosts, and
with peer access and shared memory off, so that all bytes go through sockets on loopback. NCCL can
not be told a congestion control; with --congestion both ranks run in a network namespace of their
own where that one is the default (needs root). It prints one JSON document: median rate of large
sends (each confirmed by the receiver), median half round trip of small ones.
"""

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=64 << 20)
    parser.add_argument("--iters", type=int, default=30)
    parser.add_argument("--small", type=int, default=4096)
    parser.add_argument("--small-iters", type=int, default=2000)
    parser.add_argument("--congestion", default="")
    parser.add_argument("--rank", type=int, default=-1)
    parser.add_argument("--port", type=int, default=0)
    return parser.parse_args()


ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"


@contextlib.contextmanager
def namespace_with(congestion):
    """A network of this process and its children alone, with loopback up."""
    clone_newnet, siocgifflags, siocsifflags, iff_up = 0x40000000, 0x8913, 0x8914, 1
    # A namespace may choose among those alone that the host allows everybody; lent for the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that it is given back
    allowed = os.open(ALLOWED, os.O_RDWR)
    before = os.pread(allowed, 4096, 0)
    os.pwrite(allowed, before.strip() + b" " + congestion.encode(), 0)
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) != 0:
            sys.exit(f"unshare: {os.strerror(ctypes.get_errno())}")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            asked = struct.pack("16sh22x", b"lo", 0)
            flags = struct.unpack("16sh22x", fcntl.ioctl(one, siocgifflags, asked))[1]
            fcntl.ioctl(one, siocsifflags, struct.pack("16sh22x", b"lo", flags | iff_up))
        with open(DEFAULT, "w") as setting:
            setting.write(congestion)
        yield
    finally:
        os.pwrite(allowed, before, 0)
        os.close(allowed)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_rank(rank, port):
    environment = dict(
        os.environ,
        NCCL_HOSTID=f"tcpx-host-{rank}",
        NCCL_NET="Socket",
        NCCL_IB_DISABLE="1",
        NCCL_P2P_DISABLE="1",
        NCCL_SHM_DISABLE="1",
        NCCL_SOCKET_IFNAME="lo",
    )
    words = [sys.executable, __file__, *sys.argv[1:], "--rank", str(rank), "--port", str(port)]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE if rank == 0 else None)


def parent(options):
    place = namespace_with(options.congestion) if options.congestion else contextlib.nullcontext()
    with place:
        run_ranks()


def run_ranks():
    port = free_port()
    ranks = [start_rank(rank, port) for rank in (0, 1)]
    output = ranks[0].communicate()[0]
    codes = [rank.wait() for rank in ranks]
    if any(codes):
        sys.exit(f"ranks ended with {codes}")
    sys.stdout.write(output.decode())


def large(dist, torch, rank, options):
    data = torch.zeros(options.size, dtype=torch.uint8, device="cuda")
    mark = torch.zeros(1, dtype=torch.uint8, device="cuda")
    seconds = []
    for index in range(options.iters + 5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        if rank == 0:
            dist.send(data, 1)
            dist.recv(mark, 1)
        else:
            dist.recv(data, 0)
            dist.send(mark, 0)
        torch.cuda.synchronize()
        if index >= 5:
            seconds.append(time.perf_counter() - start)
    return [options.size / one / 1e9 for one in seconds]


def small(dist, torch, rank, options):
    data = torch.zeros(options.small, dtype=torch.uint8, device="cuda")
    halves = []
    for index in range(options.small_iters + 200):
        start = time.perf_counter()
        if rank == 0:
            dist.send(data, 1)
            dist.recv(data, 1)
        else:
            dist.recv(data, 0)
            dist.send(data, 0)
        torch.cuda.synchronize()
        if index >= 200:
            halves.append((time.perf_counter() - start) * 1e6 / 2)
    return halves


def child(options):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    where = f"tcp://127.0.0.1:{options.port}"
    dist.init_process_group("nccl", init_method=where, rank=options.rank, world_size=2)
    rates = large(dist, torch, options.rank, options)
    halves = small(dist, torch, options.rank, options)
    dist.destroy_process_group()
    if options.rank == 0:
        version = ".".join(str(part) for part in torch.cuda.nccl.version())
        print(
            json.dumps(
                {
                    "nccl": version,
                    "torch": torch.__version__,
                    "sizeBytes": options.size,
                    "smallBytes": options.small,
                    "bandwidthGBps": statistics.median(rates),
                    "halfRoundTripUs": statistics.median(halves),
                }
            )
        )


if __name__ == "__main__":
    chosen = arguments()
    if chosen.rank < 0:
        parent(chosen)
    else:
        child(chosen)
