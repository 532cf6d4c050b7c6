#!/usr/bin/python3
"""Our codecs against protoc's code, which knows nothing of them.

usage: test_protoc.py WIRE_TOOL

Random messages, made from the .proto files by reflection, go through wire_tool (decode, model, encode); what
comes out must say the same to protoc's decoder.  For JSON, Python's own JSON mapping reads what we write and
writes what we read.
"""
import base64
import binascii
import importlib
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor as F

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
TOOL = None
REFUSED = 0xffffffff
ROUNDS = 150


def compile_protos():
    """protoc's modules for events.proto, otlp.proto and zipkin.proto."""
    out = tempfile.mkdtemp(prefix='causet-protoc-')
    for folder, name in ((TOP / 'docs/format', 'events'), (HERE, 'otlp'), (HERE, 'zipkin')):
        subprocess.run(['protoc', f'-I{folder}', f'--python_out={out}', f'{name}.proto'], check=True)
    sys.path.insert(0, out)
    return [importlib.import_module(f'{name}_pb2') for name in ('events', 'otlp', 'zipkin')]


def convert(source, target, requests):
    """Each request (bytes) through wire_tool: [bytes, or None where it was refused], stderr."""
    data = b''.join(struct.pack('<I', len(r)) + r for r in requests)
    done = subprocess.run([TOOL, source, target], input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f'wire_tool {source} {target}: exit {done.returncode}\n{done.stderr.decode()[-3000:]}')
    answers, at = [], 0
    while at < len(done.stdout):
        n, = struct.unpack_from('<I', done.stdout, at)
        at += 4
        answers.append(None if n == REFUSED else done.stdout[at:at + n])
        at += 0 if n == REFUSED else n
    return answers, done.stderr.decode()


# --- making messages ------------------------------------------------------------------------------------------------

INTS = [0, 1, -1, 127, 128, 2**31 - 1, -2**31, 2**31, 2**53 + 1, 2**63 - 1, -2**63, 2**63, 2**64 - 1]
# No NaN: it has many bit patterns and equals none.
DOUBLES = [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, 5e-324, 1.7976931348623157e308, float('inf'), float('-inf')]
TEXTS = ['', 'a', 'service.name', 'a\0b', '"\\\b\n\x1f\x7f</script>', 'café 漢字 🐢', '\uffff\u2028', 'x' * 1000]
RANGES = {F.TYPE_INT32: (-2**31, 2**31 - 1), F.TYPE_ENUM: (-2**31, 2**31 - 1), F.TYPE_UINT32: (0, 2**32 - 1),
          F.TYPE_FIXED32: (0, 2**32 - 1), F.TYPE_INT64: (-2**63, 2**63 - 1), F.TYPE_UINT64: (0, 2**64 - 1),
          F.TYPE_FIXED64: (0, 2**64 - 1)}


# Unknown fields of these have no row to hang on.
NO_UNKNOWN = ('otlp.ExportTraceServiceRequest', 'otlp.ExportLogsServiceRequest', 'causet.v1.ExportEventsRequest',
              'zipkin.ListOfSpans', 'zipkin.Endpoint', 'zipkin.Annotation')


class Maker:
    """Random messages.  `rules` maps 'Message.field' to a function of the generator that gives its value, or
    None to leave the field out."""

    def __init__(self, seed, rules, unknown=False):
        self.rng = random.Random(seed)
        self.rules = rules
        self.unknown = unknown

    def scalar(self, field):
        rng = self.rng
        if field.type == F.TYPE_STRING:
            return rng.choice(TEXTS) if rng.random() < .5 else ''.join(rng.choices('abc.é漢', k=rng.randrange(12)))
        if field.type == F.TYPE_BYTES:
            return rng.randbytes(rng.randrange(20))
        if field.type == F.TYPE_BOOL:
            return rng.random() < .5
        if field.type == F.TYPE_DOUBLE:
            return rng.choice(DOUBLES) if rng.random() < .5 else rng.uniform(-1e9, 1e9)
        low, high = RANGES[field.type]
        if field.type == F.TYPE_ENUM and rng.random() < .8:
            return rng.choice(list(field.enum_type.values_by_number))
        return rng.choice([i for i in INTS if low <= i <= high]) if rng.random() < .6 else rng.randint(low, high)

    def fill(self, message, depth=0):
        rng = self.rng
        chosen = {o.name: rng.choice([f.name for f in o.fields] + [None]) for o in message.DESCRIPTOR.oneofs}
        for field in message.DESCRIPTOR.fields:
            rule = self.rules.get(f'{message.DESCRIPTOR.name}.{field.name}', self)
            if field.containing_oneof and chosen[field.containing_oneof.name] != field.name:
                continue
            if rule is None or (rule is self and not field.containing_oneof and rng.random() < .3):
                continue
            if field.message_type and field.message_type.GetOptions().map_entry:
                for _ in range(rng.randrange(4)):
                    getattr(message, field.name)[rng.choice(TEXTS)] = rng.choice(TEXTS)
            elif field.label == F.LABEL_REPEATED:
                for _ in range(rng.randrange(4) if depth < 9 else 0):
                    if field.message_type:
                        self.fill(getattr(message, field.name).add(), depth + 1)
                    else:
                        getattr(message, field.name).append(self.scalar(field))
            elif field.message_type:
                getattr(message, field.name).SetInParent()
                self.fill(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, rule(rng) if rule is not self else self.scalar(field))
        if self.unknown and rng.random() < .1 and message.DESCRIPTOR.full_name not in NO_UNKNOWN:
            message.MergeFromString(b'\xc2\x3e\x03new' if rng.random() < .5 else b'\xc8\x3e\x07\xc9\x3eabcdefgh')
        return message


def some_id(n):
    return lambda rng: rng.randbytes(n - 1) + bytes([rng.randrange(1, 256)])


def some_time(rng):
    return rng.choice((0, 1, 1763200000000000, rng.randrange(2**53)))


def maybe_id(n):
    return lambda rng: b'' if rng.random() < .3 else some_id(n)(rng)


# --- comparing messages ---------------------------------------------------------------------------------------------

MEMBERS = ('scope_spans', 'scope_logs', 'scope_events', 'spans', 'log_records', 'events')


def members(group):
    return getattr(group, next(f.name for f in group.DESCRIPTOR.fields if f.name in MEMBERS))


def head(group):
    """What a group says of its members, as bytes."""
    copy = type(group).FromString(group.SerializeToString())
    del members(copy)[:]
    return copy.SerializeToString(deterministic=True)


def gathered(groups):
    """Without groups that have no members; neighbours that say the same of theirs are one."""
    out = []
    for group in groups:
        if not members(group):
            continue
        if out and head(out[-1]) == head(group):
            members(out[-1]).extend(members(group))
            normal(out[-1])
        else:
            out.append(type(group).FromString(group.SerializeToString()))
    return out


def normal(message):
    """Without what no reader tells apart: empty messages where one may stand, how rows are put into groups."""
    for field, value in message.ListFields():
        if not field.message_type or field.message_type.GetOptions().map_entry:
            continue
        if field.label == F.LABEL_REPEATED:
            for item in value:
                normal(item)
            if field.name.startswith(('resource_', 'scope_')):
                groups = gathered(value)
                message.ClearField(field.name)
                getattr(message, field.name).extend(groups)
        else:
            normal(value)
            if not field.containing_oneof and not value.SerializeToString():
                message.ClearField(field.name)
    return message


def same(before, after):
    return normal(before).SerializeToString(deterministic=True) == normal(after).SerializeToString(deterministic=True)


# --- JSON -----------------------------------------------------------------------------------------------------------

IDS = ('traceId', 'spanId', 'parentSpanId', 'id1', 'id2', 'unit', 'linkTraceId')


def swap_ids(value, change, inside_attributes=False):
    """Ids are hex with us and base64 in protobuf's mapping."""
    if isinstance(value, list):
        return [swap_ids(v, change, inside_attributes) for v in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, inner in value.items():
        if not inside_attributes and key in IDS and isinstance(inner, str):
            out[key] = change(inner)
        else:
            out[key] = swap_ids(inner, change, inside_attributes or key in ('attributes', 'value', 'body'))
    return out


def to_hex(text):
    return binascii.hexlify(base64.b64decode(text)).decode()


def to_base64(text):
    return base64.b64encode(binascii.unhexlify(text)).decode()


def strip(request):
    """Without empty lists: a request for nothing says that it has no spans."""
    return {key: value for key, value in request.items() if value}


class Codecs(unittest.TestCase):
    """One table: codec, its JSON sister, the request message, the rules of its random messages."""

    @classmethod
    def setUpClass(cls):
        cls.events, cls.otlp, cls.zipkin = compile_protos()
        kinds = list(cls.events.EventType.values())[1:]
        link = cls.events.EVENT_TYPE_LINK
        cls.event_rules = {
            'Event.trace_id': some_id(16), 'Event.id1': some_id(8), 'Event.id2': some_id(8), 'Event.unit': maybe_id(8),
            'Event.link_trace_id': some_id(16), 'Event.type': lambda rng: rng.choice(kinds + [link]),
            'Event.origin': lambda rng: rng.randrange(4), 'Event.marks': lambda rng: rng.randrange(8)}
        cls.otlp_rules = {
            'Span.trace_id': some_id(16), 'Span.span_id': some_id(8), 'Span.parent_span_id': maybe_id(8),
            'Link.trace_id': some_id(16), 'Link.span_id': some_id(8),
            'LogRecord.trace_id': some_id(16), 'LogRecord.span_id': maybe_id(8)}
        cls.zipkin_rules = {
            'Span.trace_id': lambda rng: some_id(rng.choice((8, 16)))(rng), 'Span.id': some_id(8),
            'Span.parent_id': maybe_id(8), 'Endpoint.ipv4': maybe_id(4), 'Endpoint.ipv6': maybe_id(16),
            'Endpoint.port': lambda rng: rng.choice((0, 1, 80, 65535)), 'Annotation.timestamp': some_time,
            'Span.timestamp': some_time, 'Span.duration': lambda rng: rng.choice((0, 1, rng.randrange(2**53)))}
        cls.table = [
            ('events', 'events-json', cls.events.ExportEventsRequest, cls.event_rules),
            ('otlp', 'otlp-json', cls.otlp.ExportTraceServiceRequest, cls.otlp_rules),
            ('otlp-logs', 'otlp-json', cls.otlp.ExportLogsServiceRequest, cls.otlp_rules),
            ('zipkin-proto', None, cls.zipkin.ListOfSpans, cls.zipkin_rules),  # its JSON is no mapping of protobuf
        ]

    def make(self, request, rules, unknown=False):
        return [Maker(seed, rules, unknown).fill(request()) for seed in range(ROUNDS)]

    def assert_same(self, what, before, after):
        for seed, (a, b) in enumerate(zip(before, after)):
            if not same(a, b):
                self.fail(f'{what}, seed {seed}:\n--- before\n{a}\n--- after\n{b}'[:20000])

    def test_protobuf_comes_back_as_protoc_wrote_it(self):
        for codec, _, request, rules in self.table:
            for unknown in (False, True):
                with self.subTest(codec=codec, unknown=unknown):
                    before = self.make(request, rules, unknown)
                    self.only_one_kind(before)
                    answers, stderr = convert(codec, codec, [m.SerializeToString() for m in before])
                    self.assertEqual(stderr, '')
                    self.assertEqual(len(answers), len(before))
                    self.assert_same(codec, before, [request.FromString(a) for a in answers])

    def test_json_of_ours_is_read_by_python(self):
        for codec, text, request, rules in self.table:
            if not text:
                continue
            with self.subTest(codec=text):
                before = self.make(request, rules)
                self.only_one_kind(before)
                answers, stderr = convert(codec, text, [m.SerializeToString() for m in before])
                self.assertEqual(stderr, '')
                after = [json_format.ParseDict(swap_ids(strip(json.loads(a)), to_base64), request()) for a in answers]
                self.assert_same(text, before, after)

    def test_json_of_python_is_read_by_us(self):
        for codec, text, request, rules in self.table:
            if not text:
                continue
            with self.subTest(codec=text):
                before = self.make(request, rules)
                self.only_one_kind(before)
                texts = [json.dumps(swap_ids(json_format.MessageToDict(m, use_integers_for_enums=i % 2 == 0), to_hex),
                                    indent=i % 3 or None).encode() for i, m in enumerate(before)]
                answers, stderr = convert(text, codec, texts)
                self.assertEqual(stderr, '')
                self.assert_same(text, before, [request.FromString(a) for a in answers])

    def only_one_kind(self, messages):
        """The model has one place for kind and severity; the other is kept too, but as an unknown field."""
        for message in messages:
            for event in all_events(message):
                event.ClearField('kind' if event.type == self.events.EVENT_TYPE_LOG else 'severity_number')

    def test_events_carry_spans_of_other_formats(self):
        """OTLP to native and back: nothing is lost on the way."""
        before = self.make(self.otlp.ExportTraceServiceRequest, self.otlp_rules, unknown=True)
        native, stderr = convert('otlp', 'events', [m.SerializeToString() for m in before])
        self.assertEqual(stderr, '')
        for answer in native:  # protoc's code can read it, and there is nothing in it that it does not know
            self.events.ExportEventsRequest.FromString(answer)
        answers, stderr = convert('events', 'otlp', native)
        self.assertEqual(stderr, '')
        self.assert_same('otlp', before, [self.otlp.ExportTraceServiceRequest.FromString(a) for a in answers])

    def test_zipkin_protobuf_and_json_say_the_same(self):
        rules = {**self.zipkin_rules, 'Span.kind': lambda rng: rng.randrange(5)}  # JSON has names for them alone
        before = self.make(self.zipkin.ListOfSpans, rules)
        text, stderr = convert('zipkin-proto', 'zipkin-json', [m.SerializeToString() for m in before])
        self.assertEqual(stderr, '')
        for message, answer in zip(before, text):
            spans = json.loads(answer)
            self.assertEqual([s['id'] for s in spans], [s.id.hex() for s in message.spans])
            self.assertEqual([s['traceId'] for s in spans], [s.trace_id.hex() for s in message.spans])
            self.assertEqual([s.get('tags', {}) for s in spans], [dict(s.tags) for s in message.spans])
        answers, stderr = convert('zipkin-json', 'zipkin-proto', text)
        self.assertEqual(stderr, '')
        self.assert_same('zipkin', before, [self.zipkin.ListOfSpans.FromString(a) for a in answers])

    def test_wrong_ids_are_rejected_rows(self):
        request = self.events.ExportEventsRequest()
        scope = request.resource_events.add().scope_events.add()
        scope.events.add(trace_id=b'x' * 16, type=2, id1=b'y' * 8)
        scope.events.add(trace_id=b'x' * 16, type=2)
        scope.events.add(trace_id=b'x' * 15, type=2, id1=b'y' * 8)
        scope.events.add(trace_id=b'x' * 16, type=99, id1=b'y' * 8)
        answers, stderr = convert('events', 'events', [request.SerializeToString()])
        after = self.events.ExportEventsRequest.FromString(answers[0])
        self.assertEqual(len(list(all_events(after))), 1)
        self.assertIn('rejected 3: begin event with no id1', stderr)


def all_events(message):
    for group in getattr(message, 'resource_events', ()):
        for scope in group.scope_events:
            yield from scope.events


if __name__ == '__main__':
    TOOL = sys.argv.pop(1)
    unittest.main(verbosity=2)
