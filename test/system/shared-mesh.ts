// Starts the one system that all ordinary system tests share, before the first of them, and stops it after the last. Its
// traces go to a collector that writes them beside its logs.
import fs from 'node:fs'
import path from 'node:path'
import { startMesh } from '../support/mesh.ts'
import { temporaryFolder } from '../support/servers.ts'
import { type ReceivedSpan, startTraceReceiver } from '../support/trace-receiver.ts'

/** Tests read PAYWEAVE_TEST_MESH, by `sharedMesh` of harness.ts. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Every group of the run asks for it, and the first one has it; the long kill test wants none.
  if (process.env['PAYWEAVE_TEST_MESH'] !== undefined) return undefined
  const compiled = temporaryFolder('compiled')
  process.env['NODE_COMPILE_CACHE'] ??= compiled
  let write: (span: ReceivedSpan) => void = () => {}
  const receiver = await startTraceReceiver((span) => write(span))
  const mesh = await startMesh({
    name: 'shared',
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      // Twice the time of the slow biller: a machine that stalls for seconds then does not make its response doubtful.
      BILLER_TIMEOUT_S: '10',
    },
  })
  const { dataDir, portBase } = mesh
  process.env['PAYWEAVE_TEST_MESH'] = JSON.stringify({ dataDir, portBase })
  const file = path.join(dataDir, 'logs', 'traces.log')
  write = (span) => fs.appendFileSync(file, `${JSON.stringify(span)}\n`)
  return async () => {
    write = () => {}
    await mesh.remove()
    await receiver.close()
    fs.rmSync(compiled, { recursive: true, maxRetries: 5 })
  }
}
