// Key lists: reads the list that a secret file holds, and adds, switches to and removes keys of it. Pure: no files, no clock.
import { createHash } from 'node:crypto'
import type { SealKey } from './seal.ts'

/**
 * What a key is for. `current` seals, hashes and derives new values. All three open and verify: `next` because other
 * processes may use it already, `old` because stored values still need it.
 */
export type KeyState = 'next' | 'current' | 'old'

/** One key of a list. Its id is the beginning of its SHA-256, so that one key has one id everywhere. */
export type Key = SealKey & {
  state: KeyState
  /** When it was made. Undefined for the single key of a file that was written before there were lists. */
  makeTime: Date | undefined
}

/** The keys of one secret. */
export type KeyRing = {
  current: Key
  /** Every key, the current one first. */
  keys: readonly Key[]
  /**
   * The key that a stored value names. Null stands for values from before key ids: they belong to the key without a
   * time. Undefined when the list has no such key.
   */
  find(keyId: string | null): Key | undefined
}

/** Returns the keys of one secret as they are now, so call it for each use: a change of the file replaces the list. */
export type KeySource = () => KeyRing

/** Why a list, or a change of it, is refused. Its message never holds a part of a key. */
export class KeyRingError extends Error {
  override readonly name = 'KeyRingError'
}

/** Lists stay short because each key is tried in turn for values that name none. */
export const maxKeys = 8

const keyBytes = 32
const singleKey = /^[0-9a-f]{64}$/i
const keyLine =
  /^(next|current|old) ([0-9a-f]{64})(?: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z))?$/i

/** The id of a key: the first 8 hex digits, in lower case, of its SHA-256. */
export function keyIdOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}

/** A key from 32 bytes that the caller has drawn. Throws RangeError for another number of bytes. */
export function newKeyOf(key: Buffer, state: KeyState, makeTime: Date | undefined): Key {
  if (key.length !== keyBytes) throw new RangeError(`a key has ${keyBytes} bytes`)
  return { keyId: keyIdOf(key), key, state, makeTime }
}

/**
 * A list of these keys. Throws KeyRingError unless exactly one is current, at most one is next, at most one has no
 * time, all are different, and there are at most `maxKeys`.
 */
export function keyRing(keys: readonly Key[]): KeyRing {
  const [current, ...more] = keys.filter(({ state }) => state === 'current')
  if (current === undefined || more.length > 0) throw new KeyRingError('must have one current key')
  if (keys.filter(({ state }) => state === 'next').length > 1) {
    throw new KeyRingError('must have at most one next key')
  }
  if (keys.filter(({ makeTime }) => makeTime === undefined).length > 1) {
    throw new KeyRingError('must have at most one key without a time')
  }
  if (keys.length > maxKeys) throw new KeyRingError(`must have at most ${maxKeys} keys`)
  const byId = new Map(keys.map((key) => [key.keyId, key]))
  if (byId.size < keys.length) throw new KeyRingError('has a key twice')
  const untimed = keys.find(({ makeTime }) => makeTime === undefined)
  return {
    current,
    keys: [current, ...keys.filter((key) => key !== current)],
    find: (keyId) => (keyId === null ? untimed : byId.get(keyId)),
  }
}

/**
 * Reads the content of a secret file: one line `<state> <64 hex digits> <ISO 8601 time in UTC>` for each key, or 64 hex
 * digits alone, the form from before there were lists. Throws KeyRingError for anything else.
 */
export function parseKeyRing(text: string): KeyRing {
  const lines = text.trim().split(/\r?\n/)
  const [first = ''] = lines
  if (lines.length === 1 && singleKey.test(first)) {
    return keyRing([newKeyOf(Buffer.from(first, 'hex'), 'current', undefined)])
  }
  return keyRing(lines.map(readLine))
}

function readLine(line: string, index: number): Key {
  const [, state = '', hex = '', time] = keyLine.exec(line.trim()) ?? []
  const makeTime = time === undefined ? undefined : new Date(time)
  if (state === '' || Number.isNaN(makeTime?.getTime())) {
    throw new KeyRingError(
      `must hold 64 hex digits or a list of keys; line ${index + 1} is neither`,
    )
  }
  return newKeyOf(Buffer.from(hex, 'hex'), state.toLowerCase() as KeyState, makeTime)
}

/** The content of the file that holds these keys; `parseKeyRing` reads it. */
export function formatKeyRing({ keys }: Pick<KeyRing, 'keys'>): string {
  const lines = keys.map(({ state, key, makeTime }) =>
    [state, key.toString('hex'), ...(makeTime === undefined ? [] : [makeTime.toISOString()])].join(
      ' ',
    ),
  )
  return `${lines.join('\n')}\n`
}

/**
 * First step of a rotation: adds 32 bytes as the next key, which every process can then open and verify with. Throws
 * KeyRingError when there is a next key already, when the list is full, or when it has this key; RangeError when they
 * are not 32 bytes.
 */
export function addNextKey(ring: KeyRing, key: Buffer, now: Date): KeyRing {
  if (ring.keys.some(({ state }) => state === 'next')) {
    throw new KeyRingError('has a next key already')
  }
  return keyRing([...ring.keys, newKeyOf(key, 'next', now)])
}

/**
 * Second step: the next key becomes the current one, and the one that was current only opens and verifies from then on.
 * Throws KeyRingError without a next key.
 */
export function switchToNextKey(ring: KeyRing): KeyRing {
  if (!ring.keys.some(({ state }) => state === 'next')) throw new KeyRingError('has no next key')
  const after = { next: 'current', current: 'old', old: 'old' } as const
  return keyRing(ring.keys.map((key) => ({ ...key, state: after[key.state] })))
}

/**
 * Last step: removes an old key, or a next one that is not wanted after all. Throws KeyRingError for an unknown key and
 * for the current one.
 */
export function removeKey(ring: KeyRing, keyId: string): KeyRing {
  const key = ring.find(keyId)
  if (key === undefined) throw new KeyRingError(`has no key ${keyId}`)
  if (key.state === 'current') throw new KeyRingError(`key ${keyId} is the current one`)
  return keyRing(ring.keys.filter((one) => one !== key))
}
