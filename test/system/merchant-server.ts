// A merchant's own receiver of pushes, which outlives every part of a system that is being broken.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from './harness.ts'

/** What came in, by the merchant's id of the payment: each different body once. */
export type Received = Map<string, { notifies: Set<string>; callbacks: Set<string> }>

/** Starts a receiver on this machine. */
export async function startMerchantServer() {
  const received: Received = new Map()
  const server = http.createServer((request, answer) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      keep(received, request.url === '/callback', body)
      answer.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    urls: {
      notify: `http://127.0.0.1:${port}/notify`,
      callback: `http://127.0.0.1:${port}/callback`,
    },
    received,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function keep(received: Received, isCallback: boolean, body: string): void {
  const push = JSON.parse(body) as Json
  const request = push['transaction_request'] as Json | undefined
  const transactionId = String(request?.['id'] ?? push['transaction_id'])
  const row = received.get(transactionId) ?? { notifies: new Set(), callbacks: new Set() }
  received.set(transactionId, row)
  row[isCallback ? 'callbacks' : 'notifies'].add(body)
}
