// Counts leased deliveries and POSTs in flight by hostname, over all projects and lanes.

/** What the hosts need. */
export interface HostsOptions {
  /** Maximum POSTs of this process in flight to one hostname. */
  hostLimit: number
  /** Leased deliveries of one hostname that may wait in memory while its POSTs end. */
  maxQueued: number
  /** After this time without the end of a POST a hostname counts as stalled, and no deliveries wait in memory for it. */
  stillMs: number
  /** The clock, in milliseconds. */
  nowMs: () => number
}

/** The hostnames of one process. */
export interface Hosts {
  /** Counts leased deliveries and reservations. */
  lease(hostname: string, change: 1 | -1): void
  /** Deliveries that may still be leased. */
  room(hostname: string): number
  /** The same for each hostname of which some are leased; the others have room for as many as may be in flight. */
  rooms(): Map<string, number>
  /** Whether as many POSTs are in flight as may be. */
  isFull(hostname: string): boolean
  /** Number of such hostnames. */
  full(): number
  /** A POST begins. */
  begin(hostname: string): void
  /** A POST has ended. */
  end(hostname: string, endedMs: number): void
  /** Lanes of the hostname with a queue; the first one was served least recently. */
  waiting(hostname: string): Set<string>
}

interface Host {
  leased: number
  posting: number
  /** When a POST last ended. */
  movedMs: number
  waiting: Set<string>
}

/** Starts with none. A hostname is forgotten when none of its deliveries is leased. */
export function createHosts({ hostLimit, maxQueued, stillMs, nowMs }: HostsOptions): Hosts {
  const hosts = new Map<string, Host>()
  const hostOf = (hostname: string): Host => {
    const known = hosts.get(hostname)
    if (known !== undefined) return known
    const host = {
      leased: 0,
      posting: 0,
      movedMs: Number.NEGATIVE_INFINITY,
      waiting: new Set<string>(),
    }
    hosts.set(hostname, host)
    return host
  }
  const roomOf = ({ leased, posting, movedMs }: Host): number => {
    const isMoving = posting > 0 && nowMs() - movedMs <= stillMs
    return hostLimit + (isMoving ? maxQueued : 0) - leased
  }
  const isFull = ({ posting }: Host): boolean => posting >= hostLimit
  return {
    lease(hostname, change) {
      const host = hostOf(hostname)
      host.leased += change
      if (host.leased === 0) hosts.delete(hostname)
    },
    room(hostname) {
      const host = hosts.get(hostname)
      return host === undefined ? hostLimit : roomOf(host)
    },
    rooms: () => new Map(Array.from(hosts, ([hostname, host]) => [hostname, roomOf(host)])),
    isFull(hostname) {
      const host = hosts.get(hostname)
      return host !== undefined && isFull(host)
    },
    full: () => [...hosts.values()].filter(isFull).length,
    begin(hostname) {
      hostOf(hostname).posting += 1
    },
    end(hostname, endedMs) {
      const host = hostOf(hostname)
      host.posting -= 1
      host.movedMs = endedMs
    },
    waiting: (hostname) => hosts.get(hostname)?.waiting ?? new Set(),
  }
}
