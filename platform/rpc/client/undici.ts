// Imports only the parts of undici that calls need: the whole package adds a browser's fetch, caches and mocks,
// a seventh of every process's start.
import { createRequire } from 'node:module'
import type * as whole from 'undici'

const load = createRequire(import.meta.url)

const Dispatcher = load('undici/lib/dispatcher/dispatcher.js') as typeof whole.Dispatcher

// As the package does: `request` is no method of the class by itself.
Object.assign(Dispatcher.prototype, { request: load('undici/lib/api/api-request.js') as unknown })

/** By the names that the package gives them. */
export const undici = {
  Dispatcher,
  Client: load('undici/lib/dispatcher/client.js') as typeof whole.Client,
  Pool: load('undici/lib/dispatcher/pool.js') as typeof whole.Pool,
  DecoratorHandler: load(
    'undici/lib/handler/decorator-handler.js',
  ) as typeof whole.DecoratorHandler,
  buildConnector: load('undici/lib/core/connect.js') as typeof whole.buildConnector,
  errors: load('undici/lib/core/errors.js') as typeof whole.errors,
}
