// The load balancer before the gateways: HAProxy, which takes a gateway out when its readiness fails twice.
import fs from 'node:fs'
import path from 'node:path'
import type { Host } from './network.ts'
import type { Machines } from './processes.ts'

/** How often the balancer asks a gateway, and how many refusals in a row take it out. */
export const checks = { everyS: 1, fall: 2 }

/** Starts the balancer on its host. */
export async function startBalancer(
  machines: Machines,
  host: Host,
  gateways: readonly Host[],
): Promise<void> {
  const servers = gateways.map(
    ({ name, address }) =>
      `  server ${name} ${address}:8080 check port 8081 inter ${checks.everyS}s fall ${checks.fall} rise 1 on-marked-down shutdown-sessions`,
  )
  const config = [
    'global',
    '  maxconn 4096',
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  timeout check 1s',
    '  option redispatch',
    '  option forwardfor',
    '  retries 2',
    'frontend api',
    '  bind *:80',
    '  default_backend gateways',
    'backend gateways',
    '  balance leastconn',
    '  option httpchk GET /readyz',
    '  http-check expect status 200',
    ...servers,
    '',
  ]
  fs.writeFileSync(path.join(machines.folder, 'haproxy.cfg'), config.join('\n'))
  await machines.start({
    host,
    command: ['/usr/sbin/haproxy', '-db', '-f', `${machines.insideFolder}/haproxy.cfg`],
    inside: 'root',
  })
}
