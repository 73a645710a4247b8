// Runs a parser on changed copies of good inputs, and on bytes of no form, until the time is over or a rule of it is broken.
import * as fc from 'fast-check'

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

/** What came of a target: the number of inputs, and a report if a rule was broken. */
export type FuzzResult = { runs: number; report: string | undefined }

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

/** Runs a target, and shrinks the input that breaks a rule. */
export async function fuzz(
  target: Target,
  { withinMs, maxRuns, seed }: FuzzOptions,
): Promise<FuzzResult> {
  const property = fc.asyncProperty(inputs(target), async (input) => {
    const pending = target.run(input)
    if (pending !== undefined) await pending
  })
  const result = await fc.check(property, {
    seed,
    numRuns: maxRuns ?? Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: withinMs,
    markInterruptAsFailure: false,
  })
  if (!result.failed) return { runs: result.numRuns, report: undefined }
  const report = `${await fc.asyncDefaultReportMessage(result)}\n${String(result.errorInstance)}`
  return { runs: result.numRuns, report }
}

function inputs({ seeds }: Target): fc.Arbitrary<Buffer> {
  const copies = seeds.map((seed) => (typeof seed === 'string' ? Buffer.from(seed) : seed))
  const changed = fc
    .tuple(fc.constantFrom(...copies), fc.array(edits(), { maxLength: maxEdits }))
    .map(([seed, list]) => list.reduce(applied, seed))
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
