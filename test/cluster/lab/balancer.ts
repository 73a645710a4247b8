// The load balancer before the gateways: HAProxy, which checks their readiness as the probe of the manifests does.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import type { Host } from './network.ts'
import type { Machines } from './processes.ts'

const probeFile = path.join(import.meta.dirname, '../../../deploy/k8s/base/gateway-probe.yaml')

/** How often the balancer asks a gateway, how long it waits, and how many failures in a row take it out: as production does. */
export const checks = readChecks()
/** The longest time from a gateway that hangs just after a check until the balancer takes it out. */
export const detectedWithinS =
  checks.everyS + checks.fall * Math.max(checks.everyS, checks.timeoutS)

function readChecks(): { everyS: number; timeoutS: number; fall: number } {
  const probe = parse(fs.readFileSync(probeFile, 'utf8')).spec.template.spec.containers[0]
    .readinessProbe as Record<string, number>
  const { periodSeconds: everyS, timeoutSeconds: timeoutS, failureThreshold: fall } = probe
  if (everyS === undefined || timeoutS === undefined || fall === undefined) {
    throw new Error(`${probeFile} has no probe with a period, a time-out and a threshold`)
  }
  return { everyS, timeoutS, fall }
}

/**
 * The part of HAProxy's configuration that checks a gateway; a name stands for its address. Kubernetes checks once a period, also when
 * the check before has waited for as long; HAProxy pauses after a check, hence `fastinter`: after a failure it asks again at once.
 */
export function serverLine({ name, address }: Pick<Host, 'name' | 'address'>): string {
  return `  server ${name} ${address}:8080 check port 8081 inter ${checks.everyS}s fastinter 1ms fall ${checks.fall} rise 1 on-marked-down shutdown-sessions`
}

const startWithinMs = 30_000

/** What Kubernetes does to a load balancer when a pod is stopped and when its successor is ready. */
export type Balancer = {
  /** Sends no more requests to a gateway; those that it has stay. */
  leave(gateway: Host): Promise<void>
  enter(gateway: Host): Promise<void>
}

/** Starts the balancer on its host, and waits until it leads to a gateway. */
export async function startBalancer(
  machines: Machines,
  host: Host,
  gateways: readonly Host[],
): Promise<Balancer> {
  const config = [
    'global',
    '  maxconn 4096',
    '  log stdout format raw local0',
    `  stats socket ${machines.insideFolder}/haproxy.sock level admin`,
    'defaults',
    '  mode http',
    '  log global',
    '  option httplog',
    // What failed alone.
    '  option dontlog-normal',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    `  timeout check ${checks.timeoutS}s`,
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
    ...gateways.map(serverLine),
    '',
  ]
  fs.writeFileSync(path.join(machines.folder, 'haproxy.cfg'), config.join('\n'))
  await machines.start({
    host,
    command: ['/usr/sbin/haproxy', '-db', '-f', `${machines.insideFolder}/haproxy.cfg`],
    inside: 'root',
  })
  await eventually(async () => (await fetch(`http://${host.address}/readyz`)).ok, startWithinMs)
  const order = (text: string) => say(path.join(machines.folder, 'haproxy.sock'), text)
  return {
    // A check that fails would cut the requests in flight.
    leave: async ({ name }) => {
      await order(`disable health gateways/${name}`)
      await order(`set server gateways/${name} state drain`)
    },
    enter: async ({ name }) => {
      await order(`set server gateways/${name} state ready`)
      await order(`enable health gateways/${name}`)
    },
  }
}

/** Says one line to HAProxy, and fails for an answer, which is an error. */
async function say(socketFile: string, line: string): Promise<void> {
  const socket = net.connect(socketFile)
  socket.end(`${line}\n`)
  const answer = (await text(socket)).trim()
  if (answer !== '') throw new Error(`HAProxy, to "${line}": ${answer}`)
}
