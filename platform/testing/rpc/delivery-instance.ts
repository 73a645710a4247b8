// One instance of `delivery` as a child process, which a test may kill; for tests only.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import { openIdentity } from '../../rpc/auth/identity.ts'
import { serveRpc } from '../../rpc/server/server.ts'
import { ruleFreeRouter } from './rule-free.ts'

const [dir = '', host = '', port = '', answerAfterMs = ''] = process.argv.slice(2)
const log = createLogger({ part: 'delivery', level: 'silent' })
const server = await serveRpc({
  host,
  port: Number(port),
  identity: openIdentity({ name: 'delivery', dir: join(dir, 'delivery'), log }),
  log,
  routes: (router) =>
    ruleFreeRouter(router).service(InboxService, {
      seen: async () => {
        process.send?.('called')
        await delay(Number(answerAfterMs))
        return {}
      },
    }),
})
process.send?.(server.port)
// The end of the test ends us.
process.once('disconnect', () => process.exit(0))
