#!/usr/bin/python3
"""One of several workers that together visit every trace once: bulk_worker.py URL PART PARTS [--break-after N]

Prints the id of each trace it has seen, a line each.  With --break-after it hangs up after so many lines of each answer and
goes on with the last cursor it has, as a program on a bad line would."""
import argparse
import json
import urllib.parse
import urllib.request


def visit(url, part, parts, break_after):
    cursor = None
    while True:
        query = {'partition': f'{part}/{parts}', **({'cursor': cursor} if cursor else {})}
        with urllib.request.urlopen(f'{url}/api/v1/bulk?{urllib.parse.urlencode(query)}', timeout=60) as answer:
            for number, line in enumerate(answer, 1):
                row = json.loads(line)
                if 'end' in row:
                    assert row['end'] is True
                    return
                cursor = row['cursor']
                yield row['trace']
                if break_after and number >= break_after:
                    break


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('url')
    parser.add_argument('part', type=int)
    parser.add_argument('parts', type=int)
    parser.add_argument('--break-after', type=int)
    options = parser.parse_args()
    for trace in visit(options.url, options.part, options.parts, options.break_after):
        print(trace['traceId'], len(trace['blocks']), flush=True)
