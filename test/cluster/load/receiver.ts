// The merchant's server: answers every push with 200 and notes it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { Push } from './records.ts'

/** The server, with the URLs for pushes. */
export type Receiver = {
  urls: { notify: string; callback: string }
  /** Notes pushes here from now on. */
  noteIn(pushes: Push[]): void
  close(): void
}

const port = 8090

/** Starts it on an address of the cluster's network. */
export async function startReceiver(address: string): Promise<Receiver> {
  let noted: Push[] = []
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const id = String(request.headers['pw-delivery-id'])
      noted.push(pushOf(id, request.url === '/callback', Buffer.concat(chunks)))
      response.end()
    })
  })
  server.listen(port, address)
  await once(server, 'listening')
  const base = `http://${address}:${port}`
  return {
    urls: { notify: `${base}/notify`, callback: `${base}/callback` },
    noteIn(pushes) {
      noted = pushes
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

type Body = {
  event_type?: string
  transaction_id?: string
  transaction_request?: { id: string }
}

function pushOf(deliveryId: string, isCallback: boolean, bytes: Buffer): Push {
  const body = JSON.parse(bytes.toString()) as Body
  return {
    deliveryId,
    transactionId: String(body.transaction_request?.id ?? body.transaction_id),
    what: isCallback ? 'callback' : String(body.event_type),
    digest: createHash('sha256').update(bytes).digest('hex'),
    receivedMs: Date.now(),
  }
}
