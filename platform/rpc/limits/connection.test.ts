// Tests that one peer cannot use up what others need: calls without a credential, watches, bytes.

import { describe, expect, it } from 'vitest'
import { Connections, watchLimits } from './limits.ts'

const mib = 1024 * 1024

/** A connection of its own from an address. */
function from(all: Connections, address: string) {
  return all.of({}, () => address)
}

describe('a connection', () => {
  it('a connection is the same for the same socket, and takes its address once', () => {
    const all = new Connections()
    const socket = {}
    let asked = 0
    const address = () => {
      asked += 1
      return '10.0.0.1'
    }
    expect(all.of(socket, address)).toBe(all.of(socket, address))
    expect(asked).toBe(1)
  })

  it('a connection has sixteen calls without a credential in flight, and any number with one', () => {
    const connection = from(new Connections(), '10.0.0.1')
    const leases = Array.from({ length: 16 }, () => connection.admit(false))
    expect(leases).not.toContain(undefined)
    expect(connection.admit(false)).toBeUndefined()
    for (let count = 0; count < 1_000; count += 1) expect(connection.admit(true)).toBeDefined()
    leases[0]?.release()
    expect(connection.admit(false)).toBeDefined()
    expect(connection.admit(false)).toBeUndefined()
  })

  it('a connection says of the first call with a credential that it is the first', () => {
    const connection = from(new Connections(), '10.0.0.1')
    expect([connection.recordCredential(), connection.recordCredential()]).toEqual([true, false])
  })

  it('a connection keeps calls without a credential from the room of those with one', () => {
    const all = new Connections()
    for (let count = 0; count < 1_000; count += 1) {
      const connection = from(all, '10.0.0.1')
      for (let call = 0; call < 16; call += 1) connection.admit(false)?.resize(4 * 1024)
    }
    expect(all.anonymous.heldBytes).toBe(2 * mib)
    expect(
      from(all, '10.0.0.2')
        .admit(true)
        ?.resize(4 * mib),
    ).toBe(true)
  })

  it('a connection does not take all the room of the server', () => {
    const all = new Connections()
    const greedy = from(all, '10.0.0.1')
    let taken = 0
    while (greedy.admit(true)?.resize(mib) === true) taken += 1
    expect(taken).toBe(4)
    while (greedy.admit(true)?.resize(1_024) === true);
    expect(
      from(all, '10.0.0.2')
        .admit(true)
        ?.resize(4 * mib),
    ).toBe(true)
  })
})

describe('watches', () => {
  /** Opens as many watches as possible on each of `connections` connections from an address; returns how many. */
  function open(all: Connections, address: string, connections: number, isKnown = false): number {
    let opened = 0
    for (let count = 0; count < connections; count += 1) {
      const connection = from(all, address)
      while (connection.watch(isKnown) !== undefined) opened += 1
    }
    return opened
  }

  it('watches are few on one connection and from one address, unless their caller is known', () => {
    const all = new Connections()
    expect(open(all, '10.0.0.1', 1)).toBe(watchLimits.connection)
    expect(open(all, '10.0.0.1', 100)).toBe(watchLimits.address - watchLimits.connection)
    expect(open(all, '10.0.0.1', 10, true)).toBe(10 * watchLimits.connection)
    expect(open(all, '10.0.0.2', 1)).toBe(watchLimits.connection)
  })

  it('watches from all addresses of a /64 of IPv6 count together, those of the next one apart', () => {
    const all = new Connections()
    let opened = 0
    for (let host = 1; host <= 10; host += 1) opened += open(all, `2001:db8:0:1::${host}`, 1)
    expect(opened).toBe(watchLimits.address)
    expect(open(all, '2001:db8:0:2::1', 1)).toBe(watchLimits.connection)
  })

  it('watches of unauthenticated peers at many addresses leave slots for known callers', () => {
    const all = new Connections()
    let opened = 0
    for (let host = 0; host < 100; host += 1) opened += open(all, `10.0.0.${host}`, 100)
    expect(opened).toBe(watchLimits.anonymous)
    expect(open(all, '10.0.0.1', 100, true)).toBe(watchLimits.all - watchLimits.anonymous)
  })

  it('watches that end make room, on their connection and from their address', () => {
    const all = new Connections()
    const connection = from(all, '10.0.0.1')
    const [first] = Array.from({ length: watchLimits.connection }, () => connection.watch(false))
    open(all, '10.0.0.1', 100)
    expect(connection.watch(false)).toBeUndefined()
    first?.()
    expect(connection.watch(false)).toBeDefined()
    expect(from(all, '10.0.0.1').watch(false)).toBeUndefined()
  })
})
