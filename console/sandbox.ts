// The sandbox that a console of a local start belongs to: what its triggers call, and with which keys.
import fs from 'node:fs'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { caller, type Sent } from '../clients/cli/api/api-call.ts'
import { clientOf } from '../clients/cli/api/client.ts'
import { curlLine, masked } from '../clients/cli/api/masked.ts'
import { receiverAt } from '../clients/cli/api/receiver.ts'
import { readTarget, type Target } from '../clients/cli/api/target.ts'
import { triggers } from '../clients/cli/trigger/command.ts'
import type { Trigger } from '../clients/cli/trigger/trigger.ts'

/** Its triggers, each with a sentence, and what runs one. */
export type Sandbox = {
  triggers: readonly Pick<Trigger, 'name' | 'summary'>[]
  /** The project whose keys the triggers use. */
  project: string
  /** Runs a trigger; undefined for a name that none has. */
  run(name: string): Promise<Outcome> | undefined
}

/** What a trigger did: its calls as curl commands, without a secret, and its facts or why it had another outcome. */
export type Outcome = { calls: string[]; facts?: unknown; mistake?: string }

/** A person waits for the page. */
const withinMs = 20_000
const maxMs = 30_000

/** Reads the sandbox of a file `sandbox.json`. Throws a ConfigurationError in production, and without the file. */
export function openSandbox(
  file: string | undefined,
  environment: 'local' | 'sandbox' | 'production',
): Sandbox | undefined {
  if (file === undefined) return undefined
  if (environment === 'production') {
    throw new ConfigurationError('CONSOLE_SANDBOX_FILE must not be set in production')
  }
  if (!fs.existsSync(file)) throw new ConfigurationError(`CONSOLE_SANDBOX_FILE: no file ${file}`)
  return sandboxOf(readTarget({ sandbox: file }, {}))
}

/** The sandbox at these addresses, with these keys. */
export function sandboxOf(target: Target): Sandbox {
  return {
    triggers,
    project: 'demo',
    run(name) {
      const trigger = triggers.find((one) => one.name === name)
      return trigger && runTrigger(trigger, target)
    },
  }
}

async function runTrigger(trigger: Trigger, target: Target): Promise<Outcome> {
  const calls = new Set<string>()
  const signal = AbortSignal.timeout(maxMs)
  const onSent = (sent: Sent) => calls.add(curlLine(sent, target.variables))
  const call = caller(target, { signal, onSent })
  const outcome = trigger.run({
    target,
    shop: clientOf(target, call),
    as: (project) => clientOf(target, call, project),
    receiver: (kind) => receiverAt(target.simulatorUrl ?? '', kind, signal),
    withinMs,
  })
  // Also after an error the person is to see which calls were made until then.
  return await outcome.then(
    (facts) => ({ calls: [...calls], facts: masked(facts) }),
    (error: Error) => ({ calls: [...calls], mistake: error.message }),
  )
}
