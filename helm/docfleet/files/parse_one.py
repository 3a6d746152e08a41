"""`helm test`: one document through the whole fleet, and its result read back. Exit code 0 when the words of the page came out."""

import sys
import tempfile
import uuid
from pathlib import Path

import pymupdf

from docfleet.client import Client

WORDS = "The fleet reads this line."

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "helm-test.pdf"
    document = pymupdf.open()
    document.new_page().insert_text((72, 144), WORDS, fontsize=14)
    document.save(path)
    with Client() as client:
        submission = client.submit(path, document_id=f"helm-test-{uuid.uuid4().hex[:12]}", bucket=sys.argv[2])
        record = client.wait(submission.document_id, timeout_s=float(sys.argv[1]))
        print(record.document_id, record.status)
        text = client.markdown(submission.document_id) if record.status == "success" else ""
if WORDS not in text:
    sys.exit(f"the result does not hold the words of the page: {text[:500]!r}")
