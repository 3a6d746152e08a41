// Reads AsyncAPI documents (paths in the arguments) with AsyncAPI's own parser; prints one JSON list of what it finds, errors first.
// Severity 0 is an error, 1 a warning, 2 and 3 advice.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const found = [];
for (const path of process.argv.slice(2)) {
  const { document, diagnostics } = await new Parser().parse(readFileSync(path, "utf-8"));
  for (const one of diagnostics) {
    found.push({ path, severity: one.severity, code: one.code, message: one.message, at: one.path.join("/") });
  }
  if (!document && !diagnostics.some((one) => one.severity === 0)) {
    found.push({ path, severity: 0, code: "unparsed", message: "no document came out", at: "" });
  }
}
found.sort((a, b) => a.severity - b.severity);
console.log(JSON.stringify(found));
