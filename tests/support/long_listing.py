"""An S3 server that does nothing but list a bucket of any number of keys, a thousand a page: `python -m tests.support.long_listing KEYS`.

Prints its port. For what is about listing and sending, where storing a hundred thousand objects would take minutes.
"""

from __future__ import annotations

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = 1_000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    keys = 0

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        start = int(query.get("continuation-token", ["0"])[0])
        end = min(start + PAGE, self.keys)
        entries = "".join(
            f"<Contents><Key>in/{number:07d}.pdf</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;{hashlib.md5(str(number).encode()).hexdigest()}&quot;</ETag><Size>{1_000 + number}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for number in range(start, end)
        )
        more = end < self.keys
        token = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>'
            f"<Prefix>in/</Prefix><IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    Handler.keys = int(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
