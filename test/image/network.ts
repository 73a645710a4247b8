// Gives a container a network of its own, as the bridge of a container engine does: it is reached at its address alone.
import fs from 'node:fs'
import { run } from './images.ts'

/** Between this machine and the container: of a block that RFC 5737 keeps for examples. */
const [hostAddress, address] = ['198.51.100.1', '198.51.100.2']
const folder = '/run/netns'
const name = 'payweave'

/** The network, which ends with this process and what it has started there. */
export type ContainerNetwork = {
  /** The words before a command that run it there. */
  enter: string[]
  /** Where this machine reaches the container, and the container this machine. */
  address: string
  hostAddress: string
}

/** Makes the network. Throws when `ip` of Debian's iproute2 is missing. */
export function openContainerNetwork(): ContainerNetwork {
  fs.mkdirSync(folder, { recursive: true })
  run('mount', '-t', 'tmpfs', 'tmpfs', folder)
  const enter = ['nsenter', `--net=${folder}/${name}`, '--']
  const inside = (...words: string[]) => run('nsenter', ...enter.slice(1), 'ip', ...words)
  run('ip', 'netns', 'add', name)
  run('ip', 'link', 'add', 'payweave0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  run('ip', 'addr', 'add', `${hostAddress}/30`, 'dev', 'payweave0')
  run('ip', 'link', 'set', 'payweave0', 'up')
  inside('addr', 'add', `${address}/30`, 'dev', 'eth0')
  inside('link', 'set', 'eth0', 'up')
  inside('link', 'set', 'lo', 'up')
  return { enter, address, hostAddress }
}
