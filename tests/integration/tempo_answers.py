"""What Tempo's answers mean, read as strictly as its clients do: a field they do not know fails."""

SEARCH = {'traces', 'metrics'}
METRICS = {'inspectedTraces', 'inspectedBytes', 'totalBlocks', 'completedJobs', 'totalJobs', 'totalBlockBytes', 'inspectedSpans'}
TRACE = {'traceID', 'rootServiceName', 'rootTraceName', 'startTimeUnixNano', 'durationMs', 'spanSet', 'spanSets', 'serviceStats'}
SPAN = {'spanID', 'name', 'startTimeUnixNano', 'durationNanos', 'attributes'}
ANY = {'stringValue': str, 'boolValue': bool, 'intValue': str, 'doubleValue': (int, float), 'arrayValue': dict, 'bytesValue': str}


def attribute(pair):
    assert set(pair) == {'key', 'value'} and len(pair['value']) == 1, pair
    (kind, value), = pair['value'].items()
    assert isinstance(value, ANY[kind]), pair
    return pair['key'], kind, str(value)


def metrics(value):
    assert set(value) <= METRICS, value
    assert all(isinstance(v, str if k.endswith('Bytes') else int) for k, v in value.items()), value


def span(value):
    assert set(value) <= SPAN, value
    assert len(value['spanID']) == 16
    return (value['spanID'], value.get('name', ''), value['startTimeUnixNano'], value.get('durationNanos', '0'),
            frozenset(attribute(a) for a in value.get('attributes', [])))


def span_set(value):
    assert set(value) <= {'spans', 'matched', 'attributes'}, value
    return value['matched'], frozenset(span(s) for s in value['spans'])


def service_stats(value):
    """(spans, of them failed) by service."""
    for one in value.values():
        assert set(one) <= {'spanCount', 'errorCount'} and all(isinstance(n, int) and n > 0 for n in one.values()), value
    return {service: (one['spanCount'], one.get('errorCount', 0)) for service, one in value.items()}


def trace(value):
    """(about the trace, how many spans matched, those that are shown)"""
    assert set(value) <= TRACE, value
    service_stats(value.get('serviceStats', {}))
    sets = [span_set(s) for s in value.get('spanSets', [])]
    assert ('spanSet' in value) == bool(sets)
    if sets:
        assert span_set(value['spanSet']) == sets[0]
    about = (value.get('rootServiceName', ''), value.get('rootTraceName', ''), value['startTimeUnixNano'], value.get('durationMs', 0))
    return about, sum(n for n, _ in sets), frozenset().union(*(s for _, s in sets))


def search(answer):
    """Traces by id, and the order they stand in."""
    assert set(answer) == SEARCH, answer
    metrics(answer['metrics'])
    return {t['traceID']: trace(t) for t in answer['traces']}, [t['startTimeUnixNano'] for t in answer['traces']]


def tags(answer):
    """Names by scope; version 1 has none."""
    metrics(answer['metrics'])
    if 'tagNames' in answer:
        assert set(answer) == {'tagNames', 'metrics'}
        return sorted(answer['tagNames'])
    assert set(answer) == {'scopes', 'metrics'}, answer
    assert all(set(s) == {'name', 'tags'} for s in answer['scopes'])
    return {s['name']: sorted(s['tags']) for s in answer['scopes']}


def values(answer):
    assert set(answer) == {'tagValues', 'metrics'}, answer
    metrics(answer['metrics'])
    found = [v if isinstance(v, str) else (v['type'], v.get('value', '')) for v in answer['tagValues']]
    assert all(isinstance(v, str) or set(v) <= {'type', 'value'} for v in answer['tagValues'])
    assert len(found) == len(set(found))
    return sorted(found)


def series(answer):
    """Numbers by labels: {milliseconds: number}, or one number where there is one for the whole range."""
    assert set(answer) == {'series', 'metrics'}, answer
    metrics(answer['metrics'])
    found = {}
    for one in answer['series']:
        labels = tuple((k, v) for k, _, v in map(attribute, one['labels']))
        if 'samples' in one:
            assert {'labels', 'samples'} <= set(one) <= {'labels', 'samples', 'exemplars'}
            assert all(set(s) <= {'timestampMs', 'value'} for s in one['samples'])
            value = {int(s['timestampMs']): s.get('value', 0) for s in one['samples']}
            assert list(value) == sorted(value) and len(value) == len(one['samples'])
        else:
            assert set(one) <= {'labels', 'value'}, one
            value = one.get('value', 0)
        assert labels not in found
        found[labels] = value
    return found


def exemplars(answer):
    """(trace, milliseconds, number) by labels of their series."""
    found = {}
    for one in answer['series']:
        labels = tuple((k, v) for k, _, v in map(attribute, one['labels']))
        for e in one.get('exemplars', []):
            assert set(e) <= {'labels', 'value', 'timestampMs'}, e
            (key, kind, trace), = map(attribute, e['labels'])
            assert (key, kind) == ('trace:id', 'stringValue')
            found.setdefault(labels, []).append((trace, int(e['timestampMs']), e.get('value', 0)))
    return found
