// The end of a turn of the real event loop, also after the timers of Node.js have been replaced.

/** The function of Node.js, read before anything replaces it: globals.ts loads this file first. */
export const realSetImmediate = globalThis.setImmediate

/** Resolves when all that can go on without a timer or an answer has. */
export const endOfTurn = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve))
