// The agent metadata blob: who an agent is, how each of its backends is reached, which ranges it
// registered and with which keys. Encoded for trusted use, decoded as hostile input.
//   Agent · Conns = count · (t = type, c = connection info)* · "MemSection"
//   nixlSecElms = count · (bknd = type, descriptor list with keys)*

import { checkBytes, checkList, checkRecord, checkText } from '../base/argument.js';
import { readRegDlist, refuseTrailing, writeRegDlist } from './descriptor-codec.js';
import { checkDescs, compareDescs, type RegDlist } from './descriptors.js';
import {
  AGENT_NAME_BYTES_MAX,
  agentNameProblem,
  BACKEND_TYPE_BYTES_MAX,
  backendTypeProblem,
  checkAgentName,
} from './names.js';
import { ELEMENT_OVERHEAD_BYTES, refuseMetadata, SerdesReader, SerdesWriter } from './serdes.js';
import { checkDlist } from './xfer-dlist.js';

export const CONN_INFO_BYTES_MAX = 1024 * 1024;
/** One per backend, and one per memory type and backend: far above any real agent. */
export const CONNECTIONS_MAX = 64;
const SECTIONS_MAX = 320;

const SECTION_MARK = 'MemSection';

/** How one backend of an agent can be reached. */
export interface ConnectionEntry {
  /** Name of the backend. */
  readonly type: string;
  /** What it says of itself, for the same backend of a peer. */
  readonly info: Uint8Array;
}

/** Registered ranges of one backend and one type of memory. */
export interface SectionEntry extends RegDlist {
  /** Name of the backend. */
  readonly type: string;
}

/** What an agent tells its peers. */
export interface AgentMetadata {
  /** Its name. */
  readonly agent: string;
  /** How each of its backends can be reached. */
  readonly connections: readonly ConnectionEntry[];
  /** Its registered ranges, by backend and memory type. */
  readonly sections: readonly SectionEntry[];
}

export interface MeasuredMetadata {
  readonly metadata: AgentMetadata;
  /** Where the blob ends; what follows belongs to somebody else. */
  readonly bytes: number;
}

/** Writes NIXL's format. */
export function encodeMetadata(metadata: AgentMetadata): Uint8Array {
  checkMetadata(metadata);
  const writer = new SerdesWriter(512);
  writer.addText('Agent', metadata.agent).addU64('Conns', metadata.connections.length);
  for (const connection of metadata.connections) {
    writer.addText('t', connection.type).addBytes('c', connection.info);
  }
  writer.addText('', SECTION_MARK).addU64('nixlSecElms', metadata.sections.length);
  // Stable sort: within a memory type, sections keep the order of backend creation.
  for (const section of metadata.sections.toSorted((a, b) => a.memType - b.memType)) {
    writer.addText('bknd', section.type);
    const descs = section.descs.toSorted(compareDescs);
    writeRegDlist(writer, { memType: section.memType, descs });
  }
  return writer.finish();
}

function checkMetadata(metadata: AgentMetadata): void {
  checkRecord('encodeMetadata: metadata', metadata);
  checkAgentName(metadata.agent, 'encodeMetadata');
  checkList('encodeMetadata: connections', metadata.connections);
  for (const connection of metadata.connections) {
    checkRecord('encodeMetadata: a connection', connection);
    checkText('encodeMetadata: type of a connection', connection.type);
    checkBytes('encodeMetadata: info of a connection', connection.info);
  }
  checkList('encodeMetadata: sections', metadata.sections);
  for (const section of metadata.sections) {
    checkDlist('encodeMetadata: a section', section);
    checkText('encodeMetadata: type of a section', section.type);
    checkDescs('encodeMetadata: a section', section.descs);
  }
}

/** Reads NIXL's format. Throws `ERR_WIRE_METADATA` for anything else. */
export function decodeMetadata(bytes: Uint8Array): AgentMetadata {
  checkBytes('metadata', bytes);
  const reader = new SerdesReader(bytes);
  const metadata = readMetadata(reader);
  refuseTrailing(reader);
  return metadata;
}

/** Decodes the blob at the start of `bytes` and says where it ends. */
export function measureMetadata(bytes: Uint8Array): MeasuredMetadata {
  const reader = new SerdesReader(bytes);
  const metadata = readMetadata(reader);
  return { metadata, bytes: reader.offset };
}

function readMetadata(reader: SerdesReader): AgentMetadata {
  const agent = reader.readText('Agent', AGENT_NAME_BYTES_MAX);
  const problem = agentNameProblem(agent);
  if (problem !== undefined) refuseMetadata(`the agent name ${problem}`);
  const connections = readConnections(reader);
  const mark = reader.readText('', SECTION_MARK.length);
  if (mark !== SECTION_MARK) refuseMetadata(`${SECTION_MARK} expected`);
  return { agent, connections, sections: readSections(reader) };
}

function readConnections(reader: SerdesReader): ConnectionEntry[] {
  const count = readCount(reader, 'Conns', CONNECTIONS_MAX);
  const connections: ConnectionEntry[] = [];
  const types = new Set<string>();
  for (let index = 0; index < count; index++) {
    const type = readType(reader, 't');
    if (types.has(type)) refuseMetadata(`two connection entries for backend ${type}`);
    types.add(type);
    connections.push({ type, info: reader.readBytes('c', 1, CONN_INFO_BYTES_MAX).slice() });
  }
  return connections;
}

function readSections(reader: SerdesReader): SectionEntry[] {
  const count = readCount(reader, 'nixlSecElms', SECTIONS_MAX);
  const sections: SectionEntry[] = [];
  for (let index = 0; index < count; index++) {
    const type = readType(reader, 'bknd');
    sections.push({ type, ...readRegDlist(reader) });
  }
  return sections;
}

function readType(reader: SerdesReader, tag: string): string {
  const type = reader.readText(tag, BACKEND_TYPE_BYTES_MAX);
  const problem = backendTypeProblem(type);
  if (problem !== undefined) refuseMetadata(`a backend type ${problem}`);
  return type;
}

function readCount(reader: SerdesReader, tag: string, maximum: number): number {
  const count = reader.readU64(tag);
  if (count > maximum || count > reader.remainingBytes / ELEMENT_OVERHEAD_BYTES) {
    refuseMetadata(`"${tag}" counts ${count}, more than the limit or the input allows`);
  }
  return count;
}
