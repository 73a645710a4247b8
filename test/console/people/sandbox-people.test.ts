// Tests that the console says of the people of a sandbox what the simulator does and what the documentation says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { behaviourOf } from '../../../connectors/simulator/domain/people.ts'
import { sandboxPeople } from '../../../console/routes/developers/sandbox-people.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/integrate/sandbox.md'), 'utf8')
const [, payers = ''] = /## Payers\n(.*?)\n## /s.exec(page) ?? []
const nnOf = (number: string) => number.slice(-2)

it('the people of the sandbox that the console shows are those of the simulator and of the documentation', () => {
  const scripted = [...payers.matchAll(/^\| (\d\d) \|/gm)].map(([, nn]) => nn)
  const shown = sandboxPeople.filter(({ pays }) => !pays.startsWith('by hand'))
  expect(shown.map(({ number }) => nnOf(number))).toEqual(scripted)
  for (const { number, name, pays } of sandboxPeople) {
    const account = new RegExp(`^\\| ${nnOf(number)} \\| ([^|,]+) \\| \\d{10} \\|`, 'm').exec(page)
    expect([number, name]).toEqual([number, account?.[1]?.trim() ?? ''])
    const { act, starts, everyMs = 0, times } = behaviourOf(number) ?? {}
    const said =
      act === 'refuse'
        ? `declined ${times === 5 ? 'five' : times} times`
        : act === 'pay'
          ? `${everyMs / 1_000} s${starts === 'cancelled' ? ' after the request was cancelled' : ''}`
          : /by hand|blocks|does not act/
    expect(pays).toMatch(said)
  }
})
