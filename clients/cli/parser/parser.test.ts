// Shows what the command line says about itself and about words that it does not know.
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { runCommandLine } from '../main.ts'

async function payweave(...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCommandLine(words, { env: {}, stdout, stderr })
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}

it.each([
  ['a group', ['deliveris', 'list'], 'deliveries'],
  ['a command of a group', ['payments', 'lst'], 'list'],
  ['an option', ['payments', 'list', '--statu', 'paid'], '--status'],
])('a typo in %s gets a suggestion in two lines', async (_what, words, wanted) => {
  const { code, out, err } = await payweave(...words)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/^payweave: unknown (command|option)/)
  expect(err).toContain(`(Did you mean ${wanted}?)`)
  expect(err.trim().split('\n')).toHaveLength(2)
})

it.each(['--version', '-V'])('the command line prints its version for %s', async (option) => {
  expect(await payweave(option)).toEqual({ code: 0, out: `${packageJson.version}\n`, err: '' })
})

it('the help names groups under headings, and the help of a group its commands', async () => {
  const { code, out } = await payweave('--help')
  expect(code).toBe(0)
  for (const heading of ['Merchants:', 'Access:', 'Money:', 'Operations:']) {
    expect(out).toContain(`\n${heading}\n`)
  }
  expect(out).toMatch(/^ {2}payments {2}/m)
  expect(out).toMatch(/^ {2}approval {2}.*second person/m)
  expect(out).toMatch(/^ {2}routes {2}.*connector/m)
  const [, others = ''] = out.split('\nOthers:\n')
  const names = others.split('\n\n')[0]?.match(/^ {2}\w+/gm)
  expect(names?.map((name) => name.trim())).toEqual(['completion'])
  const group = await payweave('help', 'payments')
  expect(group.code).toBe(0)
  for (const name of ['list', 'show', 'cancel', 'refund']) {
    expect(group.out).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  }
  expect(await payweave('payment', '--help')).toEqual(group)
})

it('an option with a value needs one, an operand that nothing takes is refused', async () => {
  const empty = await payweave('payments', 'list', '--limit')
  expect([empty.code, empty.err]).toEqual([2, expect.stringContaining('--limit <value>')])
  expect((await payweave('payments', 'list', 'more')).code).toBe(2)
  const two = await payweave('payments', 'show', 'one', 'two')
  expect(two.code).toBe(2)
  expect(two.err).toContain('See "payweave payments show --help".')
})

it('an unknown option is refused also beside --help', async () => {
  expect((await payweave('payments', 'list', '--help', '--moon')).code).toBe(2)
})
