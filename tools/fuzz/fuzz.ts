// Runs a parser on changed copies of good inputs until the time is over or a rule of it is broken. Inputs that reach new code are changed further.
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { startCoverage } from './coverage.ts'

/** A parser, or a few that read the same thing, with the rules that hold for any input. */
export type Target = {
  name: string
  /** Good inputs. What the parser looks for is in them, so changed copies reach most of its code. */
  seeds: readonly (string | Buffer)[]
  /** Gives an input to the parser. Throws, or rejects, if a rule is broken. */
  run: (input: Buffer) => void | Promise<void>
}

/** How long a target is run, and the seed of its inputs: the same seed gives the same inputs in the same order. */
export type FuzzOptions = { withinMs: number; maxRuns?: number; seed: number }

/** Result of a target: the number of inputs, how many of them reached new code, and, if a rule was broken, a report and the shortest input. */
export type FuzzResult = {
  runs: number
  addedToCorpus: number
  report: string | undefined
  input: Buffer | undefined
}

type Edit =
  | { kind: 'set'; at: number; bytes: Buffer }
  | { kind: 'insert'; at: number; bytes: Buffer }
  | { kind: 'remove'; at: number; length: number }
  | { kind: 'repeat'; at: number; length: number; times: number }

const maxEdits = 6
const maxPart = 64
const maxTimes = 200

/** Bytes with a meaning in most of the forms: separators, signs, ends of ranges, beginnings of UTF-8. */
const special = '\0\t\r\n "%&\'()*+,-./0189:;<=>?@A[\\]_az{|}~\x7f\x80\xc3\xed\xff'.split('')
const tokens = [
  ...special,
  '\r\n',
  '--',
  '\r\n--b',
  '9'.repeat(20),
  '\u2028',
  '\ufeff',
  '\u{1f600}',
]

/** Inputs between two looks at the coverage: a look costs as much as many inputs. */
const batch = 200

/**
 * Runs a target on its good inputs, on bytes of no form, and on changed copies of good inputs and of those that reached code that no
 * earlier one has reached. Shrinks the input that breaks a rule.
 */
export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzResult> {
  const { withinMs, maxRuns = Number.MAX_SAFE_INTEGER, seed } = options
  const endMs = performance.now() + withinMs
  const corpus: Buffer[] = target.seeds.map((one) => Buffer.from(one))
  const result: FuzzResult = { runs: 0, addedToCorpus: 0, report: undefined, input: undefined }
  const coverage = await startCoverage()

  /** Runs inputs while there is time. Returns the one that breaks a rule. */
  async function run(inputs: readonly Buffer[]): Promise<Buffer | undefined> {
    for (const input of inputs) {
      if (result.runs >= maxRuns || performance.now() > endMs) return undefined
      result.runs += 1
      if (await breaksRule(target, input)) return input
    }
    return undefined
  }

  /** Adds the inputs that reach new code to the corpus. Finds them by bisection, because measuring coverage is slow. */
  async function addToCorpus(inputs: readonly Buffer[]): Promise<void> {
    const [first] = inputs
    if (first === undefined || performance.now() > endMs) return
    for (const input of inputs) await breaksRule(target, input)
    if (!(await coverage.look())) return
    if (inputs.length === 1) {
      coverage.accept()
      corpus.push(first)
      result.addedToCorpus += 1
      return
    }
    const middle = inputs.length >>> 1
    await addToCorpus(inputs.slice(0, middle))
    await addToCorpus(inputs.slice(middle))
  }

  try {
    let broken = await run(corpus)
    await coverage.look()
    coverage.accept()
    for (let round = 0; broken === undefined; round += 1) {
      if (result.runs >= maxRuns || performance.now() > endMs) return result
      const changed = fc.sample(inputs(corpus), { seed: seed + round, numRuns: batch })
      broken = await run(changed)
      if (broken === undefined && (await coverage.look())) await addToCorpus(changed)
    }
    return { ...result, ...(await shrink(target, broken)) }
  } finally {
    coverage.stop()
  }
}

async function breaksRule(target: Target, input: Buffer): Promise<boolean> {
  try {
    const pending = target.run(input)
    if (pending !== undefined) await pending
    return false
  } catch {
    return true
  }
}

/** The shortest input like this one that breaks a rule, and how. */
async function shrink(target: Target, broken: Buffer): Promise<{ report: string; input: Buffer }> {
  const property = fc.asyncProperty(fc.uint8Array({ maxLength: broken.length }), async (bytes) => {
    await target.run(Buffer.from(bytes))
  })
  const found = await fc.check(property, { examples: [[new Uint8Array(broken)]], numRuns: 1 })
  const input = Buffer.from(found.counterexample?.[0] ?? broken)
  return { report: `${String(found.errorInstance)}\n${inspect(input.toString('latin1'))}`, input }
}

function inputs(corpus: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const changed = fc
    .tuple(fc.constantFrom(...corpus), fc.array(edits(), { maxLength: maxEdits }))
    .map(([input, list]) => list.reduce(applied, input))
  const formless = fc.uint8Array({ maxLength: maxPart }).map((bytes) => Buffer.from(bytes))
  return fc.oneof({ weight: 9, arbitrary: changed }, { weight: 1, arbitrary: formless })
}

function edits(): fc.Arbitrary<Edit> {
  const at = fc.nat()
  const length = fc.integer({ min: 1, max: maxPart })
  const bytes = fc.oneof(
    fc
      .constantFrom(...tokens)
      .map((token) => Buffer.from(token, token.length === 1 ? 'latin1' : 'utf8')),
    fc.uint8Array({ minLength: 1, maxLength: 4 }).map((some) => Buffer.from(some)),
  )
  return fc.oneof(
    fc.record({ kind: fc.constant('set' as const), at, bytes }),
    fc.record({ kind: fc.constant('insert' as const), at, bytes }),
    fc.record({ kind: fc.constant('remove' as const), at, length }),
    fc.record({
      kind: fc.constant('repeat' as const),
      at,
      length,
      times: fc.integer({ min: 1, max: maxTimes }),
    }),
  )
}

/** An input after an edit, whose place counts round from its end to its beginning. */
function applied(input: Buffer, edit: Edit): Buffer {
  const at = edit.at % (input.length + 1)
  const head = input.subarray(0, at)
  if (edit.kind === 'set') {
    return Buffer.concat([head, edit.bytes, input.subarray(at + edit.bytes.length)])
  }
  if (edit.kind === 'insert') return Buffer.concat([head, edit.bytes, input.subarray(at)])
  if (edit.kind === 'remove') return Buffer.concat([head, input.subarray(at + edit.length)])
  const part = input.subarray(at, at + edit.length)
  return Buffer.concat([
    head,
    ...Array.from({ length: edit.times }, () => part),
    input.subarray(at),
  ])
}
