#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sarif.py FILE: checks what SARIF 2.1.0 asks of a log like ours, and prints its results in short."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    log = json.load(f)
assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and len(log["runs"]) == 1
run = log["runs"][0]
assert set(run) <= {"tool", "results", "columnKind"}
driver = run["tool"]["driver"]
assert driver["name"] == "cavec" and set(driver) <= {"name", "version", "rules"}
rules = driver["rules"]
for rule in rules:
    assert set(rule) == {"id", "name", "shortDescription", "defaultConfiguration"}
    assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error") and rule["shortDescription"]["text"]
short = []
for result in run["results"]:
    assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "fixes", "suppressions"}
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
    assert result["level"] in ("note", "warning", "error")
    place = result["locations"][0]["physicalLocation"]
    region = place["region"]
    assert place["artifactLocation"]["uri"].startswith("file:///")
    assert all(isinstance(region[k], int) and region[k] > 0 for k in ("startLine", "startColumn", "endLine", "endColumn"))
    extra = ""
    for fix in result.get("fixes", []):
        change = fix["artifactChanges"][0]
        assert fix["description"]["text"] and change["artifactLocation"]["uri"] == place["artifactLocation"]["uri"]
        replacement = change["replacements"][0]
        assert replacement["deletedRegion"]["startLine"] and "text" in replacement["insertedContent"]
        extra = " fix"
    for s in result.get("suppressions", []):
        assert s["kind"] == "inSource"
        extra += " suppressed: " + s["justification"]
    short.append(f"{result['ruleId']} {result['level']} {region['startLine']}{extra}")
print("; ".join(short))
