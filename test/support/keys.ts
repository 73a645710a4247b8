// Key lists for tests: fixed ones, and one that a test can rotate under running code.
import { randomBytes } from 'node:crypto'
import {
  addNextKey,
  type KeyRing,
  type KeySource,
  keyRing,
  newKeyOf,
  removeKey,
  switchToNextKey,
} from '#core/identity/key-ring.ts'

const makeTime = new Date('2026-03-01T10:00:00Z')

/** One key, as a file of a new installation holds it. */
export function fixedKeys(key: Buffer = randomBytes(32)): KeySource {
  const ring = keyRing([newKeyOf(key, 'current', makeTime)])
  return () => ring
}

/** A list that changes as the steps of a rotation change its file. */
export type TestKeys = KeySource & {
  /** Every process learns a new key. Answers its id. */
  add(): string
  /** The new key becomes the current one. */
  use(): void
  /** Both steps; answers the id of the new key. */
  rotate(): string
  retire(keyId: string): void
  /** The same list as a replica sees it that has not read the file since. */
  asOfNow(): KeySource
}

/** A list that begins with one key; `untimed` is the single key of a file from before there were lists. */
export function testKeys(begin: 'untimed' | 'timed' = 'timed'): TestKeys {
  const first = newKeyOf(randomBytes(32), 'current', begin === 'timed' ? makeTime : undefined)
  let ring: KeyRing = keyRing([first])
  const steps = {
    add() {
      ring = addNextKey(ring, randomBytes(32), new Date())
      return ring.keys.find(({ state }) => state === 'next')?.keyId ?? ''
    },
    use() {
      ring = switchToNextKey(ring)
    },
    rotate() {
      const keyId = steps.add()
      steps.use()
      return keyId
    },
    retire(keyId: string) {
      ring = removeKey(ring, keyId)
    },
    asOfNow(): KeySource {
      const seen = ring
      return () => seen
    },
  }
  return Object.assign(() => ring, steps)
}
