"""Tests how the Python SDK connects: one deadline for each attempt, a proxy, connections that calls share."""

import base64
import contextlib
import datetime
import itertools
import os
import pathlib
import select
import socket
import ssl
import tempfile
import threading
import time
import unittest
import unittest.mock
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from payweave import Payweave
from payweave._connections import Connections
from test_payweave import CREATED, CREDENTIALS, ORDER, TestCase


def listen(test, serve):
    """Serves each connection in a thread of its own; the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    test.addCleanup(listener.close)

    def quietly(connection):
        with contextlib.suppress(OSError):
            serve(connection)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def relay(connection, port):
    """Hands bytes on in both directions until one side has ended."""
    with socket.create_connection(("127.0.0.1", port)) as onward:
        while True:
            ready, _, _ = select.select([connection, onward], [], [])
            for one in ready:
                content = one.recv(65_536)
                if not content:
                    return
                (onward if one is connection else connection).sendall(content)


def certificate(folder):
    """A certificate of localhost that signs itself, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = pathlib.Path(folder, "localhost.pem")
    file.write_bytes(secret + made.public_bytes(pem))
    return file


def over_tls(test, server):
    """Makes it an https server of localhost; a context that trusts its certificate."""
    with tempfile.TemporaryDirectory() as folder:
        file = certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        trusting = ssl.create_default_context(cafile=str(file))
    plain = server.server.socket
    server.server.socket = context.wrap_socket(plain, server_side=True)
    test.addCleanup(server.server.socket.close)
    return trusting


class ConnectionsTest(TestCase):
    def test_calls_share_a_connection_and_a_forked_process_has_its_own(self):
        server, client = self.against(CREATED)
        client.payments.create(ORDER)
        client.payments.create(ORDER)
        self.assertEqual(len(server.connections), 1)
        connections = Connections(urlsplit(server.url), None)
        self.addCleanup(connections.close)
        own = connections.take()
        connections.give(own)
        self.assertIs(connections.take(), own)
        connections.give(own)
        connections._process = os.getppid()
        self.assertIsNot(connections.take(), own)
        own.close()

    def test_a_call_takes_no_connection_that_the_server_has_closed(self):
        server, client = self.against(CREATED, max_retries=0)
        self.open_idle(client, 6)
        for connection in server.sockets:
            connection.shutdown(socket.SHUT_RDWR)
        for connection, _ in client._transport._connections._idle:
            select.select([connection.sock], [], [], 60)
        client.payments.create(ORDER)
        self.assertEqual(len(server.connections), 7)

    def test_the_repeat_of_a_call_without_a_response_has_a_new_connection(self):
        answers = itertools.chain([CREATED] * 6, ["break", CREATED])
        server, client = self.against(*answers, max_retries=1)
        self.open_idle(client, 6)
        client.payments.create(ORDER)
        self.assertEqual(len(server.connections), 7)

    def open_idle(self, client, count):
        """Leaves `count` idle connections, by calls that run at once."""
        barrier = threading.Barrier(count)
        give = client._transport._connections.give

        def give_together(connection):
            barrier.wait()
            give(connection)

        with unittest.mock.patch.object(client._transport._connections, "give", give_together):
            threads = [
                threading.Thread(target=client.payments.create, args=(ORDER,)) for _ in range(count)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def test_a_call_whose_response_comes_byte_by_byte_ends_in_time(self):
        def dribble(connection):
            with connection:
                for byte in itertools.chain(b"HTTP/1.1 200 OK\r\nX-Slow: ", itertools.repeat(0x61)):
                    connection.sendall(bytes([byte]))
                    time.sleep(0.02)

        port = listen(self, dribble)
        client = Payweave(base_url=f"http://127.0.0.1:{port}", timeout=0.2, max_retries=0, **CREDENTIALS)
        start = time.monotonic()
        error = self.error_of(client.payments.status, "p1")
        self.assertEqual(error.message, "GET /payments/status got no response within 0.2 s")
        self.assertLess(time.monotonic() - start, 5)

    def test_a_call_to_an_https_address_goes_through_the_proxy(self):
        server, _ = self.against(CREATED)
        context = over_tls(self, server)
        asked = []

        def proxy(connection):
            with connection:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += connection.recv(1)
                asked.append(head.decode())
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                relay(connection, server.port)

        port = listen(self, proxy)
        base_url = f"https://localhost:{server.port}"
        environment = {"HTTPS_PROXY": f"http://127.0.0.1:{port}", "NO_PROXY": "", "no_proxy": ""}
        options = {"base_url": base_url, "ssl_context": context, "max_retries": 0, **CREDENTIALS}
        with unittest.mock.patch.dict(os.environ, environment):
            for more in ({}, {"proxy": f"http://shop:p%40ss@127.0.0.1:{port}"}, {"proxy": ""}):
                with Payweave(**options, **more) as client:
                    self.assertEqual(client.payments.create(ORDER)["id"], "p1")
        [environment_head, own_head] = asked
        self.assertTrue(environment_head.startswith(f"CONNECT localhost:{server.port} HTTP/1."))
        credentials = base64.b64encode(b"shop:p@ss").decode()
        self.assertIn(f"Proxy-Authorization: Basic {credentials}\r\n", own_head)
        # The proxy gets no key.
        self.assertNotIn(CREDENTIALS["subscription_key"], environment_head)
        self.assertEqual(len(server.seen), 3)
        with self.assertRaisesRegex(ValueError, "^the proxy must be an http address$"):
            Payweave(**options, proxy="socks5://127.0.0.1:1080")


if __name__ == "__main__":
    unittest.main()
