"""/api/metrics: the numbers behind Jaeger UI's Monitor tab, from the spans themselves."""
import datetime

import pytest

from messages import post, span, traces
from server import Server

S = 1_000_000_000
MINUTE = 60 * S
T0 = 1_700_000_040 * S  # a whole minute
END = (T0 + 10 * MINUTE) // 1_000_000


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    """In minute m there are 6 m calls of `get`, m of which failed, which took 1 … 6 m × 10 ms; and one of `put`."""
    with Server(causet, tmp_path_factory.mktemp('monitor')) as server:
        spans = []
        for minute in range(1, 6):
            start = T0 + minute * MINUTE
            for i in range(6 * minute):
                spans.append(span(len(spans) + 1, 1, 'get', start=start + i * S // 10, duration=(i + 1) * 10_000_000,
                                  status={'code': 2} if i < minute else {}))
            spans.append(span(len(spans) + 1, 1, 'put', start=start, duration=1_000_000))
            spans.append(span(len(spans) + 1, 1, 'ask', start=start, duration=1_000_000, kind=3))
        assert post(server, traces(*spans, service='shop'))[0] == 200
        assert post(server, traces(span(1, 9, 'other', start=T0 + MINUTE), service='elsewhere'))[0] == 200
        yield server


def family(shop, metric, question):
    status, answer = shop.get(f'/api/metrics/{metric}?endTs={END}&lookback=540000&step=60000&ratePer=60000&{question}')
    assert status == 200, answer
    assert set(answer) == {'name', 'type', 'help', 'metrics'} and answer['type'] == 'GAUGE' and answer['help']
    out = {}
    for metric in answer['metrics']:
        assert set(metric) == {'labels', 'metricPoints'}
        points = {}
        for point in metric['metricPoints']:
            assert set(point) == {'gaugeValue', 'timestamp'} and set(point['gaugeValue']) == {'doubleValue'}
            moment = datetime.datetime.fromisoformat(point['timestamp'][:19] + '+00:00')
            points[int(moment.timestamp() - T0 // S) // 60] = point['gaugeValue']['doubleValue']
        out[tuple(label['value'] for label in metric['labels'])] = points
        assert [label['name'] for label in metric['labels']] in (['service_name'], ['operation', 'service_name'])
    return answer['name'], out


def test_calls_are_a_rate(shop):
    name, series = family(shop, 'calls', 'service=shop&groupByOperation=true')
    assert name == 'service_operation_call_rate' and set(series) == {('get', 'shop'), ('put', 'shop')}
    # Minute m lies before the point m + 1.
    assert {k: round(v * 60, 6) for k, v in series[('get', 'shop')].items()} == {
        k: 6 * (k - 1) if 2 <= k <= 6 else 0 for k in range(1, 11)}
    name, series = family(shop, 'calls', 'service=shop&service=elsewhere&service=nobody')
    assert name == 'service_call_rate' and set(series) == {('shop',), ('elsewhere',)}


def test_errors_are_a_share(shop):
    name, series = family(shop, 'errors', 'service=shop&groupByOperation=true')
    assert name == 'service_operation_error_rate'
    assert series[('get', 'shop')] == pytest.approx({k: 1 / 6 for k in range(2, 7)})
    assert series[('put', 'shop')] == {k: 0 for k in range(2, 7)}


def test_latencies_are_a_quantile_in_milliseconds(shop):
    name, series = family(shop, 'latencies', 'service=shop&groupByOperation=true&quantile=0.95')
    assert name == 'service_operation_latencies'
    for point, value in series[('get', 'shop')].items():
        assert value == pytest.approx(0.95 * 60 * (point - 1), rel=0.15)
    assert series[('put', 'shop')] == pytest.approx({k: 1 for k in range(2, 7)}, rel=0.15)


def test_a_point_is_about_the_time_before_it(shop):
    status, answer = shop.get(f'/api/metrics/calls?endTs={END}&lookback=540000&step=60000&ratePer=300000&service=shop')
    points = [p['gaugeValue']['doubleValue'] * 300 for p in answer['metrics'][0]['metricPoints']]
    # 6 m + 1 calls in minute m; five minutes are added up.
    counts = [6 * m + 1 if 1 <= m <= 5 else 0 for m in range(-10, 20)]
    assert points == pytest.approx([sum(counts[m + 10 - 5:m + 10]) for m in range(1, 11)])


def test_kinds_are_chosen(shop):
    _, series = family(shop, 'calls', 'service=shop&groupByOperation=true&spanKind=client')
    assert set(series) == {('ask', 'shop')}
    _, series = family(shop, 'calls', 'service=shop&groupByOperation=true&spanKind=SPAN_KIND_CLIENT&spanKind=server')
    assert set(series) == {('ask', 'shop'), ('get', 'shop'), ('put', 'shop')}


def test_any_step_will_do(shop):
    assert shop.get('/api/metrics/minstep')[1]['data'] == 1


@pytest.mark.parametrize('question', [
    'calls', 'calls?service=', 'latencies?service=a', 'latencies?service=a&quantile=2', 'latencies?service=a&quantile=x',
    'calls?service=a&step=x', 'calls?service=a&step=0', 'calls?service=a&step=1&lookback=999999999', 'calls?service=a&endTs=-1',
    'errors?service=a&spanKind=odd', 'calls?service=a&endTs=5&lookback=1&step=5000', 'calls?service=%zz',
    'latencies?service=a&quantile=nan', 'calls?service=a&ratePer=99999999999999999999'])
def test_a_bad_question_is_400_with_a_reason(shop, question):
    status, answer = shop.get('/api/metrics/' + question)
    assert status == 400 and answer['errors'][0]['msg']
