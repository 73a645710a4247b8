// An HTTP server of a test on a free port, which stands for somebody else's; it must not know what it is asked.
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that answers. */
export type TestHttpServer = { baseUrl: string; close(): void }

/** Serves on the loopback address until it is closed. */
export async function serveHttp(answer: http.RequestListener): Promise<TestHttpServer> {
  const server = http.createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
