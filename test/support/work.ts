// Compares how much work a function has with inputs of two lengths, on a machine that others use too. It judges nothing.

/** Makes the work for an input of this length. */
export type WorkOf = (length: number) => () => unknown

/** Long enough for the clock, short enough to end before the scheduler takes the processor away. */
const sampleMs = 0.1
const rounds = 60
const minRounds = 3

/**
 * How many times the work at `large` is that at `small`. The best of many short samples of each counts, so that neither a
 * stall nor a collection of garbage adds to it. Ends once it is below `enough`.
 */
export function workRatio(
  workOf: WorkOf,
  { small = 1_000, large = 15_000, enough }: { small?: number; large?: number; enough: number },
): number {
  const little = sampler(workOf(small))
  const much = sampler(workOf(large))
  let littleMs = little()
  let muchMs = much()
  for (let round = 0; round < rounds; round += 1) {
    littleMs = Math.min(littleMs, little())
    muchMs = Math.min(muchMs, much())
    if (round >= minRounds && muchMs / littleMs <= enough) break
  }
  return muchMs / littleMs
}

/** Takes samples of a function: the milliseconds of one call, out of as many as make up a sample. */
function sampler(run: () => unknown): () => number {
  let times = 1
  while (times < 1e6 && timeMs(run, times) < sampleMs) times *= 2
  return () => timeMs(run, times) / times
}

function timeMs(run: () => unknown, times: number): number {
  const beginMs = performance.now()
  for (let time = 0; time < times; time += 1) run()
  return performance.now() - beginMs
}
