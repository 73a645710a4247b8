// The calls that a page is made from, as commands for a terminal.
import { AsyncLocalStorage } from 'node:async_hooks'
import { create, type DescMethod, toJsonString } from '@bufbuild/protobuf'

/** A call with the name of the service's process, such as `payments`. */
type MadeCall = { process: string; method: DescMethod; request: object }

/** The calls of a page, and the RPCs that one of its sections has named. */
type Made = { calls: MadeCall[]; named: Set<string> }

const storage = new AsyncLocalStorage<Made>()
/** A page over many projects makes one call for each. */
const maxShown = 3

/** Runs a page's handler; what it renders knows the calls that it made. */
export function withMadeCalls<T>(handle: () => T): T {
  return storage.run({ calls: [], named: new Set() }, handle)
}

/** Notes a call; without effect outside a page's handler. */
export function noteMadeCall(call: MadeCall): void {
  storage.getStore()?.calls.push(call)
}

/**
 * The page's calls of an RPC (`pkg.Service/Method`) as `curl` commands, the first three. Address and bearer are the variables that
 * docs/grpc/README.md sets; no secret is in them. Empty for a stream.
 */
export function curlsOf(rpc: string): string[] {
  const made = storage.getStore()
  made?.named.add(rpc)
  const own = (made?.calls ?? []).filter(({ method }) => nameOf(method) === rpc)
  return [...new Set(own.map(curlOf))].slice(0, maxShown)
}

/** The RPCs that the page has read and no section of it has named so far, in the order of the calls. */
export function otherRpcs(): string[] {
  const { calls, named } = storage.getStore() ?? { calls: [], named: new Set<string>() }
  const reads = calls.map(({ method }) => nameOf(method)).filter((rpc) => isRead.test(rpc))
  return [...new Set(reads)].filter((rpc) => !named.has(rpc))
}

/** What changes something is a button of the page, not a part of what it shows. */
const isRead = /\/(Get|List)[A-Z]\w*$/

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}

function curlOf({ process, method, request }: MadeCall): string {
  const json = toJsonString(method.input, create(method.input, request as Record<string, unknown>))
  return [
    `curl -sS "$GRPC_${process.toUpperCase()}/${nameOf(method)}"`,
    `-H "authorization: Bearer $GRPC_TOKEN" -H 'content-type: application/json'`,
    `-d '${json.replaceAll("'", String.raw`'\''`)}'`,
  ].join(' \\\n  ')
}
