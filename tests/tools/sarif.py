#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sarif.py SCHEMA FILE: holds a log against the published schema, and prints its results in short.

What the schema cannot say is checked as well: places, the numbers of rules, URIs."""

import copy
import json
import re
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as f:
    validator = jsonschema.Draft4Validator(json.load(f))
with open(sys.argv[2], encoding="utf-8") as f:
    log = json.load(f)


def fault(value):
    errors = sorted(validator.iter_errors(value), key=lambda e: list(e.absolute_path))
    return f"{list(errors[0].absolute_path)}: {errors[0].message[:200]}" if errors else None


def check_schema():
    assert not fault(log), fault(log)
    # The schema is one that finds faults.
    for spoil in (lambda r: r.pop("tool"), lambda r: r.update(columnKind="bytes"), lambda r: r.update(stranger=1),
                  lambda r: r.update(results=[{}]), lambda r: r["tool"]["driver"].pop("name")):
        bad = copy.deepcopy(log)
        spoil(bad["runs"][0])
        assert fault(bad), "the schema takes a log that is none"


def check_uri(uri):
    assert re.fullmatch(r"(file://)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+", uri), uri
    return uri


def check_region(region):
    begin, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    assert (1, 1) <= begin <= end, region
    return begin, end


def fixes_of(result, where):
    for fix in result.get("fixes", []):
        (change,) = fix["artifactChanges"]
        assert fix["description"]["text"] and change["artifactLocation"]["uri"] == where
        for replacement in change["replacements"]:
            check_region(replacement["deletedRegion"])
            assert "text" in replacement["insertedContent"]
        yield " unsafe fix" if "reach" in fix["description"]["text"] else " fix"


def short(result, rules):
    (location,) = result["locations"]
    place = location["physicalLocation"]
    where = check_uri(place["artifactLocation"]["uri"])
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    text = f"{result['ruleId']} {result['level']} {check_region(place['region'])[0][0]}"
    text += "".join(fixes_of(result, where))
    for s in result.get("suppressions", []):
        text += " suppressed: " + s["justification"]
    return text


check_schema()
assert log["$schema"] == "https://json.schemastore.org/sarif-2.1.0.json"
(run,) = log["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "cavec" and run["columnKind"] == "unicodeCodePoints"
print("; ".join(short(r, driver["rules"]) for r in run["results"]))
