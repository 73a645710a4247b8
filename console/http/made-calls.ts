// The calls that a page is made from, as commands for a terminal.
import { AsyncLocalStorage } from 'node:async_hooks'
import { create, type DescMethod, toJsonString } from '@bufbuild/protobuf'

/** A call with the name of the service's process, such as `payments`. */
type MadeCall = { process: string; method: DescMethod; request: object }

const storage = new AsyncLocalStorage<MadeCall[]>()
/** A page over many projects makes one call for each. */
const maxShown = 3

/** Runs a page's handler; what it renders knows the calls that it made. */
export function withMadeCalls<T>(handle: () => T): T {
  return storage.run([], handle)
}

/** Notes a call; without effect outside a page's handler. */
export function noteMadeCall(call: MadeCall): void {
  storage.getStore()?.push(call)
}

/**
 * The page's calls of an RPC (`pkg.Service/Method`) as `curl` commands, the first three. Address and bearer are the variables that
 * docs/grpc.md sets; no secret is in them. Empty for a stream.
 */
export function curlsOf(rpc: string): string[] {
  const own = (storage.getStore() ?? []).filter(({ method }) => nameOf(method) === rpc)
  return [...new Set(own.map(curlOf))].slice(0, maxShown)
}

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
