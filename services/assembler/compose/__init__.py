"""The stage `compose`: builds pages and documents from the store (`services.assembler.document` has the logic)."""
