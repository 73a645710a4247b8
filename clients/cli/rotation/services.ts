// The services whose keys are rotated, as the commands on keys query them.
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  KeyAdministrationService,
  type KeyStep,
  type ResealPageResponse,
} from '#gen/payweave/accounts/v1/key_administration_pb.js'
import { type Dependants, type KeyFile, KeyService } from '#gen/payweave/keys/v1/keys_pb.js'
import { split } from '../../../deploy/bootstrap/key-folder.ts'
import type { CommandContext } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { UsageError } from '../usage-error.ts'

/** Services with keys that stored values need. The gateway has no database, so no service reports on its page.key. */
const parts = ['accounts', 'payments', 'billing'] as const
type Part = (typeof parts)[number]

/** Addresses of the services, where they are not those of a local start. */
export const serviceOptions = {
  'accounts-url': 'address of accounts, instead of the one in sandbox.json',
  'payments-url': 'address of payments, instead of the one in sandbox.json',
  'billing-url': 'address of billing, instead of the one in sandbox.json',
  token: 'bearer for these addresses (better: set PAYWEAVE_TOKEN)',
} as const

/** The calls that the commands make. Names of lists are those of `keyFileNames`. */
export type KeyServices = {
  /** Whether a list is of a service that records which processes have read it. */
  knows(name: string): boolean
  /** Whether an address is known for the service of a list. */
  reaches(name: string): boolean
  /**
   * A list as its service has read it, with every process that has. Rejects with the Failure of the RPC, a UsageError
   * without an address, and an Error for a service that does not have this list or is too old to have lists.
   */
  look(name: string): Promise<KeyFile>
  /**
   * Counts the values that need each key of a list; calls `seen` with the rows so far after each page. Rejects as
   * `look`.
   */
  count(name: string, seen?: (rows: number) => void): Promise<Dependants[]>
  /** Writes a step to the audit. Rejects as `look`. */
  record(name: string, keyId: string, step: KeyStep, unchecked?: boolean): Promise<void>
  /** Seals one page of values at rest again, or only counts them. Rejects as `look`. */
  reseal(request: {
    pageToken: string
    keyId: string
    checkOnly: boolean
  }): Promise<ResealPageResponse>
  /** Closes the connections after the calls in flight. */
  close(): Promise<void>
}

/**
 * Makes the client of these services, which connects with the first call to each; its methods reject as `KeyServices`
 * says. `operatorToken` is used when no other bearer is given.
 */
export function keyServices(
  { options, env }: CommandContext,
  operatorToken: string | undefined,
): KeyServices {
  const open = new Map<Part, Connection>()
  // With --out, sandbox.json of this machine is ignored: it is about another system.
  const isLocal = options['out'] === undefined

  function to(part: Part): Connection {
    const known = open.get(part)
    if (known !== undefined) return known
    const url = options[`${part}-url`]
    if (!isLocal && url === undefined) throw new UsageError(`--${part}-url is missing`)
    const token = options['token'] ?? env['PAYWEAVE_TOKEN'] ?? operatorToken
    const connection = isLocal
      ? connect({ ...options, url, token }, env, part)
      : connect({ url, token }, { ...env, PAYWEAVE_DATA_DIR: undefined }, part)
    open.set(part, connection)
    return connection
  }

  const keysOf = (name: string) => to(servicePart(name)).client(KeyService)
  const administration = () => to('accounts').client(KeyAdministrationService)
  return {
    knows: (name) => isPart(split(name).part),
    reaches: (name) =>
      isPart(split(name).part) && (isLocal || options[`${split(name).part}-url`] !== undefined),
    look: (name) =>
      asked(name, async () => {
        const { files } = await keysOf(name).listKeys({})
        const file = files.find((one) => one.name === split(name).base)
        if (file === undefined) throw new Error(`${name} is unknown to its service`)
        return file
      }),
    count: (name, seen) => asked(name, () => countAll(keysOf(name), split(name).base, seen)),
    record: (file, keyId, step, unchecked = false) =>
      asked(file, async () => {
        await administration().recordKeyStep({ file, keyId, step, unchecked })
      }),
    reseal: (request) => asked('accounts/seal.key', () => administration().resealPage(request)),
    async close() {
      await Promise.all([...open.values()].map((connection) => connection.close()))
    },
  }
}

async function countAll(
  service: Pick<Client<typeof KeyService>, 'countDependants'>,
  file: string,
  seen: (rows: number) => void = () => undefined,
): Promise<Dependants[]> {
  const all = new Map<string, Dependants>()
  let pageToken = ''
  let rows = 0
  do {
    const page = await service.countDependants({ file, pageToken })
    for (const one of page.dependants) {
      rows += one.count
      const known = all.get(`${one.kind} ${one.keyId}`)
      if (known === undefined) all.set(`${one.kind} ${one.keyId}`, one)
      else known.count += one.count
    }
    seen(rows)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return [...all.values()]
}

/** Explains the error of a service that is too old to have lists of keys. */
async function asked<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const { cause } = error instanceof Failure ? error : { cause: undefined }
    if (cause instanceof ConnectError && cause.code === Code.Unimplemented) {
      throw new Error(`${split(name).part} is a release without key lists: upgrade it first`, {
        cause: error,
      })
    }
    throw error
  }
}

function isPart(part: string): part is Part {
  return parts.some((one) => one === part)
}

function servicePart(name: string): Part {
  const { part } = split(name)
  if (isPart(part)) return part
  throw new Error(`no service can be asked for ${name}`)
}
