// A client of the Model Context Protocol, by the protocol's own SDK: connects, lists the tools, calls what it is told to.
// node mcp.mjs PLAN.json OUT.json
// PLAN: {"command": […], "env": {…}} or {"url": …, "headers": {…}}, "calls": [{"name", "arguments", "follow", "cancel_ms"}]
import { readFileSync, writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';

const plan = JSON.parse(readFileSync(process.argv[2]));
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers ?? {} } })
  : new StdioClientTransport({ command: plan.command[0], args: plan.command.slice(1), env: plan.env, stderr: 'inherit' });
const client = new Client({ name: 'causet-tests', version: '1' });
await client.connect(transport);
await client.ping();
const { tools } = await client.listTools(); // from here on the client checks answers against their schemas

async function call({ name, arguments: given, follow, cancel_ms: cancel }) {
  const options = { timeout: 120000 };
  if (cancel !== undefined) {
    const controller = new AbortController();
    setTimeout(() => controller.abort('enough'), cancel);
    options.signal = controller.signal;
  }
  const pages = [];
  try {
    let result = await client.callTool({ name, arguments: given }, undefined, options);
    pages.push(result);
    while (follow && result.structuredContent?.next) {
      const more = { ...given, cursor: result.structuredContent.next };
      result = await client.callTool({ name, arguments: more }, undefined, options);
      pages.push(result);
    }
    return { pages };
  } catch (error) {
    return { pages, error: { code: error.code ?? null, message: String(error.message ?? error) } };
  }
}

const results = [];
for (const one of plan.calls) results.push(await call(one));
writeFileSync(process.argv[3], JSON.stringify({
  latest: LATEST_PROTOCOL_VERSION,
  negotiated: transport.protocolVersion ?? null,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  tools,
  results,
}));
await client.close();
