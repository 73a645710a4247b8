// Runs each target of the fuzzer on some inputs, and shows that it finds parsers that break their rule.
import { describe, expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

const withinMs = 30_000

/** Throws for three bytes, which are compared one after the other. By chance 16 million inputs would be needed. */
function readMagic(input: Buffer): void {
  if (input[0] !== 0x51) return
  if (input[1] !== 0x00) return
  if (input[2] === 0x23) throw new Error('magic')
}

describe('the fuzzer', () => {
  it.each(targets.map((target) => [target.name, target] as const))(
    'the rules of the parsers of %s hold for changed inputs',
    async (_name, target) => {
      const { runs, report } = await fuzz(target, {
        withinMs,
        maxRuns: 50,
        seed: 1,
      })
      expect(report).toBeUndefined()
      expect(runs).toBeGreaterThan(0)
    },
  )

  it('the fuzzer finds a parser that fails for a bad end, and shrinks its input', async () => {
    const { report, input } = await fuzz(
      {
        name: 'planted',
        seeds: ['a=1;b=2'],
        run: (input) => {
          if (input.toString().endsWith('=')) throw new Error('no value')
        },
      },
      { withinMs, maxRuns: 5_000, seed: 1 },
    )
    expect(report).toBe("Error: no value\n'='")
    expect(input?.toString('base64')).toBe('PQ==')
  })

  it('the fuzzer changes inputs that reached new code further', async () => {
    const planted = { name: 'planted', seeds: ['a=1'], run: readMagic }
    const { report, input, addedToCorpus } = await fuzz(planted, { withinMs, seed: 1 })
    expect(report).toBe("Error: magic\n'Q\\x00#'")
    expect(input?.toString('base64')).toBe('UQAj')
    expect(addedToCorpus).toBeGreaterThanOrEqual(2)
  })
})
