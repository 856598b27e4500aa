"""Runs echo_client against echo_server.

Usage: echo_test.py SERVER CLIENT
"""

import os
import re
import socket
import subprocess
import sys
import time
import unittest

CLIENT = os.path.abspath(sys.argv.pop())
SERVER = os.path.abspath(sys.argv.pop())

with open(SERVER, "rb") as program:
    SANITIZED = re.search(rb"__(asan|tsan)_init", program.read()) is not None


def status(pid, field):
    """A number of /proc/PID/status."""
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def connect(address):
    host, port = address.rsplit(":", 1)
    conn = socket.create_connection((host, int(port)), timeout=60)
    conn.settimeout(60)
    return conn


def talk(conn):
    conn.sendall(b"x" * 100)
    rest = 100
    while rest > 0:
        rest -= len(conn.recv(rest))


def run(*arguments):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)


class EchoTest(unittest.TestCase):

    def serve(self, *arguments):
        """Starts a server; returns its address."""
        server = subprocess.Popen([SERVER, "-a", "127.0.0.1:0", *arguments], stdout=subprocess.PIPE, text=True)
        self.server = server.pid
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return re.fullmatch(r"listening on (127\.0\.0\.1:\d+)\n", server.stdout.readline()).group(1)

    def test_client_and_server(self):
        for workers in "1", "2", "4":
            address = self.serve("-t", workers)
            done = run(CLIENT, "-t", workers, "-c", "20", "-l", "1000", "-a", address, "-d", "1")
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.returncode, 0)
            said = re.fullmatch(
                r"Benchmarking: %s, 20 connections, 1000 bytes, 1 s\n"
                r"Speed: (\d+) requests/s, (\d+) responses/s, (\d+) kB/s\n"
                r"Requests: (\d+)\nResponses: (\d+)\n"
                r"Latency: p50 (\d+) us, p90 (\d+) us, p99 (\d+) us, p99.9 (\d+) us, max (\d+) us\n" % address,
                done.stdout)
            self.assertTrue(said, done.stdout)
            requests, responses = int(said.group(4)), int(said.group(5))
            self.assertEqual(requests, responses)
            self.assertGreaterEqual(requests, 20)
            latencies = [int(said.group(i)) for i in range(6, 11)]
            self.assertEqual(latencies, sorted(latencies))

    def test_what_others_send_comes_back(self):
        address = self.serve()
        message = bytes(range(256)) * 10000
        with connect(address) as conn:
            got = b""
            for begin in range(0, len(message), 100000):
                conn.sendall(message[begin:begin + 100000])
                while len(got) < begin + 100000 and len(got) < len(message):
                    got += conn.recv(65536)
            self.assertEqual(got, message)
            conn.shutdown(socket.SHUT_WR)
            self.assertEqual(conn.recv(1), b"")

    @unittest.skipIf(SANITIZED, "a sanitizer's memory says nothing")
    def test_idle_connections_cost_little(self):
        address = self.serve("-t", "2")
        count = 500

        def open_many():
            connections = [connect(address) for _ in range(count)]
            for conn in connections:
                self.addCleanup(conn.close)
                talk(conn)

        open_many()  # whatever is allocated in blocks has been by then
        before = status(self.server, "VmRSS")
        open_many()
        self.assertLess((status(self.server, "VmRSS") - before) / count, 12, "KiB a connection")
        ticks = cpu_ticks(self.server)
        time.sleep(1)
        self.assertLessEqual(cpu_ticks(self.server) - ticks, 2)

    @unittest.skipIf(SANITIZED, "a sanitizer's memory says nothing")
    def test_connections_that_end_leave_nothing(self):
        address = self.serve("-t", "2")

        def come_and_go(count):
            for i in range(count):
                with connect(address) as conn:
                    if i % 2:
                        talk(conn)
            # The last ones are seen to end before the server answers a new one.
            descriptors = "/proc/%d/fd" % self.server
            with connect(address) as conn:
                while True:
                    talk(conn)
                    if len(os.listdir(descriptors)) < 20:
                        return len(os.listdir(descriptors)), status(self.server, "VmRSS")

        descriptors, memory = come_and_go(4000)
        again, more_memory = come_and_go(8000)
        self.assertEqual(again, descriptors)
        self.assertLess(more_memory - memory, 2000, "KiB")

    def test_errors_are_said(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            refused = run(CLIENT, "-c", "2", "-a", address, "-d", "1")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("TcpStream::Dial: Connection refused", refused.stderr)
            taken.listen()
            failed = run(SERVER, "-a", address)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("TcpListener::Listen: Address already in use", failed.stderr)
        for arguments in (CLIENT, "-c", "0"), (CLIENT, "-x"), (CLIENT, "extra"), (CLIENT, "-d", "1s"), (SERVER, "-x"), (SERVER, "-t", "x"):
            refused = run(*arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("Usage:", refused.stderr)
        self.assertEqual(run(SERVER, "-a", "127.0.0.1").returncode, 1)


unittest.main()
