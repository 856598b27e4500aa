"""Runs echo_udp_client against echo_udp, and against servers that misbehave.

Usage: echo_udp_test.py SERVER CLIENT
"""

import os
import re
import socket
import subprocess
import sys
import threading
import unittest

CLIENT = os.path.abspath(sys.argv.pop())
SERVER = os.path.abspath(sys.argv.pop())


def run(*arguments):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)


class EchoUdpTest(unittest.TestCase):

    def serve(self, *arguments):
        """Starts a server; returns its address."""
        server = subprocess.Popen([SERVER, "-a", "127.0.0.1:0", *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return re.fullmatch(r"receiving at (127\.0\.0\.1:\d+)\n", server.stdout.readline()).group(1)

    def test_client_and_server(self):
        for workers in "1", "2", "4":
            address = self.serve("-t", workers)
            done = run(CLIENT, "-t", workers, "-c", "5", "-n", "200", "-a", address)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.returncode, 0)
            said = re.fullmatch(r"Sent: 1000\nAnswered: (\d+)\nLost: (\d+)\n", done.stdout)
            self.assertTrue(said, done.stdout)
            self.assertEqual(int(said.group(1)) + int(said.group(2)), 1000)
            self.assertGreater(int(said.group(1)), 0)

    def test_what_others_send_comes_back(self):
        host, port = self.serve().rsplit(":", 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(60)
            client.connect((host, int(port)))
            for message in b"", b"x", bytes(range(256)) * 200:
                client.send(message)
                self.assertEqual(client.recv(65536), message)

    def test_what_is_lost_is_counted(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", 0))

            def answer_every_second():
                for i in range(6):
                    message, client = server.recvfrom(65536)
                    if i % 2 == 0:
                        server.sendto(b"something else", client)
                        server.sendto(message, client)

            thread = threading.Thread(target=answer_every_second)
            thread.start()
            done = run(CLIENT, "-c", "1", "-n", "6", "-a", "127.0.0.1:%d" % server.getsockname()[1])
            thread.join()
            self.assertTrue(done.stdout.startswith("Sent: 6\n"), done.stdout)
            lost = int(re.search(r"Lost: (\d+)", done.stdout).group(1))
            self.assertGreaterEqual(lost, 3)

    def test_errors_are_said(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            failed = run(SERVER, "-a", address)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("UdpSocket::Bind: Address already in use", failed.stderr)
        refused = run(CLIENT, "-c", "2", "-a", address)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Connection refused", refused.stderr)
        for arguments in (CLIENT, "-c", "0"), (CLIENT, "-x"), (CLIENT, "extra"), (SERVER, "-x"), (SERVER, "-t", "x"):
            refused = run(*arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("Usage:", refused.stderr)
        self.assertEqual(run(CLIENT, "-a", "127.0.0.1").returncode, 1)


unittest.main()
