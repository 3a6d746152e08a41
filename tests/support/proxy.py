"""A TCP proxy before a Kafka broker that loses some answers to produce requests: the broker has written, the producer does not hear of it.
It can also be cut: the broker lives and nobody reaches it.

It reads the frame headers of the protocol (length, api key, correlation id) and nothing else. A lost answer takes its connection
with it, as a broken network does.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading

PRODUCE = 0


class LosesAnswers:
    """Context manager. `port` is where clients connect; `target` must be set before they do. `lost` counts."""

    def __init__(self, share: float, seed: int = 1) -> None:
        self._share = share
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.lost = 0
        self.passed = 0
        self._cut = False
        self._open: set[socket.socket] = set()

    def lose(self, share: float, seed: int = 1) -> None:
        """From now on lose this share of the answers; what was counted is forgotten."""
        self._share = share
        self._random = random.Random(seed)
        self.lost = self.passed = 0

    def cut(self) -> None:
        """End every connection, and every new one at once, until `mend`."""
        self._cut = True
        for end in list(self._open):
            _end(end)

    def mend(self) -> None:
        """Let connections through again."""
        self._cut = False

    def __enter__(self) -> LosesAnswers:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._cut:
                client.close()
                continue
            try:
                broker = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self._open |= {client, broker}
            if self._cut:  # meanwhile
                self.cut()
            produces: set[int] = set()
            for source, sink, answers in ((client, broker, False), (broker, client, True)):
                threading.Thread(target=self._pump, args=(source, sink, answers, produces), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool, produces: set[int]) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                size = _read(source, 4)
                frame = _read(source, struct.unpack(">i", size)[0])
                if answers:
                    correlation = struct.unpack(">i", frame[:4])[0]
                    if correlation in produces:
                        produces.discard(correlation)
                        if self._random.random() < self._share:
                            self.lost += 1
                            break
                        self.passed += 1
                else:
                    key, _, correlation = struct.unpack(">hhi", frame[:8])
                    if key == PRODUCE:
                        produces.add(correlation)
                sink.sendall(size + frame)
        for end in (source, sink):
            self._open.discard(end)
            _end(end)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _read(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
