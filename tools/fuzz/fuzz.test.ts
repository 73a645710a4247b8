// Runs each target of the fuzzer on some inputs, others each time, and shows that it finds a parser that breaks its rule.
import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

const withinMs = 30_000

describe('the fuzzer', () => {
  it.each(targets.map((target) => [target.name, target] as const))(
    'the rules of the parsers of %s hold for changed inputs',
    async (_name, target) => {
      const { runs, report } = await fuzz(target, {
        withinMs,
        maxRuns: 50,
        seed: randomInt(2 ** 31 - 1),
      })
      expect(report).toBeUndefined()
      expect(runs).toBeGreaterThan(0)
    },
  )

  it('the fuzzer finds a parser that fails for a bad end, and shrinks its input', async () => {
    const { report } = await fuzz(
      {
        name: 'planted',
        seeds: ['a=1;b=2'],
        run: (input) => {
          if (input.toString().endsWith('=')) throw new Error('no value')
        },
      },
      { withinMs, maxRuns: 5_000, seed: 1 },
    )
    expect(report).toMatch(/Counterexample: \[Buffer.*Error: no value/s)
  })
})
