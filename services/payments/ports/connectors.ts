// The connectors that payments calls, by their names.
import { Failure } from '#core/errors/errors.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import type { Backend } from './backend.ts'

/** The connectors of a process. */
export type Connectors = {
  /** The one at BACKEND_URL, which also has the rows that name none. */
  defaultName: string
  /** All of them. */
  names: readonly string[]
  /**
   * The connector of a row. Throws SERVICE_UNAVAILABLE, as a call that was not sent, for one that is not in the settings of
   * this process: nothing goes elsewhere instead.
   */
  of(name: string | null): Backend
}

/** Makes the connectors of a map by name, of which `defaultName` is one. */
export function connectorsOf(
  backends: ReadonlyMap<string, Backend>,
  defaultName: string,
): Connectors {
  return {
    defaultName,
    names: [...backends.keys()],
    of(name) {
      const backend = backends.get(name ?? defaultName)
      if (backend !== undefined) return backend
      throw new Failure('SERVICE_UNAVAILABLE', `the connector ${name} is not configured`, {
        cause: new NotSent(),
      })
    },
  }
}
