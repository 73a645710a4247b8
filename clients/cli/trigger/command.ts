// The command that runs a trigger of the sandbox and shows its calls; the triggers are in files of their own.
import { caller, type Sent } from '../api/api-call.ts'
import { clientOf } from '../api/client.ts'
import { curlLine, masked, quoted, type Variables } from '../api/masked.ts'
import { receiverAt } from '../api/receiver.ts'
import { keyOptions, readTarget, targetOptions } from '../api/target.ts'
import type { Command, CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { accessTriggers } from './access-triggers.ts'
import { accountTriggers } from './account-triggers.ts'
import { moneyTriggers } from './money-triggers.ts'
import { paymentTriggers } from './payment-triggers.ts'
import { pushTriggers } from './push-triggers.ts'
import type { Trigger } from './trigger.ts'

const defaultWithinS = '60'

/** Every row of the sandbox. */
export const triggers: readonly Trigger[] = [
  ...paymentTriggers,
  ...pushTriggers,
  ...accountTriggers,
  ...moneyTriggers,
  ...accessTriggers,
]

/** `trigger`. */
export const triggerCommand: Command = {
  name: 'trigger',
  operands: '<outcome>',
  operandWords: triggers.map(({ name }) => name),
  summary: 'Triggers an outcome of the sandbox through the public API, and shows the requests.',
  options: {
    ...targetOptions,
    ...keyOptions,
    within: `seconds to wait for the outcome (${defaultWithinS})`,
  },
  flags: { list: 'lists the outcomes' },
  run: trigger,
}

async function trigger(context: CommandContext): Promise<number> {
  const { options, operands, flags, json, print } = context
  if (flags.has('list')) {
    await printList(context, triggerShape, [[...triggers]])
    return 0
  }
  const row = triggerNamed(operands)
  const target = readTarget(options, context.env)
  if (target.readOnly)
    throw new UsageError('outcomes exist only in a sandbox; this is a production key')
  const withinMs = wholeNumber(options['within'] ?? defaultWithinS, 'within', 86_400) * 1_000
  const signal = context.stopping
  if (target.variablesFile !== undefined && !json) print(`. ${quoted(target.variablesFile)}`)
  const call = caller(target, { signal, onSent: showOnce(context, target.variables) })
  const outcome = await row.run({
    target,
    shop: clientOf(target, call),
    as: (project) => clientOf(target, call, project),
    receiver: (kind) => receiverAt(target.simulatorUrl ?? missing('simulator-url'), kind, signal),
    withinMs,
  })
  const facts = masked(outcome)
  if (json) print(JSON.stringify({ outcome: row.name, facts }))
  else print(`\n${row.name}\n${JSON.stringify(facts, null, 2)}`)
  return 0
}

const triggerShape: ListShape<Trigger> = {
  headings: ['OUTCOME', 'WHAT HAPPENS'],
  cells: ({ name, summary }) => [name, summary],
  json: ({ name, summary }) => JSON.stringify({ outcome: name, summary }),
  none: 'no outcomes',
}

function triggerNamed([name, ...more]: string[]): Trigger {
  if (name === undefined || more.length > 0) {
    throw new UsageError('pass one outcome; --list shows them')
  }
  const row = triggers.find((one) => one.name === name)
  if (row !== undefined) return row
  const [subject = ''] = name.split('.')
  const near = triggers.filter((one) => one.name.startsWith(`${subject}.`))
  const hint =
    near.length === 0
      ? '--list shows all'
      : `${subject} has ${near.map((one) => one.name).join(', ')}`
  throw new UsageError(`there is no outcome ${printable(name)}; ${hint}`)
}

function missing(option: string): never {
  throw new UsageError(`this outcome needs --${option}`)
}

/** Shows each request as it is sent, and a polled one once. */
function showOnce({ json, print }: CommandContext, variables?: Variables): (sent: Sent) => void {
  const seen = new Set<string>()
  return (sent) => {
    const { method, url, body = '' } = sent
    const key = `${method} ${url} ${body}`
    if (seen.has(key)) return
    seen.add(key)
    const line = curlLine(sent, variables)
    print(json ? JSON.stringify({ request: line }) : line)
  }
}
