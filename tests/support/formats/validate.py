"""Validate exports with the libraries that define their formats. Runs in an environment of its own, see `tests.support.formats_check`.

Reads file names from standard input, one a line; writes one JSON object a line: `{"file", "ok", "said", "facts"}`.
"""

import json
import sys
import warnings


def docling(path):
    """Loaded by docling-core; its tree is whole; its own Markdown of it is written."""
    from docling_core.types.doc import DoclingDocument

    with open(path, encoding="utf-8") as file:
        document = DoclingDocument.model_validate_json(file.read())
    if not document.validate_tree(document.body, raise_on_error=True):
        raise ValueError("items and their parents disagree")
    markdown = document.export_to_markdown()
    texts = [item.text for item, _ in document.iterate_items() if hasattr(item, "text")]
    tables = [[[cell.text for cell in row] for row in table.data.grid] for table in document.tables]
    return {"markdown": markdown, "texts": texts, "tables": tables}


def hocr(path):
    """Checked by hocr-spec with the profile `standard`."""
    from hocr_spec import HocrValidator

    report = HocrValidator("standard").validate(path, parse_strict=True)
    if not report.is_valid():
        raise ValueError(report.format("text"))
    return {}


def checked(path):
    try:
        facts = hocr(path) if path.endswith(".hocr") else docling(path)
    except Exception as error:  # whatever a validator raises is what it says
        return {"file": path, "ok": False, "said": f"{type(error).__name__}: {error}"[:2000], "facts": {}}
    return {"file": path, "ok": True, "said": "", "facts": facts}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(checked(line.rstrip("\n"))), flush=True)
