// The calls that a page is made from, and those of its buttons, as commands for a terminal.
import { AsyncLocalStorage } from 'node:async_hooks'
import { create, type DescMethod, toJson } from '@bufbuild/protobuf'
import { sampleOf } from './sample-request.ts'

/** An RPC with the name of the process that serves it, such as `payments`. */
export type ServedRpc = { process: string; method: DescMethod }

/** A call of an RPC, with its request. */
type MadeCall = ServedRpc & { request: object }

/** The calls of a page, the RPCs of its buttons, and those that one of its sections has named. */
type Made = {
  served: readonly ServedRpc[]
  calls: MadeCall[]
  actions: Set<string>
  named: Set<string>
}

const storage = new AsyncLocalStorage<Made>()
/** A page over many projects makes one call for each. */
const maxShown = 3

/** Runs a page's handler; what it renders can read the calls that it made, and `served`, all RPCs that the console can call. */
export function withMadeCalls<T>(served: readonly ServedRpc[], handle: () => T): T {
  return storage.run({ served, calls: [], actions: new Set(), named: new Set() }, handle)
}

/** Records a call; without effect outside a page's handler. */
export function recordMadeCall(call: MadeCall): void {
  storage.getStore()?.calls.push(call)
}

/** Records the RPC of a button of the page. */
export function recordButton(rpc: string | readonly string[] | undefined): void {
  for (const one of [rpc ?? []].flat()) storage.getStore()?.actions.add(one)
}

/**
 * The page's calls of an RPC (`pkg.Service/Method`) as `curl` commands, the first three; of one that it does not call itself, a call
 * of each process that serves it, with the ids of the page and an ellipsis for each text that is to be filled in. Address and bearer are the
 * variables that docs/grpc/README.md sets; no secret is in them. Empty for a stream.
 */
export function curlsOf(rpc: string): string[] {
  const made = storage.getStore()
  if (made === undefined) return []
  made.named.add(rpc)
  const own = made.calls.filter(({ method }) => nameOf(method) === rpc)
  const commands = own.length > 0 ? own.map(commandOf) : samplesOf(made, rpc)
  return [...new Set(commands)].slice(0, maxShown)
}

/** The RPCs that the page has read or that its buttons call, and no section of it has named so far: the reads first. */
export function otherRpcs(): string[] {
  const { calls, actions, named } = storage.getStore() ?? {
    calls: [],
    actions: [],
    named: new Set(),
  }
  const reads = calls.map(({ method }) => nameOf(method)).filter((rpc) => isRead.test(rpc))
  return [...new Set([...reads, ...actions])].filter((rpc) => !named.has(rpc))
}

/** What changes something is a button of the page, not a part of what it shows. */
const isRead = /\/(Get|List)[A-Z]\w*$/

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}

function commandOf({ process, method, request }: MadeCall): string {
  return curlOf(
    process,
    method,
    toJson(method.input, create(method.input, request as Record<string, unknown>)),
  )
}

function samplesOf({ served, calls }: Made, rpc: string): string[] {
  const ids = idsOf(calls)
  return served
    .filter(({ method }) => nameOf(method) === rpc && method.methodKind === 'unary')
    .map(({ process, method }) => curlOf(process, method, sampleOf(method.input, ids)))
}

/** The ids that a page names in its own calls, each of one value alone: `paymentId` of the payment that it shows. */
function idsOf(calls: readonly MadeCall[]): Map<string, string> {
  const ids = new Map<string, string>()
  const fields = calls.flatMap(({ request }) => Object.entries(request as Record<string, unknown>))
  for (const [name, value] of fields) {
    if (!name.endsWith('Id') || typeof value !== 'string' || value === '') continue
    ids.set(name, ids.has(name) && ids.get(name) !== value ? '' : value)
  }
  return ids
}

function curlOf(process: string, method: DescMethod, request: unknown): string {
  return [
    `curl -sS "$GRPC_${process.toUpperCase()}/${nameOf(method)}"`,
    `-H "authorization: Bearer $GRPC_TOKEN" -H 'content-type: application/json'`,
    `-d '${JSON.stringify(request).replaceAll("'", String.raw`'\''`)}'`,
  ].join(' \\\n  ')
}
