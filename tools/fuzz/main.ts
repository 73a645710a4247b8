// npm run fuzz: gives our own parsers changed inputs for a bounded time, and prints the input that breaks a rule.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31 - 1)) },
    target: { type: 'string' },
    input: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const seed = Number(values.seed)
if (!(seconds > 0)) throw new Error('--seconds wants a number above zero')
if (!Number.isSafeInteger(seed)) throw new Error('--seed wants a whole number')
const chosen = targets.filter(({ name }) => values.target === undefined || name === values.target)
if (chosen.length === 0) {
  throw new Error(`--target wants one of ${targets.map(({ name }) => name).join(', ')}`)
}

if (values.input !== undefined && values.target === undefined) {
  throw new Error('--input needs --target')
}

const print = (line: string) => void process.stdout.write(`${line}\n`)
if (values.input !== undefined) {
  for (const target of chosen) await target.run(Buffer.from(values.input, 'base64'))
} else {
  print(`seed ${seed}`)
  for (const target of chosen) {
    const withinMs = (1_000 * seconds) / chosen.length
    const { runs, addedToCorpus, report, input } = await fuzz(target, { withinMs, seed })
    const found = report === undefined ? '' : ', a rule is broken'
    print(`${target.name}: ${runs} inputs, ${addedToCorpus} reached new code${found}`)
    if (report === undefined || input === undefined) continue
    print(report)
    const base64 = input.toString('base64')
    print(`Repeat: npm run fuzz -- --target ${target.name} --input '${base64}'`)
    process.exitCode = 1
  }
}
