// Shows how many deliveries of one hostname may be leased and posted at once.
import { describe, expect, it } from 'vitest'
import { createHosts } from './hosts.ts'

const host = 'shop.example'

function start() {
  let timeMs = 1_000
  const hosts = createHosts({ hostLimit: 4, maxQueued: 8, stillMs: 250, nowMs: () => timeMs })
  return {
    hosts,
    advance: (ms: number) => {
      timeMs += ms
    },
    now: () => timeMs,
    lease: (count: number) => {
      for (let n = 0; n < count; n += 1) hosts.lease(host, 1)
    },
  }
}

describe('the room of a hostname', () => {
  it('a hostname of which nothing is leased has room for as many as may be in flight', () => {
    const { hosts } = start()
    expect(hosts.room(host)).toBe(4)
    expect(hosts.rooms()).toEqual(new Map())
  })

  it('deliveries wait in memory while the POSTs of their hostname end', () => {
    const { hosts, lease, now, advance } = start()
    lease(4)
    hosts.begin(host)
    hosts.begin(host)
    expect(hosts.room(host)).toBe(0)
    hosts.end(host, now())
    hosts.lease(host, -1)
    expect(hosts.room(host)).toBe(4 + 8 - 3)
    advance(251)
    expect(hosts.room(host)).toBe(1)
  })

  it('a hostname with no POST in flight has no queue in memory', () => {
    const { hosts, lease, now } = start()
    lease(2)
    hosts.begin(host)
    hosts.end(host, now())
    expect(hosts.room(host)).toBe(2)
  })

  it('a hostname is forgotten with its last delivery', () => {
    const { hosts, lease } = start()
    lease(1)
    hosts.waiting(host).add('lane')
    expect(hosts.rooms()).toEqual(new Map([[host, 3]]))
    hosts.lease(host, -1)
    expect(hosts.rooms()).toEqual(new Map())
    expect(hosts.waiting(host).size).toBe(0)
  })
})

describe('the POSTs to a hostname', () => {
  it('a hostname is full with as many POSTs as may be in flight', () => {
    const { hosts, lease, now } = start()
    lease(5)
    for (let n = 0; n < 4; n += 1) hosts.begin(host)
    expect([hosts.isFull(host), hosts.full()]).toEqual([true, 1])
    hosts.end(host, now())
    expect([hosts.isFull(host), hosts.full()]).toEqual([false, 0])
  })
})
