// Shows that completions know every command and option, by asking bash itself.
import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { runCommandLine } from '../main.ts'

async function payweave(...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCommandLine(words, { env: {}, stdout, stderr })
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}

/** What bash offers after these words, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await payweave('completion', 'bash')
  const typed = words.map((word) => `'${word}'`).join(' ')
  const ask = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _payweave; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', `${out}\n${ask}`], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

it('bash is offered commands, the words of a group, and the options of a command', async () => {
  expect(await offered('pw', 'co')).toEqual(expect.arrayContaining(['conformance', 'completion']))
  expect(await offered('pw', 'bill', 're')).toEqual(['reviews', 'resolve', 'receipt'])
  expect(await offered('pw', 'bill', 'resolve', '--pa')).toEqual(['--paid'])
  expect(await offered('pw', 'trigger', 'payment.pai')).toEqual([
    'payment.paid',
    'payment.paid-later',
  ])
  expect(await offered('pw', 'completion', '')).toEqual(['bash', 'zsh', 'fish', '--json', '--help'])
})

it('zsh and fish complete every command of the help', async () => {
  const listed = async (...words: string[]) => {
    const { out } = await payweave('help', ...words)
    const [, commands = ''] = out.split(/^(?:Merchants|Commands):$/m)
    return [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name)
  }
  const firsts = (await listed()).filter((name) => name !== 'help')
  const seconds = await Promise.all(firsts.map((name) => listed(name)))
  const names = [...firsts, ...seconds.flat().filter((name) => name !== 'help')]
  expect(names.length).toBeGreaterThan(50)
  for (const shell of ['zsh', 'fish']) {
    const { code, out } = await payweave('completion', shell)
    expect(code).toBe(0)
    for (const word of names) expect(out).toContain(word)
  }
})

it('another shell is used wrongly, and every command has help', async () => {
  expect((await payweave('completion', 'tcsh')).code).toBe(2)
  expect((await payweave('completion', 'bash', 'zsh')).code).toBe(2)
  for (const words of [
    ['requests', 'tail'],
    ['doctor'],
    ['status'],
    ['conformance'],
    ['trigger'],
  ]) {
    const { code, out } = await payweave(...words, '--help')
    expect([code, out.split('\n')[0]]).toEqual([0, expect.stringContaining(words.join(' '))])
  }
})
