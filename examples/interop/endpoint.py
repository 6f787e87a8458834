#!/usr/bin/python3
"""aioquic by the contract of quic-interop-runner: HTTP/0.9 over QUIC, as server and as client.

FAIRC_CCA names its congestion control, `reno` or `cubic`.
"""

import asyncio
import os
import socket
import ssl
import sys
from pathlib import Path
from urllib.parse import urlparse

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived


def configured(is_client):
    """Return the configuration that both roles begin with."""
    return QuicConfiguration(
        is_client=is_client,
        alpn_protocols=["hq-interop"],
        congestion_control_algorithm=os.environ.get("FAIRC_CCA", "reno"),
        max_data=1 << 24,
        max_stream_data=1 << 24,
    )


class Server(QuicConnectionProtocol):
    """Answers `GET /name` with a file of /www."""

    def quic_event_received(self, event):
        """Answer a request, which is one packet."""
        if isinstance(event, StreamDataReceived) and event.data:
            name = Path(event.data.decode().split()[1]).name
            content = (Path("/www") / name).read_bytes()
            self._quic.send_stream_data(event.stream_id, content, end_stream=True)
            self.transmit()


class Client(QuicConnectionProtocol):
    """Writes what comes into a file."""

    def begin(self, path):
        """Ask for a file; return what tells that it is there."""
        self.file = Path("/downloads", Path(path).name).open("wb")  # noqa: SIM115
        self.whole = asyncio.get_running_loop().create_future()
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, f"GET {path}\r\n".encode(), end_stream=True)
        self.transmit()
        return self.whole

    def quic_event_received(self, event):
        """Write the data."""
        if isinstance(event, StreamDataReceived):
            self.file.write(event.data)
            if event.end_stream:
                self.file.close()
                self.whole.set_result(None)


async def be_server():
    """Serve until it is stopped."""
    configuration = configured(False)
    configuration.load_cert_chain("/certs/cert.pem", "/certs/priv.key")
    await serve("0.0.0.0", 443, configuration=configuration, create_protocol=Server)
    await asyncio.Future()


async def be_client():
    """Download every URL."""
    configuration = configured(True)
    configuration.verify_mode = ssl.CERT_NONE
    for url in map(urlparse, os.environ["REQUESTS"].split()):
        # aioquic's own `connect` needs IPv6, which the guest does not have.
        transport, client = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Client(QuicConnection(configuration=configuration)),
            local_addr=("0.0.0.0", 0),
        )
        client.connect((socket.gethostbyname(url.hostname), url.port))
        await client.wait_connected()
        await client.begin(url.path)
        client.close()
        await client.wait_closed()
        transport.close()


if os.environ["TESTCASE"] != "transfer":
    sys.exit(127)
asyncio.run(be_server() if os.environ["ROLE"] == "server" else be_client())
