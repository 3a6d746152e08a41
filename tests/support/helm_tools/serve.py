"""Helm and the schemas of Kubernetes behind standard input and output. Runs in an environment of its own, see `tests.support.helm`.

A line in is `{"do": NAME, ...}`; a line out is `{"ok": ...}`, or `{"error": KIND, "said": ...}` with whatever the library raised.
"""

import json
import os
import sys

import helm_python as helm
import kubernetes_validate
import yaml


def lint(chart, values, kube_version):
    return helm.lint(chart, values, strict=True, kube_version=kube_version)


def render(chart, values, **options):
    """[{"template": path, "object": ...}] in order; NOTES.txt as {"template": path, "text": ...}."""
    found = []
    with helm.Chart.load(chart) as loaded:
        loaded.validate_schema(loaded.merge_values(values))
        for template, text in loaded.render(values, **options).items():
            if template.endswith(".txt"):
                found.append({"template": template, "text": text})
                continue
            found += [{"template": template, "object": one} for one in yaml.safe_load_all(text) if one]
    return found


def validate(objects, version):
    """What is wrong with each object by the strict schema of a version; none where nothing is."""
    said = []
    for one in objects:
        try:
            kubernetes_validate.validate(one, version, strict=True)
            said.append(None)
        except kubernetes_validate.ValidationError as error:
            said.append(str(error.message))
    return said


def cluster(kubeconfig, namespace, action, arguments):
    """An action on a release: install, upgrade, rollback, uninstall, status, history."""
    with helm.Config(kubeconfig_path=kubeconfig, namespace=namespace, qps=100, burst_limit=200) as config:
        return getattr(config, action)(**arguments)


ACTIONS = {one.__name__: one for one in (lint, render, validate, cluster)}

if __name__ == "__main__":
    # What the native library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": ACTIONS[request.pop("do")](**request)}
        except Exception as error:  # the caller is told, whatever it was
            answer = {"error": type(error).__name__, "said": str(error)}
        print(json.dumps(answer), file=answers, flush=True)
