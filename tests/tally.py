#!/usr/bin/env python3
"""Counts what the runners wrote: `tally.py FILE.xml…` prints "PASSED FAILED SKIPPED".

The files are JUnit XML of meson and pytest.  A program of cmocka tests counts as the tests it ran, not as one.  What was
skipped, and why, goes to stderr: nothing is skipped silently.
"""
import re
import sys
import xml.etree.ElementTree as ET

CMOCKA = re.compile(r'^\[\s*(OK|FAILED|SKIPPED)\s*\] (\w+)$', re.M)


def outcome(case):
    """(passed, failed, skipped) of one <testcase>."""
    failed = case.find('failure') is not None or case.find('error') is not None
    skip = case.find('skipped')
    if skip is not None:
        print(f"skipped {case.get('name')}: {skip.get('message') or (skip.text or '').strip()}", file=sys.stderr)
        return 0, 0, 1
    names = {'OK': set(), 'FAILED': set(), 'SKIPPED': set()}
    for stream in ('system-out', 'system-err'):
        for word, name in CMOCKA.findall(case.findtext(stream) or ''):
            names[word].add(name)
    for name in sorted(names['SKIPPED']):
        print(f"skipped {case.get('name')}: {name}", file=sys.stderr)
    passed, bad, skipped = len(names['OK'] - names['FAILED']), len(names['FAILED']), len(names['SKIPPED'])
    if failed:
        return passed, max(bad, 1), skipped  # died outside of a test, or a sanitizer spoke at the end
    return max(passed, 1), bad, skipped


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        for case in ET.parse(path).getroot().iter('testcase'):
            total = [a + b for a, b in zip(total, outcome(case))]
    print(*total)


main(sys.argv[1:])
