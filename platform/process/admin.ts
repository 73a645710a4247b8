// The plain HTTP port for operators: health and metrics. Nothing here may need a permission.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import type { Logger } from '../telemetry/log.ts'
import { readMetrics } from '../telemetry/metrics.ts'
import { withOldNames } from '../telemetry/renamed-metrics.ts'

export type AdminOptions = {
  host: string
  /** 0 takes any free port. */
  port: number
  metrics: Registry
  /** The state of every part that this process needs, by name. */
  ready: () => Promise<Record<string, boolean>>
  log: Logger
  /** After it aborts, /readyz answers 503 and /livez still 200. */
  stopping?: AbortSignal
}

/** The port that is open. */
export type AdminServer = {
  port: number
  /** Cuts the connections and stops listening. */
  close(): Promise<void>
}

const readyWithinMs = 3_000

/**
 * Serves GET /livez, /readyz and /metrics until closed. A `ready` that throws, or takes more than 3 s, counts as not
 * ready. Rejects with the system's error, such as EADDRINUSE, when the port cannot be opened.
 */
export async function serveAdmin(options: AdminOptions): Promise<AdminServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.log.error({ err: error }, 'admin request failed')
      if (!response.headersSent) send(response, 500, { status: 'error' })
    })
  })
  server.requestTimeout = 10_000
  server.headersTimeout = 5_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  options: AdminOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?')[0]
  if (request.method !== 'GET') return send(response, 405, { status: 'method not allowed' })
  if (path === '/livez') return send(response, 200, { status: 'alive' })
  if (path === '/readyz') return answerReady(options, response)
  if (path !== '/metrics') return send(response, 404, { status: 'not found' })
  const text = withOldNames(await readMetrics(options.metrics, options.log))
  response.writeHead(200, { 'content-type': options.metrics.contentType }).end(text)
}

async function answerReady(options: AdminOptions, response: ServerResponse): Promise<void> {
  if (options.stopping?.aborted === true) {
    return send(response, 503, { status: 'stopping', parts: {} })
  }
  const parts = await stateOfParts(options)
  const isReady = Object.values(parts).every(Boolean)
  return send(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', parts })
}

/** Treats an error and a time-out as "not ready". */
async function stateOfParts({ ready, log }: AdminOptions): Promise<Record<string, boolean>> {
  try {
    const late = delay(readyWithinMs, { answer: false }, { ref: false })
    return await Promise.race([ready(), late])
  } catch (error) {
    log.warn({ err: error }, 'readiness unknown')
    return { answer: false }
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
