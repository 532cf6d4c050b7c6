// A small shop instrumented with OpenTelemetry: an HTTP server, a client that calls it, and spans by hand with everything
// a span can have.  Everything is exported by one exporter to causet; what was exported is also written down, from the
// SDK's own objects, for the test to compare.
//   usage: node app.cjs EXPORTER OUT     with EXPORTER one of otlp-proto, otlp-http, otlp-grpc, zipkin
// Endpoints come from OpenTelemetry's environment variables, as users set them.
'use strict';
const fs = require('fs');
const { NodeSDK } = require('@opentelemetry/sdk-node');
const { BatchSpanProcessor } = require('@opentelemetry/sdk-trace');
const { BatchLogRecordProcessor } = require('@opentelemetry/sdk-logs');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const api = require('@opentelemetry/api');

const [exporter, out] = process.argv.slice(2);
const exporters = {
  'otlp-proto': () => [new (require('@opentelemetry/exporter-trace-otlp-proto').OTLPTraceExporter)(),
                       new (require('@opentelemetry/exporter-logs-otlp-proto').OTLPLogExporter)()],
  'otlp-http': () => [new (require('@opentelemetry/exporter-trace-otlp-http').OTLPTraceExporter)({ compression: 'gzip' }),
                      new (require('@opentelemetry/exporter-logs-otlp-http').OTLPLogExporter)({ compression: 'gzip' })],
  'otlp-grpc': () => [new (require('@opentelemetry/exporter-trace-otlp-grpc').OTLPTraceExporter)(),
                      new (require('@opentelemetry/exporter-logs-otlp-grpc').OTLPLogExporter)()],
  zipkin: () => [new (require('@opentelemetry/exporter-zipkin').ZipkinExporter)(), null],
};
const [spanExporter, logExporter] = exporters[exporter]();

// --- writing down what was exported -----------------------------------------------------------------------------------

const time = ([seconds, nanos]) => (BigInt(seconds) * 1000000000n + BigInt(nanos)).toString();

function value(v) {
  if (v === null || v === undefined) return {};
  if (typeof v === 'string') return { stringValue: v };
  if (typeof v === 'boolean') return { boolValue: v };
  if (typeof v === 'number') return Number.isInteger(v) ? { intValue: String(v) } : { doubleValue: v };
  if (v instanceof Uint8Array) return { bytesValue: Buffer.from(v).toString('base64') };
  if (Array.isArray(v)) return { arrayValue: v.map(value) };
  return { kvlistValue: attributes(v) };
}

function attributes(all) {
  return Object.fromEntries(Object.entries(all ?? {}).map(([k, v]) => [k, value(v)]));
}

const texts = (all) => Object.fromEntries(Object.entries(all).map(([k, v]) => [k, String(v)]));
const flags = (context, remote) => (context.traceFlags & 255) | 256 | (remote ? 512 : 0);

function span(s) {
  const context = s.spanContext();
  return {
    traceId: context.traceId, spanId: context.spanId, parentSpanId: s.parentSpanContext?.spanId,
    traceState: context.traceState?.serialize(), name: s.name, kind: s.kind + 1,
    startTimeUnixNano: time(s.startTime), endTimeUnixNano: time(s.endTime), attributes: attributes(s.attributes),
    events: s.events.map((e) => ({ name: e.name, timeUnixNano: time(e.time), attributes: attributes(e.attributes) })),
    links: s.links.map((l) => ({
      traceId: l.context.traceId, spanId: l.context.spanId, traceState: l.context.traceState?.serialize(),
      attributes: attributes(l.attributes), flags: flags(l.context, l.context.isRemote) })),
    status: { code: s.status.code, message: s.status.message }, flags: flags(context, s.parentSpanContext?.isRemote),
    resource: attributes(s.resource.attributes),
    scope: { name: s.instrumentationScope.name, version: s.instrumentationScope.version },
    texts: { ...texts(s.attributes), ...texts(s.resource.attributes) }, // Zipkin has nothing but texts
  };
}

function record(r) {
  return {
    timeUnixNano: time(r.hrTime), observedTimeUnixNano: time(r.hrTimeObserved), severityNumber: r.severityNumber,
    severityText: r.severityText, body: value(r.body), attributes: attributes(r.attributes), eventName: r.eventName,
    traceId: r.spanContext?.traceId, spanId: r.spanContext?.spanId, flags: r.spanContext?.traceFlags,
    resource: attributes(r.resource.attributes), scope: { name: r.instrumentationScope.name, version: r.instrumentationScope.version },
  };
}

const written = { spans: [], records: [], problems: [] };
const spanWriter = {
  onStart() {}, onEnd(s) { written.spans.push(span(s)); }, forceFlush: async () => {}, shutdown: async () => {},
};
const recordWriter = {
  onEmit(r) { written.records.push(record(r)); }, enabled: () => true, forceFlush: async () => {}, shutdown: async () => {},
};
const complain = (...words) => written.problems.push(words.map(String).join(' '));
api.diag.setLogger({ error: complain, warn: complain, info() {}, debug() {}, verbose() {} }, api.DiagLogLevel.WARN);

const sdk = new NodeSDK({
  autoDetectResources: false,
  resource: resourceFromAttributes({ 'service.name': 'shop', 'service.version': '1.2.3', 'shop.floors': 3, 'shop.open': true }),
  spanProcessors: [new BatchSpanProcessor({ exporter: spanExporter }), spanWriter],
  logRecordProcessors: logExporter ? [new BatchLogRecordProcessor({ exporter: logExporter }), recordWriter] : [],
  metricReaders: [],
  instrumentations: [new HttpInstrumentation()],
});
sdk.start();

// --- the shop ---------------------------------------------------------------------------------------------------------

const http = require('http'); // after the start, so that it is instrumented
const tracer = api.trace.getTracer('shop', '0.9');
const logger = api.logs.getLogger('shop.log', '0.1');

function everything() { // that a span's attribute can be
  return {
    text: 'plain', empty: '', 'not ascii': 'Größe ☕ 🦊', 'a "quoted" \\ key\n': 'with\ttab and \u0000 zero',
    int: 42, 'int.negative': -7, 'int.large': Number.MAX_SAFE_INTEGER, double: 0.1, 'double.small': 5e-324,
    'double.large': 123456789.0625, // 1e300 is an integer to JavaScript
    yes: true, no: false,
    texts: ['a', '', 'ß'], ints: [1, 2, 3], doubles: [0.5, -1.25], bools: [true, false], 'empty.list': [],
    long: 'l'.repeat(20000),
  };
}

function more() { // that a log record's attribute can be as well
  return {
    ...everything(), bytes: new Uint8Array([0, 255, 128, 7]), nested: { a: 1, b: { c: ['x', 2, false], d: 'y' } },
    mixed: [1, 'two', 3.5, null, [true]],
  };
}

function handle(request, response) {
  tracer.startActiveSpan('look up', { attributes: { 'db.system': 'sqlite' } }, (s) => {
    if (logExporter)
      logger.emit({ severityNumber: 13, severityText: 'WARN', body: { item: 'tea', left: [1, 2.5] }, eventName: 'stock.low', attributes: more() });
    s.addEvent('found', { rows: 2, 'kinds': ['green', 'black'] });
    s.end();
    response.statusCode = request.url === '/broken' ? 500 : 200;
    response.end('tea');
  });
}

function get(port, path) {
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port, path, headers: { 'user-agent': 'shopper' } }, (answer) => {
      answer.resume();
      answer.on('end', resolve);
    }).on('error', reject);
  });
}

async function visit(port) {
  const earlier = tracer.startSpan('earlier', { root: true });
  earlier.end();
  const elsewhere = { traceId: '0123456789abcdef0123456789abcdef', spanId: 'fedcba9876543210', traceFlags: 1, isRemote: true,
                      traceState: api.createTraceState('vendor=value,other=1') };
  await tracer.startActiveSpan('visit', {
    kind: api.SpanKind.CONSUMER, attributes: everything(),
    links: [{ context: earlier.spanContext(), attributes: { why: 'same customer', weight: 0.75 } }, { context: elsewhere }],
  }, async (s) => {
    await get(port, '/tea?cups=2');
    await get(port, '/broken');
    await tracer.startActiveSpan('pay', { kind: api.SpanKind.PRODUCER }, async (inner) => {
      inner.addEvent('card', everything());
      inner.recordException(new TypeError('card declined ☹'));
      inner.setStatus({ code: api.SpanStatusCode.ERROR, message: 'declined' });
      inner.end();
    });
    s.setStatus({ code: api.SpanStatusCode.OK });
    s.updateName('visit, renamed');
    s.end();
  });
  // The child of a caller we only know by its headers.
  const remote = api.propagation.extract(api.ROOT_CONTEXT, {
    traceparent: '00-0123456789abcdef0123456789abcdef-fedcba9876543210-01', tracestate: 'vendor=value,other=1', baggage: 'k=v' });
  tracer.startSpan('remote child', { kind: api.SpanKind.SERVER }, remote).end();
  for (let i = 0; i < 1000; i++) // more than a batch
    tracer.startSpan(`item ${i}`, { attributes: { i } }, remote).end();
}

async function main() {
  const server = http.createServer(handle);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  await visit(server.address().port);
  await new Promise((resolve) => server.close(resolve));
  await sdk.shutdown();
  fs.writeFileSync(out, JSON.stringify(written));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
