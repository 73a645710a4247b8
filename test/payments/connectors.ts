// The connectors of payments, for the tests of this folder: two that do what a test says, and one that nobody can reach.
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { backendPort, connectorsOf } from '../../services/payments/ports/backend.ts'
import { silentLog } from '../support/database.ts'
import { newBackend } from './backend.ts'

const host = '127.0.0.1'

/** A second connector, and one at whose address nobody listens. */
export const second = 'connector-second'
export const absent = 'connector-absent'

type ClientOptions = Parameters<typeof createRpcClient>[1]

/** Serves the connectors. `client` makes the options of a client of payments. */
export async function serveConnectors(
  identityOf: (name: string) => Identity,
  client: (name: string, audience: string, port: number | undefined) => ClientOptions,
) {
  const backends = { simulator: newBackend(), [second]: newBackend() }
  const servers = await Promise.all(
    Object.entries(backends).map(([name, { charges, payouts }]) =>
      serveRpc({
        host,
        port: 0,
        identity: identityOf(name),
        log: silentLog,
        routes: (router) => {
          router.service(ChargeService, charges)
          router.service(PayoutService, payouts)
        },
      }),
    ),
  )
  const [simulatorPort, secondPort] = servers.map(({ port }) => port)
  const toCharges = { ...client('payments', 'simulator', simulatorPort), timeoutMs: 10_000 }
  const portOf = (to: ClientOptions, toPayouts = to) =>
    backendPort(createRpcClient(ChargeService, to), createRpcClient(PayoutService, toPayouts))
  return {
    backend: backends.simulator,
    secondBackend: backends[second],
    servers,
    toCharges,
    connectors: connectorsOf(
      new Map([
        ['simulator', portOf(toCharges, client('payments', 'simulator', simulatorPort))],
        [second, portOf(client('payments', second, secondPort))],
        [absent, portOf(client('payments', absent, 1))],
      ]),
      'simulator',
    ),
  }
}
