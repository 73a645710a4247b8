// The network of the cluster: a namespace for each host, all on one bridge, which can stop passing the packets of a host.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { LabPrograms } from './programs.ts'

const run = promisify(execFile)

/**
 * Delivery pushes to public addresses only, so these are public ones. They exist in the namespace of the run alone, from
 * which no packet gets out.
 */
const prefix = '11.12.0.'
const bridge = 'lab'
/** States of a port of a bridge: packets are dropped, without a word to either side; or forwarded. */
const portState = { cut: '0', open: '3' }

/** A machine of the cluster. */
export type Host = { name: string; address: string }

/** The network, as the one who breaks it sees it. */
export type Network = {
  /** Where the run itself is: the clients and the merchant's server. */
  client: Host
  /** Adds a host. `service` is the name that it shares with its replicas. */
  add(name: string, service?: string): Promise<Host>
  /** The words before a command that run it on a host. */
  on(host: Host): string[]
  /** Loses all packets from and to a host from now on. */
  cut(host: Host): Promise<void>
  join(host: Host): Promise<void>
}

/** Makes the bridge. `folder` gets the hosts file, which everything in the run uses in place of the machine's. */
export async function openNetwork(folder: string, { root }: LabPrograms): Promise<Network> {
  const hostsFile = path.join(folder, 'hosts')
  fs.writeFileSync(hostsFile, '127.0.0.1 localhost\n')
  await run('mount', ['--bind', hostsFile, '/etc/hosts'])
  await run('mount', ['--bind', hostsFile, path.join(root, 'etc', 'hosts')])
  // Named namespaces are mounts below it: ours stay in our own table of mounts.
  await run('mount', ['-t', 'tmpfs', 'tmpfs', path.join(root, 'run')])
  const inside = async (...words: string[]) => void (await run('chroot', [root, ...words]))
  const ip = (...words: string[]) => inside('/usr/sbin/ip', ...words)
  const entering = ({ name }: Pick<Host, 'name'>) => [
    'nsenter',
    `--net=${path.join(root, 'run', 'netns', name)}`,
    '--',
  ]
  await ip('link', 'set', 'lo', 'up')
  await ip('link', 'add', bridge, 'type', 'bridge')
  await ip('addr', 'add', `${prefix}1/24`, 'dev', bridge)
  await ip('link', 'set', bridge, 'up')
  let count = 1
  const portOf = new Map<string, string>()

  const setPort = async (host: Host, state: string): Promise<void> => {
    await inside(
      '/usr/sbin/bridge',
      'link',
      'set',
      'dev',
      portOf.get(host.name) ?? '',
      'state',
      state,
    )
  }
  return {
    client: { name: 'client', address: `${prefix}1` },
    async add(name, service = name) {
      count += 1
      const address = `${prefix}${count}`
      const port = `p${count}`
      portOf.set(name, port)
      await ip('netns', 'add', name)
      await ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
      await ip('link', 'set', port, 'master', bridge, 'up')
      const [enter, ...words] = [...entering({ name }), 'chroot', root, '/usr/sbin/ip']
      await run(enter, [...words, 'addr', 'add', `${address}/24`, 'dev', 'eth0'])
      await run(enter, [...words, 'link', 'set', 'eth0', 'up'])
      await run(enter, [...words, 'link', 'set', 'lo', 'up'])
      const names = service === name ? name : `${name} ${service}`
      fs.appendFileSync(hostsFile, `${address} ${names}\n`)
      return { name, address }
    },
    on: entering,
    cut: (host) => setPort(host, portState.cut),
    join: (host) => setPort(host, portState.open),
  }
}
