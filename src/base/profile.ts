// A profile: settings that were found to be best on a host, as `tcpx bench sweep --save-profile`
// writes them. Lines NAME=VALUE with the names of variables; whatever is set by hand wins over it.

import { readFileSync, statSync } from 'node:fs';
import { TcpxError } from './errors.js';
import { fileReason } from './file-reason.js';
import { environmentName, SETTING_NAMES, type SettingName } from './settings.js';
import { didYouMean } from './suggestion.js';

/** Texts by setting, and the file that they are from. */
export interface Profile {
  readonly path: string;
  readonly texts: Readonly<Partial<Record<SettingName, string>>>;
}

const PROFILE_BYTES_MAX = 65_536;

const BY_VARIABLE: ReadonlyMap<string, SettingName> = new Map(
  SETTING_NAMES.map((name) => [environmentName(name), name]),
);

export function readProfile(path: string): Profile {
  let text: string;
  try {
    const found = statSync(path);
    // What is no file might never end, and hold whoever reads it.
    if (!found.isFile() || found.size > PROFILE_BYTES_MAX) {
      throw new Error(`not a file of at most ${PROFILE_BYTES_MAX} bytes`);
    }
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const message = `engine.profile ${path}: ${fileReason(error)}`;
    throw new TcpxError('ERR_CONFIG_VALUE', message, { cause: error });
  }
  return parseProfile(path, text);
}

export function parseProfile(path: string, text: string): Profile {
  const texts: Partial<Record<SettingName, string>> = {};
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const place = `engine.profile ${path}, line ${index + 1}`;
    const [, variable, value] = /^([A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
    if (variable === undefined || value === undefined) {
      throw new TcpxError('ERR_CONFIG_VALUE', `${place}: not NAME=VALUE`);
    }
    texts[nameOf(variable, place)] = value;
  }
  return { path, texts };
}

// It is about speed: whom to trust is not a matter of measurements, nor is which file to read next.
function nameOf(variable: string, place: string): SettingName {
  const name = BY_VARIABLE.get(variable);
  if (name === undefined) {
    const hint = didYouMean(variable, [...BY_VARIABLE.keys()]);
    const message = `${place}: ${variable}: there is no setting of that name${hint}`;
    throw new TcpxError('ERR_CONFIG_UNKNOWN', message, { facts: { name: variable } });
  }
  if (name === 'engine.profile' || name.startsWith('trust.')) {
    throw new TcpxError('ERR_CONFIG_VALUE', `${place}: ${name} is not for profiles`);
  }
  return name;
}
