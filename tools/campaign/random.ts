// Random numbers that a seed repeats.

/** Draws numbers. Two with the same seed draw the same ones. */
export type Random = {
  /** At least 0, below 1. */
  next(): number
  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number
  /** One of the items, each as likely. Throws when there is none. */
  pick<T>(items: readonly T[]): T
}

/** Mulberry32: 32 bits of state, good enough to choose faults. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    whole: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick(items) {
      const picked = items[Math.floor(next() * items.length)]
      if (picked === undefined) throw new Error('there is nothing to pick from')
      return picked
    },
  }
}
