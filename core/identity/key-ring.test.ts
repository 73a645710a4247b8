// Proves which key lists are accepted, what each step of a rotation makes of one, and that no message shows a key.
import { describe, expect, it } from 'vitest'
import {
  addNextKey,
  formatKeyRing,
  KeyRingError,
  keyIdOf,
  keyRing,
  maxKeys,
  newKeyOf,
  parseKeyRing,
  removeKey,
  switchToNextKey,
} from './key-ring.ts'

const bytes = (n: number) => Buffer.alloc(32, n)
const hex = (n: number) => bytes(n).toString('hex')
const [first, second] = [bytes(1), bytes(2)]
const time = new Date('2026-03-01T10:00:00.000Z')
const statesOf = (text: string) => parseKeyRing(text).keys.map(({ keyId, state }) => [keyId, state])

describe('a key file', () => {
  it('a key file from before key lists is read as one current key without a time', () => {
    const ring = parseKeyRing(`${hex(1)}\n`)
    expect(ring.current).toEqual({
      keyId: keyIdOf(first),
      key: first,
      state: 'current',
      makeTime: undefined,
    })
    expect(ring.keys).toEqual([ring.current])
  })

  it('a key file holds a key a line with its state and time, the current one first in the list', () => {
    const ring = parseKeyRing(`old ${hex(1)}\ncurrent ${hex(2)} ${time.toISOString()}\n`)
    expect(ring.keys.map(({ key, state, makeTime }) => [key, state, makeTime])).toEqual([
      [second, 'current', time],
      [first, 'old', undefined],
    ])
  })

  it('a key file comes back as it was written', () => {
    const text = `current ${hex(2)} ${time.toISOString()}\nold ${hex(1)}\n`
    expect(formatKeyRing(parseKeyRing(text))).toBe(text)
  })

  it('a key file names a key by the first digits of its SHA-256', () => {
    expect(keyIdOf(Buffer.alloc(32))).toBe('66687aad')
  })

  it.each([
    ['nothing', ''],
    ['a short key', 'c0ffee'],
    ['no current key', `old ${hex(1)}`],
    ['two current keys', `current ${hex(1)}\ncurrent ${hex(2)} ${time.toISOString()}`],
    [
      'two next keys',
      `current ${hex(1)}\nnext ${hex(2)} 2026-01-01T00:00:00Z\nnext ${hex(3)} 2026-01-01T00:00:00Z`,
    ],
    ['two keys without a time', `current ${hex(1)}\nold ${hex(2)}`],
    ['one key twice', `current ${hex(1)}\nold ${hex(1)} ${time.toISOString()}`],
    ['an unknown state', `spare ${hex(1)}`],
    ['an invalid time', `current ${hex(1)} 2026-99-01T00:00:00Z`],
    ['a state alone', 'current'],
    [
      'too many keys',
      Array.from(
        { length: maxKeys + 1 },
        (_, n) => `${n === 0 ? 'current' : 'old'} ${hex(n)} ${time.toISOString()}`,
      ).join('\n'),
    ],
  ])('a key file with %s is refused, and its content not shown', (_, text) => {
    expect(() => parseKeyRing(text)).toThrow(KeyRingError)
    expect(() => parseKeyRing(text)).not.toThrow(/01010101|02020202|c0ffee/)
  })
})

describe('a value without a key id', () => {
  it('a value without a key id belongs to the key without a time, in every state', () => {
    expect(parseKeyRing(hex(1)).find(null)?.key).toEqual(first)
    const ring = parseKeyRing(`current ${hex(2)} ${time.toISOString()}\nold ${hex(1)}`)
    expect(ring.find(null)?.key).toEqual(first)
  })

  it('a value without a key id has no key where every key has a time', () => {
    expect(parseKeyRing(`current ${hex(2)} ${time.toISOString()}`).find(null)).toBeUndefined()
  })
})

describe('a rotation', () => {
  it('a rotation passes from the single key of old to a new one in three steps', () => {
    const single = parseKeyRing(hex(1))
    const added = addNextKey(single, second, time)
    expect(added.current.key).toEqual(first)
    expect(added.find(keyIdOf(second))?.state).toBe('next')
    const switched = switchToNextKey(added)
    expect(statesOf(formatKeyRing(switched))).toEqual([
      [keyIdOf(second), 'current'],
      [keyIdOf(first), 'old'],
    ])
    expect(switched.current.makeTime).toEqual(time)
    const retired = removeKey(switched, keyIdOf(first))
    expect(retired.keys).toEqual([switched.current])
    expect(retired.find(keyIdOf(first))).toBeUndefined()
  })

  it('a rotation refuses steps out of their order', () => {
    const single = parseKeyRing(hex(1))
    expect(() => switchToNextKey(single)).toThrow('has no next key')
    const added = addNextKey(single, second, time)
    expect(() => addNextKey(added, bytes(3), time)).toThrow('has a next key already')
    expect(() => addNextKey(single, first, time)).toThrow('has a key twice')
    expect(() => removeKey(added, keyIdOf(first))).toThrow('is the current one')
    expect(() => removeKey(added, 'ffffffff')).toThrow('has no key ffffffff')
  })

  it('a rotation may be given up before the next key is used', () => {
    const added = addNextKey(parseKeyRing(hex(1)), second, time)
    expect(removeKey(added, keyIdOf(second)).keys).toHaveLength(1)
  })

  it('a rotation takes keys of 32 bytes only', () => {
    expect(() => newKeyOf(Buffer.alloc(16), 'current', time)).toThrow(RangeError)
    expect(keyRing([newKeyOf(first, 'current', time)]).current.key).toEqual(first)
  })
})
